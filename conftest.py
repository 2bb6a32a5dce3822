"""쪽과 시험이 함께 쓰는 것: 실행이 끝나면 사라지는 임시 폴더."""

import atexit
import gc
import os
import shutil
import tempfile

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """임시 파일을 모두 한 폴더에 두고 끝나면 지웁니다. 쓰레기는 덜 자주 모읍니다.

    TensorFlow는 그래프로 바꾼 함수를 임시 파일에 적고, 일꾼에서는 지우지 못합니다.
    xdist의 일꾼과 시험이 부른 명령은 ``TMPDIR``을 물려받습니다.
    """
    gc.set_threshold(100_000)  # TensorFlow가 만드는 것을 덜 자주 훑습니다
    if hasattr(config, "workerinput"):
        return
    tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="notes-")
    atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)
