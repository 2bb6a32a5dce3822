"""값을 견줄 다른 라이브러리. 없으면 그 시험만 건너뛰고, CI에서는 실패합니다.

시험이 아니므로 이름이 `test_`로 시작하지 않습니다.
"""

import importlib
import os

import pytest


def library(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if os.environ.get("CI") or error.name != name:
            raise
        return None


torch, keras_hub = library("torch"), library("keras_hub")
needs_torch = pytest.mark.skipif(torch is None, reason="torch가 없습니다")
needs_keras_hub = pytest.mark.skipif(keras_hub is None, reason="keras-hub가 없습니다")
