"""소스 링크는 진짜 줄로 간다."""

import inspect

import pytest
from source_links import PACKAGE, find_definition, linkcode_resolve

from transformer_notes import attention, embedding, masking


@pytest.mark.parametrize(
    "thing",
    [
        attention.scaled_dot_product_attention,
        attention._check_mask,
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
    assert path == PACKAGE / f"{module}.py"


def test_a_module_alone_means_the_whole_file():
    path, start, end = find_definition("masking")
    assert (start, end) == (1, len(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("target", ["nowhere", "nowhere.f", "attention.nothing"])
def test_a_dangling_target_is_an_error_that_names_it(target):
    with pytest.raises(LookupError, match=target.replace(".", r"\.")):
        find_definition(target)


def test_the_api_page_links_to_the_same_line():
    _, first, _ = find_definition("masking.padding_mask")
    link = linkcode_resolve(
        "py", {"module": "transformer_notes.masking", "fullname": "padding_mask"}
    )
    assert link == f"../source/masking.html#L-{first}"


def test_pages_show_the_source_with_its_numbers_and_the_repository_when_configured(
    book,
):
    book.write(
        page="```{definition} masking.padding_mask\n```\n\n"
        "{src}`masking.padding_mask`\n"
    )
    conf = book.root / "conf" / "conf.py"
    text = conf.read_text(encoding="utf-8")
    conf.write_text(
        text.replace(
            'repository_url = ""', 'repository_url = "https://github.com/example/notes"'
        )
    )
    result = book.build()
    assert result.returncode == 0, result.stdout
    page = (book.html / "page.html").read_text(encoding="utf-8")
    path, first, last = find_definition("masking.padding_mask")
    assert page.count(f'href="source/masking.html#L-{first}"') == 2
    address = f"https://github.com/example/notes/blob/main/transformer_notes/masking.py#L{first}-L{last}"
    assert page.count(f'href="{address}"') == 2
    assert f'<span class="linenos">{last}</span>' in page.replace(" ", "").replace(
        "spanclass", "span class"
    )
    source = (book.html / "source" / "masking.html").read_text(encoding="utf-8")
    assert f'id="L-{first}"' in source and f'id="L-{last}"' in source
