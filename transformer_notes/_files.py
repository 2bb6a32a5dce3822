"""파일을 통째로만 바꾸고, 다 쓴 체크포인트를 찾습니다. TensorFlow는 필요 없습니다."""

import contextlib
import os
import re
import secrets
import stat
from pathlib import Path


@contextlib.contextmanager
def replacing(path):
    """옆에 다 쓴 다음 이름을 바꿉니다.

    블록을 무사히 나가면 쓴 것이 `path`가 됩니다. 예외로 나가면 `path`는 그대로이고,
    쓰던 것은 지웁니다. 그래서 이 이름의 파일은 옛것이든 새것이든 언제나 온전합니다.

    Args:
        path: 쓸 파일의 경로.

    Yields:
        그 대신 써 넣을 경로, `pathlib.Path`. 이름의 확장자가 같습니다.

    Raises:
        OSError: 쓸 수 없는 자리.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "note.txt"
        ...     with replacing(path) as partial:
        ...         _ = partial.write_text("나는 어제 책을 읽었다", encoding="utf-8")
        ...         before = path.exists()
        ...     print(before, path.read_text(encoding="utf-8"))
        False 나는 어제 책을 읽었다
    """
    path = Path(path)
    partial = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        yield partial
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())  # 이름보다 내용이 먼저 디스크에 닿게 합니다
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def contents(path, largest):
    """파일의 내용을 통째로 읽습니다. 메모리보다 큰 것을 읽다가 죽지 않습니다.

    Args:
        path: 파일의 경로.
        largest: 가장 큰 크기, 바이트.

    Returns:
        바이트열.

    Raises:
        OSError: 읽지 못하는 파일, 폴더.
        ValueError: 너무 큰 파일, 언제 끝날지 모르는 파이프나 장치.
    """
    path = Path(path)
    found = path.stat()
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise ValueError(f"{path}에는 파일이 필요합니다. 받은 것: 파이프나 장치.")
    if found.st_size > largest:
        raise ValueError(
            f"{path}에는 {largest:,}바이트 이하인 파일이 필요합니다. 받은 것: "
            f"{found.st_size:,}바이트."
        )
    return path.read_bytes()


def saved_steps(folder):
    """다 쓴 체크포인트의 스텝을 옛것부터 늘어놓습니다. 내용은 읽지 않습니다.

    Args:
        folder: `train`의 폴더. 아직 없어도 됩니다.

    Returns:
        정수의 목록. 스텝이 적히지 않은 이름은 세지 않습니다.
    """
    # 색인은 맨 나중에 쓰입니다. glob은 읽을 권한이 없는 폴더를 빈 폴더로 봅니다.
    names = os.listdir(folder) if os.path.exists(folder) else ()
    matches = (re.fullmatch(r"step-([1-9][0-9]*)\.index", name) for name in names)
    return sorted(int(match[1]) for match in matches if match)
