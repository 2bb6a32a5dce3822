"""「논문과 맞추어 보기」: 논문의 값 하나라도 어긋나면 셀이 멈춘다."""

import copy
import re
from pathlib import Path

import pytest
from snippets import find_snippets

from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.masking import look_ahead_mask

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "paper" / "conformance.md"


def cells(section=None):
    """쪽의 셀. 절을 주면 그 절의 것만."""
    text = PAGE.read_text(encoding="utf-8")
    first, last = 0, text.count("\n")
    if section:
        starts = [m.start() for m in re.finditer(r"^\(conformance-", text, re.M)]
        start = text.index(f"(conformance-{section})=")
        first = text.count("\n", 0, start)
        after = [place for place in starts if place > start]
        last = text.count("\n", 0, after[0]) if after else last
    return [
        snippet.source
        for snippet in find_snippets(PAGE, text)
        if snippet.kind == "cell"
        and first <= snippet.line <= last
        and "remove-cell" not in snippet.tags
    ]


@pytest.fixture(scope="module")
def beginning():
    """첫 셀을 실행한 이름들."""
    found = {"__name__": "__main__"}
    exec(cells("how")[0], found)
    return found


def run(beginning, section, facts):
    names = {**beginning, "facts": facts}
    for source in cells(section):
        exec(source, names)


BROKEN = [
    ("wavelength", ["wavelengths", "longest"], 11_000),
    ("table1", ["table1", "합성곱", "work", "k"], 2),
    ("table1", ["table1", "순환", "sequential"], "1"),
    ("table1", ["table1", "셀프 어텐션", "path"], "n"),
    ("table2", ["table2", "base", "flops"], 3.4e18),
    ("table2", ["table2", "big", "seconds_a_step"], 1.1),
    ("table3", ["table3", "base", "millions"], 60),
    ("table3", ["table3", "B d_k=16", "key_dim"], 32),
    ("settings", ["settings", "웜업의 스텝", "value"], 8000),
    ("settings", ["settings", "배치의 토큰 (한쪽)", "value"], 1024),
]


@pytest.mark.parametrize(
    "section, path, value", BROKEN, ids=[" ".join(path) for _, path, _ in BROKEN]
)
def test_a_changed_fact_stops_the_cell_that_reads_it(beginning, section, path, value):
    facts = copy.deepcopy(beginning["facts"])
    *above, last = path
    place = facts
    for name in above:
        place = place[name]
    assert place[last] != value
    place[last] = value
    with pytest.raises(AssertionError):
        run(beginning, section, facts)


def unscaled(query, key, value, mask=None):
    return scaled_dot_product_attention(2 * query, key, value, mask)


def sees_the_future(length):
    return look_ahead_mask(length) | True


@pytest.mark.parametrize(
    "name, changed, section",
    [
        ("scaled_dot_product_attention", unscaled, "식 \\(1\\)"),
        ("look_ahead_mask", sees_the_future, "3.2.3절"),
    ],
)
def test_code_that_leaves_the_formula_stops_the_page(beginning, name, changed, section):
    names = {**beginning, name: changed}
    with pytest.raises(AssertionError, match=section):
        for source in cells("equations"):
            exec(source, names)


def test_every_fact_is_read(beginning):
    """이 쪽이 읽는다. 글의 이름이 붙은 표는 어느 쪽이든 하나는 읽는다."""
    titles = re.findall(r"@\w+{(\w+)", (ROOT / "conf" / "references.bib").read_text())
    page = "\n".join(cells())
    pages = "\n".join(path.read_text() for path in ROOT.glob("docs/**/*.md"))
    for name in beginning["facts"]:
        assert f'facts["{name}"]' in (pages if name in titles else page)
