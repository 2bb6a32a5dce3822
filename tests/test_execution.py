"""레일: 페이지는 저마다의 프로세스에서 실행되고, 잘못은 그 이름으로 드러난다."""

import re
import shutil
import textwrap
from pathlib import Path

import notebooks
import package
import pytest
from notebooks import Store, cache_key, code_cells, read_notebook
from package import dependencies

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = [p for p in sorted(DOCS.rglob("*")) if p.suffix in {".md", ".rst"}]
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


def lines_with(book, name, text):
    rows = book.path(name).read_text(encoding="utf-8").splitlines()
    return [number for number, row in enumerate(rows, 1) if text in row]


def executed(result):
    """빌드가 실행했다고 말한 페이지들. 뒤의 쪽부터입니다."""
    rows = [
        row
        for row in result.stdout.splitlines()
        if "페이지" in row and "실행합니다" in row
    ]
    return rows[0].split(": ")[1].split(", ") if rows else []


def test_a_failing_page_is_named_and_the_others_are_kept(book):
    bad = {
        "raising": ("x = 1\n1 / 0", "1 / 0", "ZeroDivisionError"),
        "killed": (
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
            "import os",
            "SIGKILL",
        ),
        "endless": (
            "import time\ntime.sleep(600)",
            "import time",
            "초 안에 끝나지 않아",
        ),
        "asking": ("input()", "input()", "EOFError"),
        "leaving": ("import sys\nsys.exit(0)", "sys.exit", "SystemExit"),
        "vanishing": ("import os\nos._exit(3)", "import os", "종료 코드 3"),
        "syntax": ("ok = 1\nnot valid python", "not valid python", "SyntaxError"),
        "noisy": ("import sys\nprint('x', file=sys.stderr)", "import sys", "표준 오류"),
        "glyph": (
            "from transformer_notes.figures import plotting\n"
            "with plotting.figure(2, 2) as (fig, axes):\n"
            "    axes.set(xlabel='\\U00013000')",
            "from transformer_notes",
            "Glyph 77824",
        ),
    }
    book.write(
        good=PICTURE,
        unraised="```{code-cell}\n:tags: [raises-exception]\n\n1 + 1\n```\n",
        **{name: CELL.format(code) for name, (code, _, _) in bad.items()},
    )
    result = book.build("-D", "pages_timeout=8")
    assert result.returncode != 0
    for name, (_, text, message) in bad.items():
        (line,) = lines_with(book, name, text)
        (report,) = (
            r for r in result.stdout.splitlines() if f"/{name}.md:{line}: " in r
        )
        assert message in report
    assert (
        f"unraised.md:{lines_with(book, 'unraised', '1 + 1')[0]}: raises-exc"
        in result.stdout
    )
    assert "11개 가운데 1개를 실행해 저장했고" in result.stdout
    assert not book.html.exists()

    for name in [*bad, "unraised"]:
        book.write(**{name: CELL.format("1 + 1")})
    result = book.build()
    assert result.returncode == 0, result.stdout
    assert executed(result) == sorted([*bad, "unraised"], reverse=True)
    assert (book.html / "good.html").exists()


