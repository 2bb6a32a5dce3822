"""``make bench``: 사이트를 짓고 쪽을 시험하는 시간을 잽니다.

책의 복사본에서 하므로 저장소는 건드리지 않습니다. 괄호 안은 프로세서가 일한 시간입니다.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main():
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder)
        for name in ("conf", "docs", "transformer_notes"):
            shutil.copytree(ROOT / name, book / name)
        for name in ("LICENSE", "README.rst", "pyproject.toml"):
            shutil.copy(ROOT / name, book)
        page = book / "docs" / "lectures" / "attention.md"
        build = [sys.executable, "conf/build.py"]
        results = []

        def measure(name, *command):
            start, before = time.perf_counter(), processor_time()
            result = subprocess.run(
                command,
                cwd=book,
                env=os.environ | {"PYTHONPATH": str(book)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if result.returncode:
                sys.exit(f"{name}: 실패했습니다.\n{result.stdout[-3000:]}")
            seconds = time.perf_counter() - start
            results.append((name, seconds, processor_time() - before))

        def edit(old, new):
            text = page.read_text(encoding="utf-8")
            assert old in text, old
            page.write_text(text.replace(old, new, 1), encoding="utf-8")

        measure("처음 짓기", *build)
        measure("바뀐 것 없이", *build)
        edit("배웁니다", "익힙니다")
        measure("낱말 하나", *build)
        edit("import numpy as np\n", "import numpy as np  # 고침\n")
        measure("셀 하나", *build)
        measure("pytest docs", sys.executable, "-m", "pytest", "-q", "docs")

    names = ("tensorflow", "sphinx", "myst-nb", "sybil")
    print(f"Python {platform.python_version()}, {os.cpu_count()}코어,", end=" ")
    print(", ".join(f"{name} {version(name)}" for name in names))
    for name, seconds, busy in results:
        print(f"{seconds:8.1f}초 ({busy:6.1f}초)  {name}")


def processor_time():
    used = os.times()
    return used.children_user + used.children_system


if __name__ == "__main__":
    main()
