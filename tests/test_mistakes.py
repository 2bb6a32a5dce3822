"""실수의 번호는 목록으로 이어지고, 목록은 그 실수를 가르치는 곳으로 이어진다."""

import functools
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
LIST = DOCS / "paper" / "mistakes.md"
PAGES = sorted(DOCS.rglob("*.md"))

_CODE = r"\{?(?:code-cell|code-block|python|pycon|bash|text|math)\b"
_FENCE = re.compile(
    rf"^(?P<fence>`{{3,}}|:{{3,}}){_CODE}.*?^(?P=fence)\s*?$", re.M | re.S
)
_HEADING = re.compile(r"^#+ .*$", re.M)
_LINK = re.compile(r"\{ref\}`([^`<]*?)<([\w-]+)>`", re.S)
_MORE = r"(?:와|과|,|·|부터) ?"
_NAMED = re.compile(rf"실수 (?:(?:✓|\d+){_MORE})*(\d+)(?!\d|가지)")
_TAUGHT = re.compile(rf"실수 (\d+(?:{_MORE}\d+)*)")
_LABEL = re.compile(r"^\(([\w-]+)\)=$|^:label: ([\w-]+)$", re.M)


def blank(match):
    return re.sub(r"[^\n]", "", match[0])


def prose(text):
    """코드를 비운 글입니다. 줄 번호는 그대로입니다."""
    return _FENCE.sub(blank, text)


def headings(text):
    """제목에 적힌 실수의 번호들입니다."""
    for match in _HEADING.finditer(prose(text)):
        for numbers in _TAUGHT.findall(match[0]):
            yield from map(int, re.findall(r"\d+", numbers))


def unlinked(text):
    """목록으로도, 그 실수를 배우는 곳으로도 이어지지 않은 (줄 번호, 번호)를 냅니다."""

    def mark(match):
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        led = numbers and match[2] in taught().get(numbers[0], ())
        return blank(match) + "실수 ✓" if led and len(numbers) == 1 else match[0]

    text = _LINK.sub(mark, _HEADING.sub(blank, prose(text)))
    for number, line in enumerate(text.split("\n"), 1):
        for match in _NAMED.finditer(line):
            yield number, int(match[1])


def entries():
    """번호마다 목록의 한 도막입니다."""
    parts = re.split(
        r"^\(mistake-(\d+)\)=$", LIST.read_text(encoding="utf-8"), flags=re.M
    )
    return {int(n): part.split("\n(")[0] for n, part in zip(parts[1::2], parts[2::2])}


@functools.cache
def taught():
    """번호마다, 이어질 수 있는 레이블: 목록의 그 도막과 배우는 곳."""
    return {
        number: {f"mistake-{number}", *re.findall(r"\{ref\}`[^`]*<([\w-]+)>`", entry)}
        for number, entry in entries().items()
    }


def labels(page):
    return {
        "".join(found) for found in _LABEL.findall(page.read_text(encoding="utf-8"))
    }


def test_the_list_holds_every_number_once_and_the_symptoms_lead_to_each():
    text = LIST.read_text(encoding="utf-8")
    numbers = re.findall(r"^\(mistake-(\d+)\)=$", text, re.M)
    assert sorted(map(int, numbers)) == list(range(1, len(numbers) + 1))
    symptoms = text.split("(mistakes-symptoms)=")[1].split("\n(")[0]
    assert {*numbers} == {*re.findall(r"<mistake-(\d+)>", symptoms)}
    for number, entry in entries().items():
        assert entry.startswith(f"\n### 실수 {number}: "), number
    assert f"실수 {len(numbers)}가지" in text


def test_every_mistake_leads_to_where_it_is_taught():
    elsewhere = set().union(*(labels(page) for page in PAGES if page != LIST))
    for number in entries():
        leads = taught()[number] - {f"mistake-{number}"}
        assert leads and leads <= elsewhere, number


def test_every_mistake_is_shown_by_a_number_that_its_entry_computes():
    for number, entry in entries().items():
        cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", entry, re.M | re.S)
        assert any(
            "print(" in cell and re.search(r"^ *assert ", cell, re.M) for cell in cells
        ), number


def test_a_section_named_after_a_mistake_and_the_list_are_linked():
    """목록이 그 쪽을 가리키거나, 그 쪽이 목록의 그 번호를 가리킵니다."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for number in {*headings(text)} if page != LIST else ():
            here = labels(page) & taught()[number]
            assert here or f"<mistake-{number}>" in text, (page, number)


def test_every_number_named_in_prose_leads_to_the_list():
    found = [
        f"{page.relative_to(DOCS.parent)}:{line}: 실수 {number}"
        for page in PAGES
        for line, number in unlinked(page.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(["{ref}`실수 N <mistake-N>`으로 이으세요.", *found])


def test_what_counts_as_unlinked():
    for text, found in (
        ("앞의 실수 7입니다.", [(1, 7)]),
        ("{ref}`실수 7 <mistake-7>`과 실수\n8, 실수 9", [(2, 9)]),
        ("{ref}`실수 5 <mistake-5>`와 6", [(1, 6)]),
        ("{ref}`실수 5 <mistake-5>`와 {ref}`6 <mistake-6>`", []),
        ("실수 15, 16, 17", [(1, 17)]),
        ("{ref}`실수 7 <mistake-8>`", [(1, 7)]),
        ("{ref}`실수 7 <masking-break-cross>`", []),
        ("{ref}`실수 7 <masking-break-float16>`", [(1, 7)]),
        ("{ref}`마스크(실수 7) <mistake-7>`", []),
        ("### 실수 7: 제목\n\n```{code-cell}\n'실수 8'\n```\n실수 9", [(6, 9)]),
        ("```{note}\n실수 7\n```", [(2, 7)]),
        ("실수 44가지", []),
    ):
        assert list(unlinked(text)) == found, text
