"""작은 책을 만들어 진짜 명령으로 짓고 시험합니다."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: 그림 하나를 그리는 셀. 높이를 넣어 씁니다.
LINE = """
```{{code-cell}}
---
mystnb:
  image:
    alt: 선 하나
  figure:
    name: fig-line
    caption: 선
---
from transformer_notes.figures import plotting
with plotting.figure(2, 2) as (fig, axes):
    axes.plot([0, {height}], label="선")
    axes.legend()
fig
```
"""
#: 마스크의 API.
API = """
```{eval-rst}
.. automodule:: transformer_notes.masking
   :members:
```
"""

#: 작은 책의 쪽이 쓰지 않는 것. 있으면 지을 때마다 모듈의 소스의 쪽을 짓고, 첫 쪽의
#: 모델을 스크립트로 옮깁니다.
LEFT_OUT = shutil.ignore_patterns(
    *("checker", "cli", "corpora", "decoding", "training", "variants", "widgets"),
    *("__pycache__", "*.safetensors"),
)


class Book:
    """임시 폴더에 만든 작은 책입니다. 설정과 패키지는 진짜이고 페이지만 다릅니다."""

    wheel = None  # 처음 지은 책의 것. 다음 책은 다시 만들지 않습니다

    def __init__(self, root):
        self.root = root
        shutil.copytree(ROOT / "conf", root / "conf")
        package = root / "transformer_notes"
        shutil.copytree(ROOT / package.name, package, ignore=LEFT_OUT)
        for name in ("pyproject.toml", "LICENSE"):
            shutil.copy(ROOT / name, root)
        # 글꼴을 줄이는 데에 몇 초가 걸립니다. test_fonts.py가 따로 봅니다.
        settings = root / "conf" / "conf.py"
        settings.write_text(settings.read_text("utf-8").replace('    "fonts",\n', ""))
        (root / "README.rst").write_text("책\n==\n", encoding="utf-8")
        (root / "docs" / "paper").mkdir(parents=True)
        for name in ("conftest.py", "paper/facts.toml"):
            shutil.copy(ROOT / "docs" / name, root / "docs" / name)
        self.html = root / "build" / "html"
        if self.wheel:
            shutil.copytree(self.wheel, root / "build" / "wheel")

    def write(self, **pages):
        """페이지를 쓰고 차례를 다시 만듭니다."""
        for name, text in pages.items():
            self.path(name).write_text(f"# {name}\n\n{text}", encoding="utf-8")
        names = sorted(path.stem for path in (self.root / "docs").glob("*.md"))
        toctree = "\n".join(name for name in names if name != "index")
        self.path("index").write_text(
            f"# 책\n\n```{{toctree}}\n{toctree}\n```\n", encoding="utf-8"
        )

    def path(self, name):
        return self.root / "docs" / f"{name}.md"

    def build(self):
        """``make html``이 하는 일을 합니다. 끝난 프로세스를 돌려줍니다."""
        result, made = self.python(self.root / "conf" / "build.py"), "build/wheel"
        if not self.wheel and (self.root / made).exists():
            Book.wheel = shutil.copytree(
                self.root / made, tempfile.mkdtemp() + "/wheel"
            )
        return result

    def pytest(self, *arguments):
        return self.python("-m", "pytest", "-rA", *arguments)

    def python(self, *arguments):
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith("PYTEST")
        }
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=environment | {"PYTHONPATH": str(self.root)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1800,  # 멈춰 선 것을 끝낼 뿐입니다
        )
