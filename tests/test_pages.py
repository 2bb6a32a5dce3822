"""쪽의 글과 셀을 그대로 읽어 확인합니다. 지을 필요가 없는 약속입니다."""

import ast
import re
import unicodedata
from pathlib import Path

from snippets import find_snippets
from typed_numbers import places, typed

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def read(path):
    return path.read_text(encoding="utf-8")


# --- 학생이 복사하는 셀 --------------------------------------------------------------


def copied(text):
    """셀과 예. 사이트의 일인 remove-cell만 노트북에 없습니다."""
    return [s for s in find_snippets(text) if "remove-cell" not in s.tags]


def faults(snippet):
    """학생의 셀에 있으면 안 되는 것의 (줄, 까닭)."""
    for number, line in enumerate(snippet.source.splitlines()):
        width = sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line)
        if width > 88:
            yield snippet.line + number, f"{width}칸입니다. 88칸까지입니다"
    if snippet.kind != "cell":
        return
    try:
        body = ast.parse(snippet.source)
    except SyntaxError:  # 일부러 틀린 셀
        return
    for node in ast.walk(body):
        line = snippet.line + getattr(node, "lineno", 1) - 1
        if isinstance(node, ast.ImportFrom) and node.module == "myst_nb":
            yield line, "glue는 remove-cell인 셀에 둡니다"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "glue":
            yield line, "glue는 remove-cell인 셀에 둡니다"
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            yield line, "이름을 붙일 함수는 def로 적습니다"
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Tuple):
            if all(isinstance(part, ast.Call) for part in node.value.elts):
                yield line, "하는 일을 튜플로 잇지 않습니다"


def test_cells_that_a_student_copies_hold_only_what_they_need():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in PAGES
        for snippet in copied(read(path))
        for line, fault in faults(snippet)
    ]
    assert not found, "\n" + "\n".join(found)


def test_what_a_student_should_not_see_is_found():
    for source in (
        "from myst_nb import glue",
        'glue("a", 1)',
        "f = lambda x: x",
        "print(1), print(2)",
        "# " + "가" * 44,
    ):
        page = f"```{{code-cell}}\n{source}\n```\n"
        assert [fault for s in copied(page) for fault in faults(s)], source
        hidden = f"```{{code-cell}}\n:tags: [remove-cell]\n\n{source}\n```\n"
        assert copied(hidden) == []


# --- 글에 적은 수 --------------------------------------------------------------------


def test_no_number_is_typed():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {number}"
        for path in PAGES
        for line, number in typed(read(path))
    ]
    assert not found, "쪽의 코드가 계산하지도, 확인하지도 않는 수입니다:\n" + "\n".join(
        found
    )


def test_typed_numbers_are_found():
    cell = "\n\n```{{code-cell}}\n{}\n```\n"
    for text, numbers in (
        ("정답률은 0.97입니다.", ["0.97"]),
        ("모델이 37,000개를 씁니다.", ["37,000"]),
        ("{cite}`paper`은 37,000개를 씁니다.", ["37,000"]),
        ("정답률은 {n}`97% = right`입니다.", []),
        ("2017년에 나온 논문의 3.2.1절, 실수 15, $d = 512$, `d = 64`", []),
        ("정답률은 0.97입니다.\n\n```pycon\n>>> 0.97\n0.97\n```", []),
        ("정답률은 0.97입니다.\n\n## 다음\n\n```pycon\n>>> 0.97\n0.97\n```", ["0.97"]),
        ("```{code-cell}\n---\nalt: 값은 0.5입니다.\n---\nprint(1)\n```", []),
        (
            "```{code-cell}\n---\nmystnb:\n  image:\n    alt: 값은 0.5\n---\nx\n```",
            ["0.5"],
        ),
        ("| 값 | 0.5 |", ["0.5"]),
        ("값이 셋, 곧 3개이고 12까지는 말로 읽습니다.", []),
        ("(1, −2)를 봅니다." + cell.format("x = [0, 1, -2.0]"), []),
        ("(1, −3)을 봅니다." + cell.format("x = [0, 1, -2.0]"), ["(1, −3)"]),
        ("2·3 + 8 = 14이고 √5 = 2.24이고 1/8 = 12.5%입니다.", []),
        ("2·3 + 8 = 15입니다.", ["2·3 + 8 = 15"]),
    ):
        found = [number for _, number in typed(text)]
        assert found == numbers, text


def test_what_is_changed_to_be_noticed():
    text = "수 {n}`97% = a`와 0.5와 (1, 2)와 1 + 1 = 2와 3"
    found = [(text[start:end], tied) for start, end, tied in places(text)]
    assert found == [
        ("97", True),
        *((part, False) for part in ("1", "1", "2", "1", "2", "0", "5")),
    ]


# --- 용어집 --------------------------------------------------------------------------


def alphabetical(term):
    """가나다 차례. 로마자로 적는 말은 그 뒤입니다."""
    return not "가" <= term[0] <= "힣", term.lower()


def test_the_terms_of_each_part_of_the_glossary_stand_in_alphabetical_order():
    text = read(ROOT / "docs" / "reference" / "glossary.md")
    parts = re.findall(r"```\{glossary\}\n(.*?)```", text, re.DOTALL)
    assert len(parts) >= 3
    for part in parts:
        terms = re.findall(r"^\S.*$", part, re.MULTILINE)
        assert terms == sorted(terms, key=alphabetical)
