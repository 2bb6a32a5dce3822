"""``make html``: 사이트는 통째로 바뀌고, 고친 쪽만 지어도 모두 지은 것과 같다."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_book import API, LINE, ROOT, Book

SLOW = """
```{{code-cell}}
import time
open({path!r}, 'w').close()
time.sleep(600)
```
"""
LONGEST = 300  # 초. 멈춰 선 것을 끝낼 뿐, 얼마나 빠른지는 보지 않습니다


def contents(folder):
    return {
        p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def written(path):
    return path.stat().st_mtime_ns


def built(book):
    result = book.build()
    assert result.returncode == 0, result.stdout
    return contents(book.html)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """한 번 지어 둔 책입니다. 시험은 바꾼 쪽을 되돌립니다."""
    book = Book(tmp_path_factory.mktemp("book"))
    book.write(page="```{code-cell}\nprint('하나')\n```\n", other="글\n")
    built(book)
    return book


def test_a_failed_build_leaves_the_old_site_and_warns_again(plain):
    before = contents(plain.html)
    for name in ("html.new", "html.old", "doctrees.new"):  # 끊긴 빌드가 남긴 것
        (plain.root / "build" / name).mkdir()
    plain.write(other="{ref}`nowhere`\n\n{src}`attention.nothing`\n\n![](no.png)\n")
    for _ in range(2):
        result = plain.build()
        assert result.returncode != 0
        for line, problem in [
            (3, "undefined label: 'nowhere'"),
            (5, "attention.py에 nothing의 정의가 없습니다"),
            (7, "image file not readable"),
            (7, "그림에 대체 텍스트(alt)가 없습니다"),
        ]:
            assert f"other.md:{line}: WARNING: {problem}" in result.stdout
        assert contents(plain.html) == before
    plain.write(other="글\n")
    assert built(plain) == before
    folders = {path.name for path in (plain.root / "build").iterdir()}
    assert folders == {"doctrees", "executed", "html", "jupyter_execute", "wheel"}


def test_nothing_changed_means_nothing_is_built(plain):
    index = plain.html / "index.html"
    before = index.stat().st_ino
    result = plain.build()
    assert result.returncode == 0 and index.as_uri() in result.stdout
    assert index.stat().st_ino == before


def test_a_swap_cut_in_the_middle_is_undone(plain):
    before, page = contents(plain.html), plain.html / "other.html"
    kept = written(page)
    plain.html.rename(plain.html.with_name("html.old"))  # 여기서 전기가 나갔습니다
    assert built(plain) == before and written(page) == kept  # 다시 짓지 않았습니다


def test_a_site_built_after_edits_equals_one_built_from_nothing(book):
    book.write(
        api=API,
        drawn="(drawn)=\n## 그림\n" + LINE.format(height=1),
        linked="{ref}`drawn`, {numref}`fig-line`\n\n"
        "```pycon\n>>> from transformer_notes.masking import padding_mask\n```\n",
        listed="```{definition} masking.padding_mask\n```\n",
        removed="곧 사라집니다.\n",
    )
    built(book)
    pages = ["api.html", "linked.html", "listed.html", "source/masking.html"]
    others = {book.html / page: written(book.html / page) for page in pages}
    book.write(drawn="(drawn)=\n## 그림\n\n낱말.\n" + LINE.format(height=2))
    one_page = built(book)
    assert b"code-link" in one_page[Path("linked.html")]
    assert {path: written(path) for path in others} == others  # 고친 쪽만 썼습니다
    shutil.rmtree(book.html)  # 버린 사이트도 처음부터 짓습니다
    assert built(book) == one_page

    package = book.root / "transformer_notes"
    (package / "seq2seq.py").unlink()
    masking = package / "masking.py"
    text = masking.read_text(encoding="utf-8")
    masking.write_text(
        text.replace("def padding_mask", "\n\ndef padding_mask"), encoding="utf-8"
    )
    book.path("removed").unlink()
    book.write(drawn="(drawn)=\n## 새 그림\n" + LINE.format(height=2))
    after_edits = built(book)
    assert "새 그림" in after_edits[Path("linked.html")].decode()
    assert Path("removed.html") not in after_edits
    assert Path("source/seq2seq.html") not in after_edits
    shutil.rmtree(book.root / "build" / "doctrees")
    assert built(book) == after_edits


def test_one_page_is_built_and_opened_without_the_others(plain):
    plain.write(linked="{ref}`nowhere`\n\n" + LINE.format(height=1))
    shutil.copy(ROOT / "Makefile", plain.root)
    (plain.root / ".venv").symlink_to(sys.prefix)
    result = subprocess.run(
        ["make", "--assume-old=.venv/complete", "page", "PAGE=linked"],
        cwd=plain.root,
        env=os.environ | {"PYTHONPATH": str(plain.root), "BROWSER": "/bin/echo"},
        capture_output=True,
        text=True,
    )
    plain.path("linked").unlink()
    plain.write()
    page = plain.root / "build" / "page" / "html" / "linked.html"
    assert result.returncode == 0 and page.as_uri() in result.stdout, result.stderr
    assert "WARNING" not in result.stderr and not page.with_name("other.html").exists()
    assert list(page.with_name("_images").glob("*.svg"))


def still_running(book):
    """책의 파일로, 또는 책의 폴더에 띄워 살아 있는 프로세스의 번호입니다."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            folder = os.readlink(process / "cwd")
        except OSError:  # 그 사이에 끝났습니다
            continue
        if os.fsencode(book.root) in command or folder == str(book.root):
            found.append(int(process.name))
    return found


def wait_until(condition):
    stop = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < stop
        time.sleep(0.05)


@pytest.mark.parametrize("moment", ["커널이 뜨는 동안", "셀이 도는 동안"])
@pytest.mark.parametrize(
    "end, how",
    [
        (os.kill, signal.SIGINT),
        (os.killpg, signal.SIGINT),
        (os.killpg, signal.SIGTERM),
        (os.killpg, signal.SIGKILL),
    ],
)
def test_an_interrupted_build_ends_all_it_started_and_leaves_the_old_site(
    plain, moment, end, how
):
    before, page = contents(plain.html), plain.path("page").read_text("utf-8")
    running = plain.root / "running"
    running.unlink(missing_ok=True)
    plain.write(page=SLOW.format(path=str(running)))
    with subprocess.Popen(
        [sys.executable, plain.root / "conf" / "build.py"],
        env=os.environ | {"PYTHONPATH": str(plain.root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # 배경에서 도는 셸은 SIGINT를 무시하게 물려줍니다.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as building:
        assert any("실행합니다" in line for line in building.stdout)
        if moment == "셀이 도는 동안":
            wait_until(running.exists)
        wait_until(lambda: len(still_running(plain)) >= 4)  # 커널과 그 위의 셋
        end(building.pid, how)
        building.wait(LONGEST)
    wait_until(lambda: not still_running(plain))
    assert building.returncode != 0 and contents(plain.html) == before
    plain.path("page").write_text(page, encoding="utf-8")
