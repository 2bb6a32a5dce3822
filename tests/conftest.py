"""시험이 함께 쓰는 것: 작은 책을 만들어 진짜 명령으로 짓고 시험합니다."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# 성질의 시험은 모두 이 설정 하나를 씁니다. 그래프를 만드는 시간이 들쭉날쭉하므로 시한은
# 두지 않습니다.
settings.register_profile("notes", deadline=None, max_examples=12)
settings.load_profile("notes")

ROOT = Path(__file__).resolve().parents[1]
#: 혼자서 몇 분씩 걸리는 파일. 맨 나중에 시작하면 끝에 홀로 남습니다.
LONGEST = "test_site", "test_take_along"


@pytest.hookimpl(tryfirst=True)  # -m이 고르기 전에 표시합니다
def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("extra")
    items.sort(key=lambda item: item.path.stem not in LONGEST)


class Book:
    """임시 폴더에 만든 작은 책입니다. 설정과 패키지는 진짜이고 페이지만 다릅니다."""

    def __init__(self, root):
        self.root = root
        shutil.copytree(ROOT / "conf", root / "conf")
        shutil.copytree(ROOT / "transformer_notes", root / "transformer_notes")
        shutil.copy(ROOT / "pyproject.toml", root)
        # 글꼴을 줄이는 데에 몇 초가 걸립니다. test_fonts.py가 따로 봅니다.
        settings = root / "conf" / "conf.py"
        settings.write_text(settings.read_text("utf-8").replace('    "fonts",\n', ""))
        (root / "README.rst").write_text("책\n==\n", encoding="utf-8")
        (root / "docs").mkdir()
        shutil.copy(ROOT / "docs" / "conftest.py", root / "docs")
        self.html = root / "build" / "html"

    def write(self, **pages):
        """페이지를 쓰고 차례를 다시 만듭니다. 이름 끝의 ``_rst``는 확장자가 됩니다."""
        for name, text in pages.items():
            path = self.path(name)
            title = (
                f"{name}\n{'=' * 40}\n\n" if path.suffix == ".rst" else f"# {name}\n\n"
            )
            path.write_text(title + text, encoding="utf-8")
        docs = self.root / "docs"
        names = sorted(p.stem for p in docs.glob("*.[mr][ds]*") if p.stem != "index")
        toctree = "\n".join(names)
        (docs / "index.md").write_text(
            f"# 책\n\n```{{toctree}}\n{toctree}\n```\n", encoding="utf-8"
        )

    def path(self, name):
        stem, rst, _ = name.partition("_rst")
        return self.root / "docs" / (stem + (".rst" if rst else ".md"))

    def build(self):
        """``make html``이 하는 일을 합니다. 끝난 프로세스를 돌려줍니다."""
        return self.python(self.root / "conf" / "build.py")

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


@pytest.fixture(scope="module", autouse=True)
def leave_no_determinism():
    """프로세스의 모든 연산을 바꾸는 설정을 다음 시험 파일에 남기지 않습니다."""
    yield
    if "tensorflow" in sys.modules:
        from tensorflow.python.framework.config import disable_op_determinism

        disable_op_determinism()  # 켜는 길만 공개되어 있습니다


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


@pytest.fixture(scope="module")
def shared_book(tmp_path_factory):
    """한 시험 파일이 함께 쓰는 책입니다. 시험은 바꾼 것을 되돌립니다."""
    return Book(tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="module")
def browser():
    from built_site import CHROMIUM, FLAGS
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("chromium이 없어 브라우저 시험을 건너뜁니다")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser):
    """빈 쪽을 여는 함수."""
    from built_site import new_page

    pages = []

    def open_one(**options):
        pages.append(new_page(browser, **options))
        return pages[-1]

    yield open_one
    for opened in pages:
        opened.unroute_all(behavior="ignoreErrors")
        opened.close()


@pytest.fixture
def visit(tab):
    """지은 사이트의 쪽을 여는 함수."""
    from built_site import go

    return lambda name, query="", **options: go(tab(**options), name, query)


@pytest.fixture(scope="session")
def words(tmp_path_factory):
    """낱말을 숫자로 적는 법을 배운 학습 폴더."""
    from command_line import SMALL, run, write_pairs

    folder = tmp_path_factory.mktemp("runs") / "words"
    pairs = write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv")
    run("train", folder, "--data", pairs, *SMALL)
    return folder


@pytest.fixture(scope="session")
def words_model(words):
    """그 폴더의 (토크나이저, 모델)."""
    from transformer_notes.cli import run_folder

    return run_folder.open_model(words, run_folder.read(words))


@pytest.fixture
def opened(words, words_model, monkeypatch):
    """같은 폴더. 이 프로세스의 명령은 모델을 다시 열지 않습니다."""
    from transformer_notes.cli import run_folder

    monkeypatch.setattr(run_folder, "open_model", lambda *_: words_model)
    return words
