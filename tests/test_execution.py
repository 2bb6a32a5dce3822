"""셀의 실행: 쪽마다 제 커널에서 돌고, 잘못은 그 줄로 드러나고, 바뀐 것만 다시 돈다."""

from pathlib import Path

import notebooks
import package
import pytest
from execution import run_pages
from jupyter_cache import get_cache
from kernel import warm_up
from notebooks import inputs, read_notebook, read_text
from small_book import API

DOCS = Path(__file__).resolve().parents[1] / "docs"
CELL = "```{{code-cell}}\n{}\n```\n"
PICTURE = """
```{code-cell}
---
mystnb:
  image:
    alt: 오르는 선
  figure:
    name: fig-line
    caption: 선
---
from transformer_notes.figures import plotting
with plotting.figure(3, 2) as (fig, axes):
    axes.plot([1, 2])
    axes.set(xlabel="스텝")
fig
```
"""
LONGEST = 600  # 초. 멈춰 선 것을 끝낼 뿐입니다


def executed(result):
    """빌드가 실행했다고 말한 페이지들. 뒤의 쪽부터입니다."""
    rows = [
        row
        for row in result.stdout.splitlines()
        if "페이지" in row and "실행합니다" in row
    ]
    return rows[0].split(": ")[1].split(", ") if rows else []


BAD = {  # 코드, 실패한 줄, 까닭
    "raising": ("x = 1\n1 / 0\n2", 2, "ZeroDivisionError"),
    "calling": ("def f():\n    return 1 / 0\n\n\nf()", 2, "ZeroDivisionError"),
    "killed": ("import os\nos.kill(os.getpid(), 9)", 1, "커널이 갑자기"),
    "asking": ("input()", 1, "StdinNotImplementedError"),
    "leaving": ("import sys\nsys.exit(0)", 1, "SystemExit"),
    "vanishing": ("import os\nos._exit(3)", 1, "커널이 갑자기"),
    "syntax": ("ok = 1\nnot valid python", 2, "SyntaxError"),
    "noisy": ("import sys\nprint('x', file=sys.stderr)", 1, "표준 오류에 쓴 셀: x"),
    "glyph": (
        "from transformer_notes.figures import plotting\n"
        "with plotting.figure(2, 2) as (fig, axes):\n"
        "    axes.set(xlabel='\\U00013000')\nfig",
        1,
        "Glyph 77824",
    ),
    "unraised": (":tags: [raises-exception]\n\n1 + 1", 1, "raises-exception"),
}


def run(folder, pages, timeout=LONGEST):
    """쪽들을 실행합니다. 실패한 까닭들과, 저장된 쪽들의 출력을 냅니다."""
    warm_up(1)  # TensorFlow를 쓰지 않는 쪽들입니다. 미리 가져오지 않습니다
    cache, notebooks = get_cache(folder / "cache"), {}
    for name, text in pages.items():
        path = folder / f"{name}.md"
        path.write_text(f"# {name}\n\n먼저.\n\n{text}", encoding="utf-8")
        notebooks[path] = read_notebook(path)
    failures = run_pages(notebooks, cache, timeout)
    outputs = {
        Path(record.uri).stem: [
            cell.outputs for cell in cache.get_cache_bundle(record.pk).nb.cells
        ]
        for record in cache.list_cache_records()
    }
    return failures, outputs


def test_a_failing_page_is_told_by_its_line_and_the_others_are_kept(tmp_path):
    pages = {name: CELL.format(code) for name, (code, _, _) in BAD.items()}
    failures, outputs = run(tmp_path, pages | {"good": PICTURE, "plain": "글"})
    assert outputs.keys() == {"good", "plain"}
    assert len(failures) == len(BAD)
    for name, (code, line, reason) in BAD.items():
        path = tmp_path / f"{name}.md"
        rows = path.read_text(encoding="utf-8").split("\n")
        first = rows.index(code.split("\n")[0] if ":" not in code[0] else "1 + 1")
        (told,) = (row for row in failures if row.startswith(f"{path}:"))
        assert told.startswith(f"{path}:{first + line}: "), told
        assert reason in told


