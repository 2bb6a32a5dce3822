"""구조의 그림: 화살표는 상자에 닿고, 글자는 제자리에 있고 읽힌다."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.text import Annotation

from transformer_notes.figures.plotting import COLORS
from transformer_notes.figures.schematics import SMALLEST_LETTER, Diagram

places = st.tuples(st.integers(60, 440), st.integers(40, 460))


def arrows(draw):
    """화살표마다 (시작, 끝)."""
    return [
        (mark.xyann, mark.xy)
        for mark in draw.figure.axes[0].texts
        if isinstance(mark, Annotation)
    ]


def on_edge(point, node):
    across, along = abs(point[0] - node.x), abs(point[1] - node.y)
    inside = across <= node.width / 2 + 1e-6 and along <= node.height / 2 + 1e-6
    return inside and (
        abs(across - node.width / 2) < 1e-6 or abs(along - node.height / 2) < 1e-6
    )


@given(first=places, second=places)
def test_both_ends_of_an_arrow_touch_their_boxes(first, second):
    if abs(first[0] - second[0]) < 90 and abs(first[1] - second[1]) < 60:
        second = first[0], (first[1] + 200) % 400 + 40
    draw = Diagram(500, 500)
    boxes = [
        draw.box(name, "(4, 2)", at=at) for name, at in zip("가나", (first, second))
    ]
    draw.arrow(*boxes)
    ((start, end),) = arrows(draw)
    assert on_edge(start, boxes[0])
    assert on_edge(end, boxes[1])


def test_boxes_that_face_each_other_are_joined_upright():
    draw = Diagram(300, 200)
    above = draw.box("위", at=(100, 40), width=90)
    below = draw.box("아래", at=(140, 150), width=90)
    draw.arrow(above, below)
    ((start, end),) = arrows(draw)
    assert start[0] == end[0] == 120


def test_a_bent_arrow_leaves_and_arrives_straight():
    draw = Diagram(300, 200)
    above, below = draw.box("위", at=(60, 40)), draw.box("아래", at=(200, 150))
    draw.arrow(above, below, via=[(60, 150)])
    ((start, end),) = arrows(draw)
    assert start == (60, 150)
    assert end == below.left()


def test_a_frame_holds_its_boxes():
    draw = Diagram(300, 200)
    boxes = [draw.box("위", at=(100, 60)), draw.box("아래", at=(180, 150))]
    frame = draw.frame(boxes, "층")
    for box in boxes:
        assert frame.left()[0] < box.left()[0] and box.right()[0] < frame.right()[0]
        assert frame.top()[1] < box.top()[1] and box.bottom()[1] < frame.bottom()[1]


@pytest.mark.parametrize(
    "put",
    [
        lambda draw: draw.box("아주 긴 이름을 가진 상자", at=(100, 50), width=40),
        lambda draw: draw.box("상자", at=(5, 50)),
        lambda draw: draw.symbol("+", at=(5, 50)),
        lambda draw: draw.frame([draw.box("상자", at=(100, 50))], pad=60),
        lambda draw: draw.text("오른쪽 끝을 넘는 글", at=(190, 50)),
    ],
    ids=["상자보다 넓다", "상자", "기호", "테두리", "그림을 벗어난 글"],
)
def test_letters_out_of_place_are_refused(put):
    draw = Diagram(200, 100)
    with pytest.raises(ValueError, match="벗어납니다"):
        put(draw)
        draw.figure  # noqa: B018


def test_letters_too_small_to_read_are_refused():
    draw = Diagram(200, 100)
    with pytest.raises(ValueError, match=str(SMALLEST_LETTER)):
        draw.text("작다", at=(10, 10), size=SMALLEST_LETTER - 1)


def test_cells_grow_with_their_words_and_keep_their_colours():
    draw = Diagram(300, 100)
    narrow = draw.cells([[1, 0]], at=(60, 50))
    wide = draw.cells([["읽었다", None]], at=(180, 50), role=[["query", None]])
    assert narrow.width == 52
    assert wide.width > narrow.width
    *_, query, plain = draw.figure.axes[0].patches
    assert to_hex(query.get_edgecolor()) == COLORS["query"].lower()
    assert to_hex(query.get_facecolor()) != to_hex(plain.get_facecolor()) == "#ffffff"
