"""읽는 시간: 보이는 것을 저마다의 빠르기로 세고, 그림의 코드와 해답은 세지 않는다."""

import re
from types import SimpleNamespace

import pytest
import reading_time

HANGUL = "가" * 340 + "\n\n"  # 제목과 상자의 몇 글자가 더해져도 350을 넘지 않습니다
LINES = "\n".join(f"x = {n}" for n in range(8))


def cell(source, *tags):
    options = f":tags: [{', '.join(tags)}]\n\n" if tags else ""
    return f"```{{code-cell}}\n{options}{source}\n```\n\n"


@pytest.fixture(scope="module")
def built(shared_book):
    book = shared_book
    conf = book.root / "conf" / "conf.py"
    conf.write_text(
        conf.read_text(encoding="utf-8") + 'reading_time_pages = "timed"\n',
        encoding="utf-8",
    )
    doctests = "\n".join(f">>> {n}\n{n}" for n in range(8))
    table = "| a |\n|---|\n" + "| b |\n" * 19
    printed = HANGUL + cell("print('\\n'.join('x' * 20))", "hide-input")
    book.write(
        timed_prose=HANGUL * 2,
        timed_code=HANGUL + cell(LINES),
        timed_doctest=f"```pycon\n{doctests}\n```\n",
        timed_hidden=HANGUL + cell(LINES, "hide-input") + cell(LINES, "remove-cell"),
        timed_definition=HANGUL
        + "```{definition} masking.padding_mask\n:folded:\n```\n\n",
        timed_formula="$$x$$\n\n$$y$$\n\n$$z$$\n",
        timed_table=HANGUL + table,
        timed_printed=printed,
        timed_written=HANGUL + "```{write} padding_mask\n```\n",
        timed_solved="```{exercise} 문제\n:label: ex-a\n"
        + HANGUL
        + "```\n\n"
        + "````{solution-start} ex-a\n:class: dropdown\n````\n\n"
        + HANGUL
        + cell(LINES)
        + "````{solution-end}\n````\n",
        other=HANGUL + "{minutes}`timed_code` {minutes}`timed*`\n",
    )
    result = book.build()
    assert result.returncode == 0, result.stdout
    return book


def test_what_is_shown_counts(built):
    counted = {}
    for page in built.html.glob("timed_*.html"):
        html = page.read_text(encoding="utf-8")
        (shown,) = re.findall(r'class="reading-time">\s*읽는 데 약 (\d+)분', html)
        counted[page.stem.removeprefix("timed_")] = int(shown)
    assert counted == {
        "prose": 2,
        "code": 2,
        "doctest": 2,
        "hidden": 1,
        "definition": 2,
        "formula": 3,
        "table": 2,
        "printed": 2,
        "written": 1,
        "solved": 1,
    }


def test_other_pages_name_the_time_and_the_sum(built):
    html = (built.html / "other.html").read_text(encoding="utf-8")
    assert "reading-time" not in html
    assert re.search(r"2분 0\.\d시간", html)


def test_the_sum_is_not_made_of_rounded_minutes():
    pages = {f"lectures/{n}": {"minutes": 1.4} for n in range(30)}
    app = SimpleNamespace(env=SimpleNamespace(metadata=pages))
    asked = SimpleNamespace(rawsource="lectures/*")
    assert reading_time.minutes(app, "index", asked) == "0.7시간"


def test_a_page_that_was_not_timed_is_an_error(built):
    built.write(other="{minutes}`nowhere`\n")
    result = built.build()
    assert result.returncode != 0
    assert "읽는 시간을 재지 않은 쪽입니다: nowhere" in result.stdout
