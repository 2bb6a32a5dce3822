"""``make html``: 사이트는 언제나 통째로 바뀌고, 잘못은 한 줄로 알려 준다."""

import errno
import importlib.util
import os
import re
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
from transformer_notes import plotting
with plotting.figure(2, 2) as (fig, axes):
    axes.plot([0, {height}])
fig
```
"""


def test_a_site_built_after_edits_equals_one_built_from_nothing(book):
    api = ".. automodule:: transformer_notes.masking\n   :members:\n"
    book.write(
        api_rst=api,
        drawn="(drawn)=\n## 그림\n" + PLOT.format(height=1),
        linked="{ref}`drawn`, {numref}`fig-line`\n" + PAGE,
        removed="곧 사라집니다.\n",
    )
    assert book.build().returncode == 0
    linked = (book.html / "linked.html").stat().st_mtime_ns
    package = book.root / "transformer_notes"
    (package / "cli.py").unlink()
    book.write(drawn="(drawn)=\n## 그림\n\n문장 하나.\n" + PLOT.format(height=1))
    assert book.build().returncode == 0
    assert not (book.html / "source" / "cli.html").exists()
    # 다른 쪽의 문장만 바뀌었으므로 다시 쓰지 않았습니다.
    assert (book.html / "linked.html").stat().st_mtime_ns == linked

    with open(package / "masking.py", "a") as file:
        file.write("# 고침\n")
    book.path("removed").unlink()
    book.write(drawn="(drawn)=\n## 새 그림\n" + PLOT.format(height=2))
    result = book.build()
    assert result.returncode == 0, result.stdout
    assert "새 그림" in (book.html / "linked.html").read_text(encoding="utf-8")
    after_edits = contents(book.html)
    shutil.rmtree(book.root / "build" / "doctrees")
    assert book.build().returncode == 0
    from_nothing = contents(book.html)
    # 색인에는 아무 쪽도 가리키지 않는 말이 남을 수 있습니다.
    index = Path("searchindex.js")
    kept = re.sub(rb'"[^"]*":\[\],?', b"", after_edits.pop(index))
    assert kept.replace(b",}", b"}") == from_nothing.pop(index)
    assert after_edits == from_nothing


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


def test_a_build_cut_before_the_swap_keeps_no_page_of_the_old_site(
    builder, monkeypatch
):
    def cut():
        raise KeyboardInterrupt

    monkeypatch.setattr(builder.subprocess, "run", lambda *_, **__: None)
    monkeypatch.setattr(builder, "swap", cut)
    builder.DOCTREES.mkdir(parents=True)
    with pytest.raises(SystemExit):
        builder.main()
    assert not builder.GOOD.exists()


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
