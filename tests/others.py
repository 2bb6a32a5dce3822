"""값을 견줄 다른 라이브러리. 없으면 그 시험만 건너뛰고, CI에서는 실패합니다.

``.ci/run``은 라이브러리를 더한 뒤에 ``extra`` 표시가 있는 것을 골라 실행합니다.

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


def needs(name, module):
    """``module``이 없으면 건너뛰는 시험."""
    missing = module is None and not os.environ.get("CI")
    missing = pytest.mark.skipif(missing, reason=f"{name}가 없습니다")
    return lambda test: pytest.mark.extra(missing(test))


needs_torch, needs_keras_hub = needs("torch", torch), needs("keras-hub", keras_hub)
