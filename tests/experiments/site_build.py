"""``make bench``: 사이트를 짓고 시험하는 시간을, 더 줄일 수 없는 바닥과 견줍니다.

바닥은 TensorFlow를 한 번 가져와 모든 페이지의 모든 셀을 실행하는 프로세스 하나입니다.
모두 한 번의 실행에서 잽니다. 책의 복사본에서 하므로 저장소는 건드리지 않습니다.
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
FLOOR = """
import sys
sys.path[:0] = ["conf/extensions", "."]
import page_runner
from package import modules
from pathlib import Path
page_runner.warm_up(modules())
out = sys.stdout
for path in sorted(p for p in Path("docs").rglob("*") if p.suffix in {".md", ".rst"}):
    shell = page_runner.PageShell.instance()
    shell.reset(new_session=True)
    page_runner.run_cells(page_runner.read_page({"path": path}))
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder)
        for name in ("conf", "docs", "transformer_notes"):
            shutil.copytree(ROOT / name, book / name)
        for name in ("README.rst", "pyproject.toml"):
            shutil.copy(ROOT / name, book)
        page = book / "docs" / "lectures" / "attention.md"
        build = [sys.executable, "conf/build.py"]
        seconds = {}

        def measure(name, command):
            start = time.perf_counter()
            result = subprocess.run(
                command,
                cwd=book,
                env=os.environ | {"PYTHONPATH": str(book), "TF_CPP_MIN_LOG_LEVEL": "3"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            seconds[name] = time.perf_counter() - start
            if result.returncode:
                sys.exit(f"{name}: 실패했습니다.\n{result.stdout[-3000:]}")

        def edit(old, new):
            text = page.read_text(encoding="utf-8")
            assert old in text, old
            page.write_text(text.replace(old, new, 1), encoding="utf-8")

        measure("바닥", [sys.executable, "-c", FLOOR])
        measure("처음 짓기", build)
        measure("바뀐 것 없이", build)
        edit("배웁니다", "익힙니다")
        measure("낱말 하나", build)
        edit("import numpy as np\n", "import numpy as np  # 고침\n")
        measure("셀 하나", build)
        measure("pytest docs", [sys.executable, "-m", "pytest", "-q", "docs"])
        shutil.rmtree(book / "build")
        measure("페이지마다 보통의 커널", [*build, "-D", "pages_kernels=1"])

    names = ("tensorflow", "sphinx", "myst-nb", "sybil")
    print(f"Python {platform.python_version()}, {os.cpu_count()}코어,", end=" ")
    print(", ".join(f"{name} {version(name)}" for name in names))
    for name, value in seconds.items():
        print(f"{value:8.1f}초  바닥의 {value / seconds['바닥']:5.2f}배  {name}")


if __name__ == "__main__":
    main()
