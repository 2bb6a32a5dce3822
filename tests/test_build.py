"""``make html``: 사이트는 언제나 통째로 바뀌고, 잘못은 한 줄로 알려 준다."""

import errno
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

PAGE = """
```{code-cell}
from transformer_notes.masking import look_ahead_mask
print('하나')
```
"""


def contents(folder):
    return {
        p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def test_a_failed_build_leaves_the_old_site_whole_and_warns_again(book):
    book.write(page=PAGE)
    result = book.build()
    assert result.returncode == 0, result.stdout
    assert (book.html / "index.html").as_uri() in result.stdout
    before = contents(book.html)

    book.write(other="{ref}`nowhere`\n\n{src}`attention.nothing`\n\n![](missing.png)\n")
    for _ in range(2):  # 경고는 다시 지을 때에도 다시 납니다
        result = book.build()
        assert result.returncode != 0
        assert "other.md:3: WARNING: undefined label: 'nowhere'" in result.stdout
        assert (
            "other.md:5: WARNING: attention.py에 nothing의 정의가 없습니다"
            in result.stdout
        )
        assert "other.md:7: WARNING: image file not readable" in result.stdout
        assert (
            "other.md:7: WARNING: 그림에 대체 텍스트(alt)가 없습니다" in result.stdout
        )
        assert "앞서 지은 사이트는 그대로입니다" in result.stdout
        assert contents(book.html) == before
    assert not (book.root / "build" / "html.new").exists()


def test_a_build_with_nothing_changed_gives_the_same_bytes(book):
    book.write(
        page=PAGE, api_rst=".. automodule:: transformer_notes.masking\n   :members:\n"
    )
    assert book.build().returncode == 0
    before = contents(book.html)
    assert b"sphinx-codeautolink-a" in before[Path("page.html")]
    assert book.build().returncode == 0
    assert contents(book.html) == before


PLOT = """
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
    axes.plot([0, {height}])
fig
```
"""


def test_a_site_built_after_edits_equals_one_built_from_nothing(book):
    """고친 파일이 옛 시각을 지녀도 같습니다(``cp -p``, ``tar``, 뒤로 간 시계)."""
    book.write(
        api_rst=".. automodule:: transformer_notes.masking\n   :members:\n",
        drawn="(drawn)=\n## 그림\n" + PLOT.format(height=1),
        linked="{ref}`drawn`, {numref}`fig-line`\n" + PAGE,
        listed="```{definition} masking.padding_mask\n```\n",
        removed="곧 사라집니다.\n",
    )
    assert book.build().returncode == 0
    package = book.root / "transformer_notes"
    (package / "seq2seq.py").unlink()
    masking = package / "masking.py"
    text = masking.read_text(encoding="utf-8")
    masking.write_text(
        text.replace("def padding_mask", "\n\ndef padding_mask"), "utf-8"
    )
    book.path("removed").unlink()
    book.write(drawn="(drawn)=\n## 새 그림\n" + PLOT.format(height=2))
    for path in (masking, book.path("drawn")):
        os.utime(path, (0, 0))
    result = book.build()
    assert result.returncode == 0, result.stdout
    after_edits = contents(book.html)
    assert "새 그림" in after_edits[Path("linked.html")].decode()
    assert Path("source/seq2seq.html") not in after_edits
    shutil.rmtree(book.root / "build")
    assert book.build().returncode == 0
    assert after_edits == contents(book.html)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_build_leaves_the_old_site_whole_and_runs_again(book, how):
    book.write(page=PAGE)
    assert book.build().returncode == 0
    before = contents(book.html)
    book.write(page="```{code-cell}\nimport time\ntime.sleep(60)\n```\n")
    building = subprocess.Popen(
        [sys.executable, book.root / "conf" / "build.py"],
        env=os.environ | {"PYTHONPATH": str(book.root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # 배경에서 도는 셸은 SIGINT를 무시하게 물려줍니다.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with building:
        for line in building.stdout:
            if "실행합니다" in line:
                break
        time.sleep(1)
        os.killpg(building.pid, how)
        rest = building.stdout.read()
    assert building.returncode != 0
    if how == signal.SIGINT:
        assert "다시 실행하면 이어집니다" in rest
    assert contents(book.html) == before
    book.write(page="```{code-cell}\nprint('둘')\n```\n")
    result = book.build()
    assert result.returncode == 0, result.stdout
    assert "<span></span>둘" in (book.html / "page.html").read_text(encoding="utf-8")


def still_running(book):
    """책의 파일로 띄운 프로세스 가운데 살아 있는 것의 번호입니다."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:  # 그 사이에 끝났습니다
            continue
        if os.fsencode(book.root) in command:
            found.append(int(process.name))
    return found


@pytest.mark.parametrize("moment", ["가져오는 동안", "셀이 도는 동안"])
def test_a_signal_to_the_build_alone_ends_all_that_it_started(book, moment):
    running = book.root / "running"
    code = (  # 패키지를 쓰는 페이지이면 TensorFlow를 가져오고 나서 셀을 실행합니다
        "import time\nfrom transformer_notes import attention\n"
        f"open({str(running)!r}, 'w').close()\ntime.sleep(60)"
    )
    book.write(page=f"```{{code-cell}}\n{code}\n```\n")
    with subprocess.Popen(
        [sys.executable, book.root / "conf" / "build.py"],
        env=os.environ | {"PYTHONPATH": str(book.root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as building:
        assert any("실행합니다" in line for line in building.stdout)
        time.sleep(1)
        while moment == "셀이 도는 동안" and not running.exists():
            time.sleep(0.1)
        assert len(still_running(book)) >= 3  # 빌드, Sphinx, 실행기
        building.send_signal(signal.SIGINT)
        building.wait(10)
    stop = time.monotonic() + 0.5
    while still_running(book) and time.monotonic() < stop:
        time.sleep(0.05)
    assert still_running(book) == []


def put_a_folder_at(path):
    path.unlink()
    path.mkdir()
    (path / "file").touch()


def put_a_file_at(path):
    shutil.rmtree(path, ignore_errors=True)
    path.write_bytes(b"\xff\xfe")


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def leave_no_cells(path):
    path.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')


DAMAGE = [
    ("executed/*.page", empty, True),
    ("executed/*.page", truncate, True),
    ("executed/*.page", leave_no_cells, True),
    ("executed/*.page", put_a_folder_at, True),
    ("executed", put_a_file_at, True),
    ("doctrees/page.doctree", truncate, False),
    ("doctrees/page.doctree", put_a_folder_at, False),
    ("doctrees/environment.pickle", empty, False),
    ("doctrees/codeautolink-cache.json", truncate, False),
    ("doctrees/pictures/*.svg", truncate, False),
    ("doctrees", put_a_file_at, False),
    ("jupyter_execute/*.svg", truncate, False),
    ("jupyter_execute", put_a_file_at, False),
    ("good", put_a_file_at, False),
    ("good", put_a_folder_at, False),
    ("html", put_a_file_at, False),
    ("html.new", put_a_file_at, False),
]


@pytest.fixture(scope="module")
def whole(shared_book):
    """온전한 사이트와 그 내용입니다."""
    shared_book.write(
        page=PAGE + PLOT.format(height=1),
        other_rst=".. code-cell::\n   :alt: 선 둘\n\n   "
        + "\n   ".join(PLOT.format(height=2).split("---\n")[2].split("\n")[:-2]),
        api_rst=".. automodule:: transformer_notes.masking\n   :members:\n",
    )
    result = shared_book.build()
    assert result.returncode == 0, result.stdout
    return shared_book, contents(shared_book.html)


@pytest.mark.parametrize(
    "where, damage, executes", DAMAGE, ids=[f"{d.__name__} {w}" for w, d, _ in DAMAGE]
)
def test_whatever_cannot_be_read_is_thrown_away_once_and_made_again(
    whole, where, damage, executes
):
    book, before = whole
    build = book.root / "build"
    damage(next(build.glob(where), build / where))
    result = book.build()
    assert result.returncode == 0, result.stdout
    assert contents(book.html) == before
    assert result.stdout.count("버립니다") + result.stdout.count("버리고") == 1
    assert ("실행합니다" in result.stdout) == executes
    assert sorted(path.name for path in build.iterdir()) == [
        "doctrees",
        "executed",
        "good",
        "html",
        "jupyter_execute",
    ]


def test_strays_in_the_store_are_swept_away(whole):
    book, before = whole
    store = book.root / "build" / "executed"
    kept = sorted(store.iterdir())
    (store / "stray" / "deep").mkdir(parents=True)
    (store / "stray.page").touch()
    result = book.build()
    assert result.returncode == 0, result.stdout
    assert sorted(store.iterdir()) == kept and contents(book.html) == before


@pytest.fixture
def builder(book, monkeypatch):
    spec = importlib.util.spec_from_file_location(
        "builder", book.root / "conf" / "build.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_swap_cut_in_the_middle_is_undone(builder):
    builder.SITE.mkdir(parents=True)
    (builder.SITE / "index.html").write_text("옛것")
    os.replace(builder.SITE, builder.OLD)  # 바꾸다가 여기서 전기가 나갔습니다
    builder.recover()
    assert (builder.SITE / "index.html").read_text() == "옛것"
    assert not builder.OLD.exists()


def test_a_full_disk_is_told_in_one_line(builder, monkeypatch):
    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(builder, "build", full)
    with pytest.raises(SystemExit) as stop:
        builder.main()
    assert (
        stop.value.code == "디스크가 가득 찼습니다. 자리를 비운 뒤 다시 실행해 주세요."
    )


def test_a_full_disk_inside_sphinx_is_told_in_one_line(builder, monkeypatch):
    def failed():
        raise subprocess.CalledProcessError(2, "sphinx")

    monkeypatch.setattr(builder, "build", failed)
    monkeypatch.setattr(
        builder.shutil, "disk_usage", lambda _: SimpleNamespace(free=1e6)
    )
    with pytest.raises(SystemExit) as stop:
        builder.main()
    assert "디스크가 가득 찼습니다" in stop.value.code
