"""시험이 함께 쓰는 것: 작은 책, 브라우저, 학습 폴더."""

import fcntl
import functools
import http.server
import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import settings
from small_book import Book

# 성질의 시험은 모두 이 설정 하나를 씁니다. 그래프를 만드는 시간이 들쭉날쭉하므로 시한은
# 두지 않습니다.
settings.register_profile("notes", deadline=None, max_examples=12)
settings.load_profile("notes")

#: 혼자서 몇 분씩 걸리는 파일. 맨 나중에 시작하면 끝에 홀로 남습니다.
LONGEST = "test_site", "test_take_along"


@pytest.hookimpl(tryfirst=True)  # -m이 고르기 전에 표시합니다
def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("extra")
    items.sort(key=lambda item: item.path.stem not in LONGEST)


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


@pytest.fixture(scope="module")
def served():
    """사이트를 올린 것처럼 냅니다. 없는 주소에는 404.html이 옵니다."""

    from built_site import SITE

    class Handler(http.server.SimpleHTTPRequestHandler):
        def send_error(self, code, *_):
            self.send_response(code)
            self.end_headers()
            self.wfile.write((SITE / "404.html").read_bytes())

        def log_message(self, *_):
            pass

    serve = functools.partial(Handler, directory=SITE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def words():
    """낱말을 숫자로 적는 법을 배운 학습 폴더. 먼저 온 일꾼이 만들고 함께 읽습니다."""
    from command_line import SMALL, run, write_pairs

    place = Path(tempfile.gettempdir())  # 실행마다 새것이고, 일꾼들의 것과 같습니다
    folder = place / "words"
    with open(place / "words.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            pairs = write_pairs(place / "words.tsv")
            run("train", place / "words.half", "--data", pairs, *SMALL)
            (place / "words.half").rename(folder)
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
