"""「논문과 맞추어 보기」: 논문의 값 하나라도 어긋나면 셀이 멈춘다."""

import re
import tomllib
from pathlib import Path

import pytest
from snippets import find_snippets

from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.masking import look_ahead_mask

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = [DOCS / part / "conformance.md" for part in ("paper", "deeper")]


def cells(section):
    """절의 셀과, 그 쪽의 첫 셀."""
    (page,) = (p for p in PAGES if f"(conformance-{section})=" in p.read_text("utf-8"))
    text = page.read_text("utf-8")
    start = text.index(f"(conformance-{section})=")
    first = text.count("\n", 0, start)
    after = re.search(r"^\(conformance-", text[start + 1 :], re.M)
    last = text.count("\n", 0, start + 1 + after.start()) if after else first + 10**6
    found = [s for s in find_snippets(text) if s.kind == "cell"]
    return [
        snippet.source
        for snippet in found
        if snippet is found[0]
        or first <= snippet.line <= last
        and "remove-cell" not in snippet.tags
    ]


def run(section, **changed):
    """절을 실행합니다. 첫 셀 다음에 이름을 바꿉니다."""
    beginning, *rest = cells(section)
    names = {"__name__": "__main__"}
    exec(beginning, names)
    names |= changed
    for source in rest:
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
def test_a_changed_fact_stops_the_cell_that_reads_it(section, path, value):
    facts = tomllib.loads((DOCS / "paper" / "facts.toml").read_text("utf-8"))
    *above, last = path
    place = facts
    for name in above:
        place = place[name]
    assert place[last] != value
    place[last] = value
    with pytest.raises(AssertionError):
        run(section, facts=facts)


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
def test_code_that_leaves_the_formula_stops_the_page(name, changed, section):
    with pytest.raises(AssertionError, match=section):
        run("equations", **{name: changed})


def test_every_fact_is_read_by_a_page():
    facts = tomllib.loads((DOCS / "paper" / "facts.toml").read_text("utf-8"))
    text = "\n".join(page.read_text("utf-8") for page in DOCS.rglob("*.md"))
    assert all(f'facts["{name}"]' in text for name in facts)