def test_a_cell_that_never_ends_is_stopped(tmp_path):
    page = CELL.format("import time\ntime.sleep(10_000)")
    (told,), _ = run(tmp_path, {"endless": page}, timeout=1)
    assert "1초 안에 끝나지 않아" in told


def test_two_executions_give_the_same_bytes(tmp_path):
    text = (
        PICTURE
        + CELL.format(
            "import time\nprint('안', flush=True)\ntime.sleep(1)\nprint('녕')\n[1, 2]"
        )
        + CELL.format(":tags: [raises-exception]\n\n1 / 0")
        + CELL.format("import os\nos.getcwd() == '" + str(package.ROOT) + "'")
    )
    seen = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        failures, outputs = run(tmp_path / name, {"page": text})
        assert failures == []
        seen += outputs.values()
    assert seen[0] == seen[1]
    ((picture,), (printed, value), (error,), (in_root,)) = seen[0]
    assert "</svg>" in picture.data["image/svg+xml"]
    assert printed.text == "안\n녕\n" and value.data["text/plain"] == "[1, 2]"
    assert error.traceback == ["ZeroDivisionError: division by zero"]
    assert in_root.data["text/plain"] == "True"


def test_prose_executes_nothing_and_a_cell_or_module_executes_its_pages(book):
    book.write(
        plain=CELL.format("print('하나')"),
        model=CELL.format("from transformer_notes.figures import plotting"),
    )
    first = book.build()
    assert first.returncode == 0, first.stdout
    assert executed(first) == ["plain", "model"]

    book.write(plain="낱말 하나.\n" + CELL.format("print('하나')"))
    module = book.root / "transformer_notes" / "figures" / "plotting.py"
    module.write_text(
        module.read_text(encoding="utf-8") + "\n# 고침\n", encoding="utf-8"
    )
    assert executed(book.build()) == ["model"]
    assert "낱말 하나" in (book.html / "plain.html").read_text("utf-8")

    book.write(plain=CELL.format("print('둘')"))
    assert executed(book.build()) == ["plain"]
    assert "<span></span>둘" in (book.html / "plain.html").read_text("utf-8")


NORTH = """\
import keras


class Door(keras.layers.Layer):
    \"\"\"문입니다.

    >>> Door.size
    1
    \"\"\"

    size = 1
"""


def test_modules_in_folders_work_on_every_page_and_under_pytest(book):
    rooms = book.root / "transformer_notes" / "rooms"
    rooms.mkdir()
    (rooms / "__init__.py").write_text("from .north import Door\n", encoding="utf-8")
    (rooms / "north.py").write_text(NORTH, encoding="utf-8")
    importing = "from transformer_notes.rooms import north\nnorth.Door.size"
    book.write(
        api=API.replace("masking", "rooms.north"),
        lecture="```{definition} rooms.north.Door\n```\n\n- `Door`: 문입니다.\n\n"
        "{src}`rooms.north`, {src}`rooms.Door.size`, {src}`rooms`\n"
        + CELL.format(importing),
    )
    result = book.build()
    assert result.returncode == 0, result.stdout
    lecture = (book.html / "lecture.html").read_text(encoding="utf-8")
    assert lecture.count('href="source/rooms/north.html#L-4"') == 1
    assert 'href="source/rooms/north.html#L-1"' in lecture
    assert 'href="source/rooms/north.html#L-11"' in lecture
    assert 'href="source/rooms/__init__.html#L-1"' in lecture
    assert "transformer_notes/rooms/north.py 4–11번 줄" in lecture
    source = (book.html / "source" / "rooms" / "north.html").read_text("utf-8")
    assert 'id="L-11"' in source and 'href="../../index.html"' in source
    api = (book.html / "api.html").read_text(encoding="utf-8")
    assert 'href="../../source/rooms/north.html#L-4"' in api

    stands_in = (
        "import sys; sys.path[:0] = ['conf/extensions']\n"
        "import stand_ins; stand_ins.install('tensorflow', 'keras')\n"
        "import transformer_notes.rooms.north\n"
        "print('tensorflow.python' in sys.modules, 'keras.src' in sys.modules)"
    )
    assert book.python("-c", stands_in).stdout == "False False\n"
    tested = book.pytest("docs", "-k", "north or lecture").stdout
    assert "PASSED transformer_notes/rooms/north.py::line:7" in tested
    assert "PASSED docs/lecture.md::" in tested


