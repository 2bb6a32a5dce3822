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


def test_the_bold_face_has_every_hangul_of_the_regular_one(found):
    bold = drawn(SITE / "_static" / "fonts" / "NotesSans-Bold.woff2")
    assert {letter for letter in found["text"] if "가" <= letter <= "힣"} <= bold


@pytest.mark.parametrize("face", fonts.FACES)
def test_a_cut_font_has_another_name_and_its_licence(face):
    names = TTFont(SITE / "_static" / "fonts" / f"{face}.woff2")["name"].names
    said = {record.nameID: str(record) for record in names}
    assert said[1] == face.split("-")[0]
    assert "Open Font License" in said[13]
    assert not any(word in said[1] for word in ("Pretendard", "D2", "STIX"))


@pytest.mark.parametrize("face", fonts.FACES)
def test_the_same_letters_give_the_same_bytes(face, tmp_path):
    source, _ = fonts.FACES[face]
    for name in ("one", "two"):
        fonts.reduce(source, face, "가나abc√", tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@given(
    st.lists(st.sampled_from(["가", "√", "x", "&lt;", "<b>나</b>"]), max_size=5),
    st.sampled_from(["p", "code", "pre", "math"]),
)
def test_letters_are_gathered_where_they_are_drawn(parts, tag):
    page = f"<script>꽥</script><{tag} class='y'>{''.join(parts)}</{tag}>"
    found = fonts.letters([page])
    what = {"p": "text", "math": "math"}.get(tag, "code")
    inside = set("".join(parts).replace("<b>나</b>", "나").replace("&lt;", "<"))
    assert inside <= set(found[what]) and inside <= set(found["text"]) | {"√"}
    assert "꽥" not in "".join(found.values())
