"""사이트의 글꼴: 쪽에 나온 글자는 모두 담고, 원본의 이름은 쓰지 않습니다."""

from pathlib import Path

import fonts
import pytest
from fontTools.ttLib import TTFont
from hypothesis import given
from hypothesis import strategies as st

SITE = Path(__file__).resolve().parents[1] / "build" / "html"
#: 원본에 없는 글자: 풀어 쓴 한글(일부러 보이는 것), 위 첨자, 읽지 못한 바이트의 표시.
#: 이런 것은 읽는 사람의 기계에 있는 글꼴이 그립니다.
ELSEWHERE = {*map(chr, range(0x1100, 0x1200)), *"ㆎᴺᵀ\ufffd"}


@pytest.fixture(scope="module")
def found():
    return fonts.letters(p.read_text("utf-8") for p in SITE.rglob("*.html"))


def drawn(face):
    return set(map(chr, TTFont(face).getBestCmap()))


def test_every_letter_of_the_site_is_in_a_font(found):
    faces = (SITE / "_static" / "fonts").glob("*-Regular.woff2")
    every = set().union(ELSEWHERE, *map(drawn, faces))
    for what, text in found.items():
        assert {letter for letter in text if letter.isprintable()} <= every, what


#: 화면에서 굵게 그린 글자
BOLD = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const found = new Set()
  for (let text; (text = walker.nextNode());) {
    const style = getComputedStyle(text.parentElement)
    if (style.fontWeight >= 600 && style.fontFamily.includes('Notes Sans'))
      for (const letter of text.textContent) found.add(letter)
  }
  return [...found]
}"""


@pytest.mark.parametrize("name", ["index", "lectures/attention", "paper/mistakes"])
def test_what_is_drawn_bold_is_in_the_bold_face(visit, name):
    bold = drawn(SITE / "_static" / "fonts" / "NotesSans-Bold.woff2")
    letters = set(visit(f"{name}.html").evaluate(BOLD))
    assert len(letters) > 100
    assert {letter for letter in letters if letter.isprintable()} <= bold


def test_a_letter_without_a_bold_face_is_drawn_with_the_regular_one(visit):
    page = visit("index.html")
    bold, regular = (
        drawn(SITE / "_static" / "fonts" / f"NotesSans-{style}.woff2")
        for style in ("Bold", "Regular")
    )
    letter = min(c for c in regular - bold if "가" <= c <= "힣")
    page.evaluate(
        "letter => { const h2 = document.querySelector('.bd-article h2');"
        " h2.textContent = letter; h2.id = 'thin' }",
        letter,
    )
    page.evaluate("document.fonts.ready.then(() => 1)")
    session = page.context.new_cdp_session(page)
    session.send("DOM.enable")
    session.send("CSS.enable")
    root = session.send("DOM.getDocument")["root"]["nodeId"]
    node = session.send("DOM.querySelector", {"nodeId": root, "selector": "#thin"})
    used = session.send("CSS.getPlatformFontsForNode", {"nodeId": node["nodeId"]})
    assert [font["familyName"] for font in used["fonts"]] == ["NotesSans"]


@pytest.mark.parametrize("name", ["attention", "embedding"])
def test_nothing_but_its_content_stands_under_a_root(visit, name):
    """embedding에는 키가 큰 근호도 있습니다."""
    gaps = visit(f"lectures/{name}.html").evaluate(
        """() => [...document.querySelectorAll("msqrt")].map(root =>
          root.getBoundingClientRect().right
          - root.lastElementChild.getBoundingClientRect().right)"""
    )
    assert len(gaps) > 5 and max(map(abs, gaps)) < 0.5


@pytest.mark.parametrize("face", fonts.FACES)
def test_a_cut_font_has_another_name_its_licence_and_the_time_of_its_source(face):
    font = TTFont(SITE / "_static" / "fonts" / f"{face}.woff2")
    said = {record.nameID: str(record) for record in font["name"].names}
    assert said[1] == face.split("-")[0]
    assert "Open Font License" in said[13]
    # 온 이름(4)과 PostScript의 이름(6)에는 원본의 이름이 있습니다.
    assert said.keys() <= {0, 1, 2, 13, 14}
    assert "CFF " not in font or font["CFF "].cff.fontNames == [face]
    source, _ = fonts.FACES[face]
    assert font["head"].modified == TTFont(source)["head"].modified


#: 쪽에 적는 것과 그 글자. 한글은 언제나 담는 스크립트에 없는 글자입니다.
PARTS = {"뷁": "뷁", "√": "√", "x": "x", "&#xAFD9;": "꿙", "<b>쀍</b>": "쀍"}


@given(
    st.lists(st.sampled_from([*PARTS]), max_size=5),
    st.sampled_from(["p", "code", "pre", "math"]),
)
def test_letters_are_gathered_where_they_are_drawn(parts, tag):
    page = f"<script>꽥</script><{tag} class='y'>{''.join(parts)}</{tag}>"
    found = fonts.letters([page])
    what = {"p": "text", "math": "math"}.get(tag, "code")
    inside = {PARTS[part] for part in parts}
    there = set(found[what]) | (set(found["hangul"]) if what == "code" else set())
    assert inside <= there and inside <= set(found["text"]) | {"√"}
    assert ("쀍" in found["bold"]) == (tag == "p" and "<b>쀍</b>" in parts)
    assert "꽥" not in "".join(found.values())
