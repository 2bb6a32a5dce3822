"""소스 링크는 진짜 줄로 간다."""

import inspect

import package
import pytest
from source_links import find_definition, linkcode_resolve

from transformer_notes import _tensors, attention, embedding, masking


@pytest.mark.parametrize(
    "thing",
    [
        attention.scaled_dot_product_attention,
        _tensors.attention_mask,
        masking.look_ahead_mask,
        embedding.TokenEmbedding,
        embedding.TokenEmbedding.call,
    ],
    ids=lambda thing: thing.__qualname__,
)
def test_lines_are_those_that_python_reports(thing):
    lines, first = inspect.getsourcelines(thing)
    module = thing.__module__.rpartition(".")[2]
    path, start, end = find_definition(f"{module}.{thing.__qualname__}")
    assert (start, end) == (first, first + len(lines) - 1)
    assert path == package.PACKAGE / f"{module}.py"


def test_a_module_alone_means_the_whole_file():
    path, start, end = find_definition("masking")
    assert (start, end) == (1, len(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("target", ["nowhere", "nowhere.f", "attention.nothing"])
def test_a_dangling_target_is_an_error_that_names_it(target):
    with pytest.raises(LookupError, match=target.replace(".", r"\.")):
        find_definition(target)


@pytest.fixture
def rooms(tmp_path, monkeypatch):
    """폴더가 든 패키지입니다: 북쪽 방의 문을 폴더가 다시 내놓습니다."""
    folder = tmp_path / "transformer_notes"
    (folder / "rooms").mkdir(parents=True)
    sources = {
        "__init__": "",
        "rooms/__init__": "from transformer_notes.rooms.north import Door as Gate\n",
        "rooms/north": "SIZE = 1\n\n\nclass Door:\n    def open(self):\n        pass\n",
        "rooms/south": "from .north import Door\n",
    }
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    monkeypatch.setattr(package, "PACKAGE", folder)
    return folder


@pytest.mark.parametrize(
    "target, file, lines",
    [
        ("rooms", "rooms/__init__.py", (1, 1)),
        ("rooms.north", "rooms/north.py", (1, 6)),
        ("rooms.north.SIZE", "rooms/north.py", (1, 1)),
        ("rooms.north.Door.open", "rooms/north.py", (5, 6)),
        ("rooms.Gate", "rooms/north.py", (4, 6)),  # 폴더가 다시 내놓은 이름
        ("rooms.Gate.open", "rooms/north.py", (5, 6)),
        ("rooms.south.Door", "rooms/north.py", (4, 6)),
    ],
)
def test_a_definition_is_found_in_a_folder_and_through_what_it_exports(
    rooms, target, file, lines
):
    assert find_definition(target) == (rooms / file, *lines)


@pytest.mark.parametrize("target", ["rooms.west", "rooms.north.Window", "west.Door"])
def test_a_dangling_target_in_a_folder_is_an_error_that_names_it(rooms, target):
    with pytest.raises(LookupError, match=target.replace(".", r"\.")):
        find_definition(target)


def test_the_api_page_links_to_a_source_page_in_a_folder(rooms):
    info = {"module": "transformer_notes.rooms.north", "fullname": "Door.open"}
    assert linkcode_resolve("py", info) == "../../source/rooms/north.html#L-5"


def test_the_api_page_links_to_the_same_line():
    _, first, _ = find_definition("masking.padding_mask")
    link = linkcode_resolve(
        "py", {"module": "transformer_notes.masking", "fullname": "padding_mask"}
    )
    assert link == f"../../source/masking.html#L-{first}"


def test_pages_show_the_source_with_its_numbers(book):
    book.write(
        page="```{definition} masking.padding_mask\n```\n\n"
        "{src}`masking.padding_mask`\n"
    )
    result = book.build()
    assert result.returncode == 0, result.stdout
    page = (book.html / "page.html").read_text(encoding="utf-8")
    _, first, last = find_definition("masking.padding_mask")
    assert page.count(f'href="source/masking.html#L-{first}"') == 2
    assert f'<span class="linenos">{last}</span>' in page.replace(" ", "").replace(
        "spanclass", "span class"
    )
    source = (book.html / "source" / "masking.html").read_text(encoding="utf-8")
    assert f'id="L-{first}"' in source and f'id="L-{last}"' in source