def test_prose_executes_nothing_and_a_cell_or_module_executes_its_pages(book):
    attention = "from transformer_notes.attention import scaled_dot_product_attention"
    book.write(
        plain=CELL.format("print('하나')"),
        model=CELL.format(attention),
        rested_rst=".. code-cell::\n\n   print('셋')\n",
    )
    first = book.build()
    assert first.returncode == 0, first.stdout
    assert executed(first) == ["rested", "plain", "model"]
    assert executed(book.build()) == []

    page = book.path("plain")
    page.write_text(
        page.read_text(encoding="utf-8") + "\n낱말 하나.\n", encoding="utf-8"
    )
    result = book.build()
    assert (
        executed(result) == [] and "낱말 하나" in (book.html / "plain.html").read_text()
    )

    page.write_text(page.read_text(encoding="utf-8").replace("하나')", "둘')"))
    assert executed(book.build()) == ["plain"]
    assert "<span></span>둘" in (book.html / "plain.html").read_text()

    module = book.root / "transformer_notes" / "_tensors.py"
    module.write_text(
        module.read_text(encoding="utf-8") + "\n# 고침\n", encoding="utf-8"
    )
    assert executed(book.build()) == ["model"]


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
        api_rst=".. automodule:: transformer_notes.rooms.north\n   :members:\n",
        lecture="```{definition} rooms.north.Door\n```\n\n- `Door`: 문입니다.\n\n"
        "{src}`rooms.north`, {src}`rooms.Door.size`, {src}`rooms`\n"
        + CELL.format("import sys\n'transformer_notes.rooms.north' in sys.modules")
        + CELL.format(importing),
        other=CELL.format("1"),
    )
    result = book.build()
    assert result.returncode == 0, result.stdout
    lecture = (book.html / "lecture.html").read_text(encoding="utf-8")
    assert lecture.count('href="source/rooms/north.html#L-4"') == 1
    assert 'href="source/rooms/north.html#L-1"' in lecture
    assert 'href="source/rooms/north.html#L-11"' in lecture
    assert 'href="source/rooms/__init__.html#L-1"' in lecture
    assert "transformer_notes/rooms/north.py 4–11번 줄" in lecture
    assert "<span></span>True" in lecture  # 갈라지기 전에 가져왔습니다
    source = (book.html / "source" / "rooms" / "north.html").read_text("utf-8")
    assert 'id="L-11"' in source and 'href="../../index.html"' in source
    api = (book.html / "api.html").read_text(encoding="utf-8")
    assert 'href="../source/rooms/north.html#L-4"' in api

    (rooms / "north.py").write_text(NORTH.replace("1", "2"), encoding="utf-8")
    result = book.build()
    assert executed(result) == ["lecture"], result.stdout
    assert "<span></span>2" in (book.html / "lecture.html").read_text("utf-8")

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


def test_two_executions_give_the_same_bytes_and_kernels_agree(book):
    text = (
        PICTURE
        + CELL.format("print('안녕')\n[1, 2]")
        + ("```{code-cell}\n:tags: [raises-exception]\n\n1 / 0\n```\n")
    )
    book.write(page=text)

    def outputs(*options):
        shutil.rmtree(book.root / "build", ignore_errors=True)
        result = book.build(*options)
        assert result.returncode == 0, result.stdout
        (path,) = (book.root / "build" / "executed").iterdir()
        page = Store(path.parent).load(path.stem)
        return [cell["outputs"] for cell in code_cells(page)]

    forked = outputs()
    assert forked == outputs()
    kernel = outputs("-D", "pages_kernels=1")
    for outputs_ in [*forked, *kernel]:
        for output in outputs_:
            output.pop("execution_count", None)
    assert forked == kernel


LINE = """\
from myst_nb import glue
from transformer_notes.figures import plotting
glue("answer", "42", display=False)
with plotting.figure(3, 2) as (fig, axes):
    axes.plot([1, 2])
fig"""
BOTH = [  # (코드, MyST의 선택 사항, reStructuredText의 선택 사항)
    ("print('안녕')\n[1, 2]", "", ""),
    ("import numpy", "", ""),
    ("1 / 0", "tags: [raises-exception]", ":tags: raises-exception"),
    ("print('접은 셀')", "tags: [hide-input]", ":tags: hide-input"),
    (
        LINE,
        "mystnb: {image: {alt: 오르는 선}, figure: {name: fig-line, caption: 설명}}",
        ":alt: 오르는 선\n:name: fig-line\n:caption: 설명",
    ),
]


def test_cells_of_both_formats_become_the_same_html(book):
    book.write(
        page="".join(
            f"```{{code-cell}}\n---\n{options}\n---\n{code}\n```\n\n"
            for code, options, _ in BOTH
        )
        + "답은 {glue:text}`answer`이고 {numref}`fig-line`에 있습니다.\n"
    )
    assert book.build().returncode == 0
    myst = cells_html(book)
    book.path("page").unlink()
    book.write(
        page_rst="".join(
            indent(f".. code-cell::\n{options}".strip() + f"\n\n{code}\n")
            for code, _, options in BOTH
        )
        + "답은 :glue:text:`answer`이고 :numref:`fig-line`에 있습니다.\n"
    )
    result = book.build()
    assert result.returncode == 0, result.stdout
    assert 'class="pasted-text">42<' in myst
    assert cells_html(book) == myst