EVERY = {"attention", "checks", "embedding", "rooms", "rooms/north", "rooms/south"}
SOUTH = {"rooms", "rooms/south", "checks"}
ROOMS = SOUTH | {"rooms/north"}


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """작은 패키지의 모듈마다 그 파일입니다. ``rooms``는 폴더입니다."""
    folder = tmp_path / "transformer_notes"
    (folder / "rooms").mkdir(parents=True)
    written = {
        "": "",
        "attention": "from transformer_notes import checks",
        "checks": "",
        "embedding": "",
        "rooms": "",
        "rooms/north": "def f():\n    from . import south",
        "rooms/south": "from ..checks import g",
    }
    paths = {}
    for name, source in written.items():
        path = folder / name
        paths[name] = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        paths[name].write_text(source)
    monkeypatch.setattr(package, "PACKAGE", folder)
    return paths


@pytest.fixture
def key(tmp_path):
    """쪽의 출력을 찾는 열쇠."""
    cache = get_cache(tmp_path / "cache")
    return lambda text: cache.create_hashed_notebook(read_text(text))[1]


@pytest.mark.parametrize(
    "cell, depends",
    [
        ("from transformer_notes.attention import f", {"attention", "checks"}),
        ("from transformer_notes import attention", {"attention", "checks"}),
        ("import transformer_notes.embedding as e", {"embedding"}),
        ("import transformer_notes", EVERY),
        ("from transformer_notes import *", EVERY),
        ("from transformer_notes import something", EVERY),
        ("%time from transformer_notes import embedding", EVERY),
        ("import numpy", set()),
        (
            "from transformer_notes.rooms.south import f",
            {"rooms", "rooms/south", "checks"},
        ),
        ("import transformer_notes.rooms.north", ROOMS),
        ("from transformer_notes.rooms import north", ROOMS),
        ("from transformer_notes.rooms import f", ROOMS),
        ("from transformer_notes import rooms", ROOMS),
        ("def f():\n    from transformer_notes import embedding", {"embedding"}),
    ],
)
def test_the_key_changes_exactly_with_the_modules_a_page_imports(
    sources, key, cell, depends
):
    for module, path in sources.items():
        before = key(CELL.format(cell))
        path.write_text(path.read_text() + "\n# 고침")
        expected = module in depends if module else bool(depends)
        assert (key(CELL.format(cell)) != before) == expected, module


def test_the_key_changes_with_the_data_beside_the_modules(sources, key):
    stored = sources["rooms"].with_name("pairs.csv")
    for cell, depends in [
        ("from transformer_notes.rooms import south", True),
        ("from transformer_notes import attention", False),
        ("import numpy", False),
    ]:
        keys = []
        for content in (b"1", b"2"):
            stored.write_bytes(content)
            keys.append(key(CELL.format(cell)))
        assert (keys[0] != keys[1]) == depends, cell


def test_the_key_changes_with_the_stored_results_a_page_reads(
    tmp_path, monkeypatch, key
):
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    for name in ("times.json", "map.html", "facts.toml"):
        results = tmp_path / "docs" / name
        reading, other = CELL.format(f"open('docs/{name}')"), CELL.format("1")
        results.write_text("1")
        before = key(reading), key(other)
        results.write_text("2")
        assert key(reading) != before[0] and key(other) == before[1]


def test_the_key_ignores_prose_and_sees_cells_and_tags(key):
    assert key("글\n\n" + CELL.format("1")) == key("다른 글\n\n" + CELL.format("1"))
    tagged = CELL.format(":tags: [raises-exception]\n\n1")
    keys = {key(text) for text in (CELL.format("1"), CELL.format("2"), tagged, "글")}
    assert len(keys) == 4


def test_no_lecture_is_executed_again_for_an_edit_of_the_command_line():
    lectures = sorted((DOCS / "lectures").glob("*.md"))
    pages = {path.stem: inputs(read_notebook(path)) for path in lectures}
    assert any(path.stem == "attention" for path in pages["masking"])
    assert not [
        name
        for name, used in pages.items()
        if package.PACKAGE / "cli" / "__init__.py" in used
    ]
