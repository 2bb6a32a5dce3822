"""파일을 통째로만 바꿉니다. 쓰다가 멈추어도 반쯤 쓴 파일은 남지 않습니다."""

import contextlib
import os
import secrets
from pathlib import Path


@contextlib.contextmanager
def replacing(path):
    """옆에 다 쓴 다음 이름을 바꿉니다.

    블록을 무사히 나가면 쓴 것이 `path`가 됩니다. 예외로 나가면 `path`는 그대로이고,
    쓰던 것은 지웁니다. 그래서 이 이름으로는 언제나 옛 파일이나 새 파일이 온전합니다.

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