def indent(directive):
    first, _, rest = directive.partition("\n")
    return f"{first}\n{textwrap.indent(rest, '   ')}\n"


def cells_html(book):
    html = (book.html / "page.html").read_text(encoding="utf-8")
    cells = html[html.index('<div class="cell') : html.index("</section>")]
    return "".join(re.sub(r"_images/\w+", "_images/name", cells).split())


@pytest.mark.parametrize(
    "cell, problem",
    [
        (".. code-cell::\n   :tags: hide-me\n\n   1", "모르는 태그입니다: hide-me"),
        (
            ".. code-cell::\n\n   from IPython.display import HTML\n   HTML('<b>')",
            "그릴 줄 모르는 출력입니다",
        ),
        ("없는 :glue:text:`nothing` 값", "셀이 붙여 두지 않은 값입니다: nothing"),
    ],
)
def test_what_a_cell_cannot_draw_fails_the_build(book, cell, problem):
    book.write(page_rst=f"{cell}\n")
    result = book.build()
    assert result.returncode != 0
    assert re.search(f"page.rst:[0-9]+: .*{problem}", result.stdout), result.stdout


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
    sources, cell, depends
):
    def key():
        return cache_key(read_notebook("page.md", CELL.format(cell)))

    for module, path in sources.items():
        before = key()
        path.write_text(path.read_text() + "\n# 고침")
        expected = module in depends if module else bool(depends)
        assert (key() != before) == expected, module


@pytest.mark.parametrize(
    "cell, depends",
    [
        ("from transformer_notes.rooms import south", True),
        ("from transformer_notes import attention", False),
        ("import numpy", False),
    ],
)
def test_the_key_changes_with_the_data_beside_the_modules(sources, cell, depends):
    def key():
        return cache_key(read_notebook("page.md", CELL.format(cell)))

    stored = sources["rooms"].with_name("pairs.csv")
    keys = [key()]
    for content in (b"1", b"2"):
        stored.write_bytes(content)
        keys.append(key())
    assert len(set(keys)) == (3 if depends else 1)


def test_an_edit_of_the_command_line_executes_only_the_pages_that_use_it():
    pages = {path.stem: read_notebook(path) for path in PAGES}
    used = {
        name: dependencies(cell.source for cell in code_cells(page))
        for name, page in pages.items()
    }
    edited = {name for name, found in used.items() if "cli" in found}
    assert edited == {"chatbot", "command_line", "conformance"}


@pytest.mark.parametrize("name", ["times.json", "map.html", "facts.toml"])
def test_the_key_changes_with_the_stored_results_a_page_reads(
    tmp_path, monkeypatch, name
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "requirements.txt").touch()
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    results = tmp_path / "docs" / name
    reading = read_notebook("page.md", CELL.format(f"open('docs/{name}')"))
    other = read_notebook("page.md", CELL.format("1"))
    results.write_text("1")
    before = cache_key(reading), cache_key(other)
    results.write_text("2")
    assert cache_key(reading) != before[0]
    assert cache_key(other) == before[1]


def test_the_key_ignores_prose_and_sees_cells_and_tags():
    def key(text):
        return cache_key(read_notebook("page.md", text))

    assert key("글\n\n" + CELL.format("1")) == key("다른 글\n\n" + CELL.format("1"))
    assert key(CELL.format("1")) != key(CELL.format("2"))
    assert key(CELL.format("1")) != key(CELL.format(":tags: [raises-exception]\n\n1"))
    assert key("글만") == ""


def test_the_store_never_shows_half_a_file(tmp_path, monkeypatch):
    store = Store(tmp_path)
    notebook = read_notebook("page.md", CELL.format("1"))
    monkeypatch.setattr(
        notebooks.os, "replace", lambda *_: (_ for _ in ()).throw(OSError)
    )
    with pytest.raises(OSError):
        store.save("key", notebook)
    assert not store.has("key")
    monkeypatch.undo()
    store.save("key", notebook)
    assert store.has("key") and len(code_cells(store.load("key"))) == 1
    store.keep_only({"key"})
    assert list(tmp_path.iterdir()) == [store.path("key")]
