"""구조를 그리는 말: 상자와 화살표와 모양.

그림마다 좌표를 픽셀로 적습니다. 원점은 왼쪽 위이고 y는 아래로 자랍니다. 너비 340이면
휴대 전화의 본문에 줄지 않고 들어갑니다. 색은 `plotting.COLORS`의 것이고, 색만으로
구별하지 않습니다. 자료는 모난 상자, 연산은 둥근 상자입니다.
"""

import itertools
from dataclasses import dataclass

from matplotlib import colors, patches, rc_context
from matplotlib.figure import Figure

from transformer_notes.figures.plotting import COLORS, style

PIXELS_PER_INCH = 96
#: 이보다 작은 글자는 휴대 전화에서 읽히지 않습니다. 픽셀입니다.
SMALLEST_LETTER = 11
INK, EDGE = "#222222", "#6E6E6E"


@dataclass(frozen=True)
class Node:
    """그림 속의 상자 하나. 가운데와 크기를 픽셀로 압니다."""

    x: float
    y: float
    width: float
    height: float

    def top(self, f=0.5):
        """윗변의 점. `f`는 왼쪽 끝이 0, 오른쪽 끝이 1입니다."""
        return self.x + (f - 0.5) * self.width, self.y - self.height / 2

    def bottom(self, f=0.5):
        """아랫변의 점."""
        return self.x + (f - 0.5) * self.width, self.y + self.height / 2

    def left(self, f=0.5):
        """왼쪽 변의 점. `f`는 위 끝이 0, 아래 끝이 1입니다."""
        return self.x - self.width / 2, self.y + (f - 0.5) * self.height

    def right(self, f=0.5):
        """오른쪽 변의 점."""
        return self.x + self.width / 2, self.y + (f - 0.5) * self.height

    def inside(self, other):
        """반 픽셀의 여유를 두고 `other` 안에 있는가."""
        return (
            abs(self.x - other.x) <= (other.width - self.width) / 2 + 0.5
            and abs(self.y - other.y) <= (other.height - self.height) / 2 + 0.5
        )

    def towards(self, point):
        """가운데에서 `point`로 가는 선이 상자를 떠나는 점."""
        dx, dy = point[0] - self.x, point[1] - self.y
        reach = max(abs(dx) * 2 / self.width, abs(dy) * 2 / self.height)
        return (self.x + dx / reach, self.y + dy / reach) if reach else (self.x, self.y)


class Diagram:
    """빈 그림 하나. 상자를 놓고 잇습니다.

    Args:
        width: 너비, 픽셀.
        height: 높이, 픽셀.

    Raises:
        ValueError: 놓는 것이 그림을 벗어나거나 글자가 `SMALLEST_LETTER`보다 작은 때.

    Examples:
        >>> draw = Diagram(200, 130)
        >>> query = draw.box("쿼리", "(4, 2)", at=(100, 35), role="query")
        >>> product = draw.box("내적", at=(100, 105))
        >>> draw.arrow(query, product)
        >>> draw.figure.get_size_inches().tolist() == [200 / 96, 130 / 96]
        True
    """

    def __init__(self, width, height):
        self._paper = Node(width / 2, height / 2, width, height)
        with rc_context(style()):
            self._drawn = Figure(
                figsize=(width / PIXELS_PER_INCH, height / PIXELS_PER_INCH)
            )
            self._axes = self._drawn.add_axes((0, 0, 1, 1))
        self._axes.set(xlim=(0, width), ylim=(height, 0))
        self._axes.set_axis_off()
        # 여백을 잘라 내도 그림의 크기가 그대로이게 하는 바탕입니다.
        self._axes.add_patch(
            patches.Rectangle((0, 0), width, height, color="white", zorder=-2)
        )
        self._letters = []  # (글자, 그 글자가 들어가야 할 곳)

    @property
    def figure(self):
        """`matplotlib.figure.Figure`.

        Raises:
            ValueError: 글자가 상자나 그림을 벗어난 때.
        """
        with rc_context(style()):
            self._drawn.draw_without_rendering()
        to_pixels = self._axes.transData.inverted()
        for letters, room in self._letters:
            extent = letters.get_window_extent().transformed(to_pixels)
            taken = Node(
                (extent.x0 + extent.x1) / 2,
                (extent.y0 + extent.y1) / 2,
                abs(extent.width),
                abs(extent.height),
            )
            if not (taken.inside(room) and taken.inside(self._paper)):
                raise ValueError(
                    f"글자 {letters.get_text()!r}이(가) 제자리를 벗어납니다. "
                    f"글자: {taken}. 자리: {room}. 상자를 키우거나 글을 줄여 주세요."
                )
        return self._drawn

    def box(self, label, shape="", *, at, role=None, width=None, height=None):
        """상자를 놓습니다. `role`이 있으면 모난 자료, 없으면 흰색의 둥근 연산입니다.

        Args:
            label: 이름. 여러 줄이어도 됩니다.
            shape: 이름 아래에 작게 적을 모양.
            at: 가운데 (x, y), 픽셀.
            role: `plotting.COLORS`의 이름 또는 None.
            width: 너비. None이면 글에 맞춥니다.
            height: 높이. None이면 줄 수에 맞춥니다.

        Returns:
            `Node`. `arrow`와 `frame`에 넘깁니다.
        """
        lines = label.count("\n") + 1 if label else 0
        below = shape.count("\n") + 1 if shape else 0
        if width is None:
            widest = max(
                (self._measure(t, s) for t, s in ((label, 13), (shape, 11)) if t),
                default=0,
            )
            width = widest + 16
        height = height or 12 + 17 * lines + 14 * below
        node = Node(*at, width, height)
        self._patch(node, role, rounded=role is None)
        shift = (17 * lines - 14 * below) / 2  # 이름과 모양이 나뉘는 곳
        middle = at[1] - (17 * lines + 14 * below) / 2
        if label:
            self._write(label, (at[0], middle + 17 * lines / 2), 13, node)
        if shape:
            self._write(shape, (at[0], at[1] + shift + 7 * below), 11, node, EDGE)
        return node

    def symbol(self, sign, *, at):
        """연산 기호 하나를 작은 동그라미에 적습니다. `Node`를 돌려줍니다."""
        node = Node(*at, 24, 24)
        self._put(node, patches.Circle(at, 12, fc="white", ec=EDGE, lw=1.2, zorder=2))
        self._write(sign, at, 14, node)
        return node

    def cells(self, values, *, at, role=None, cell=26):
        """작은 행렬을 그립니다. 칸마다 수나 글자를 적고, `Node`를 돌려줍니다.

        Args:
            values: 행의 나열. 칸은 문자열이거나 수입니다. None은 빈칸입니다.
            at: 가운데 (x, y), 픽셀.
            role: 칸의 색. 행렬과 같은 모양의 나열이면 칸마다의 색입니다.
            cell: 한 칸의 높이. 너비도 같으나 글이 길면 넓어집니다.
        """
        texts = [["" if v is None else str(v) for v in row] for row in values]
        rows, columns = len(texts), len(texts[0])
        wide = max([cell, *(self._measure(t, 12) + 8 for row in texts for t in row)])
        node = Node(*at, wide * columns, cell * rows)
        for i, row in enumerate(texts):
            for j, text in enumerate(row):
                here = role if role is None or isinstance(role, str) else role[i][j]
                center = (
                    node.x + (j - (columns - 1) / 2) * wide,
                    node.y + (i - (rows - 1) / 2) * cell,
                )
                self._patch(Node(*center, wide, cell), here, rounded=False)
                if text:
                    self._write(text, center, 12, Node(*center, wide, cell))
        return node

    def arrow(self, start, end, label="", *, via=(), role=None, head=True):
        """화살표를 긋습니다. 두 끝은 상자의 변에 닿습니다.

        Args:
            start: `Node` 또는 점 (x, y).
            end: `Node` 또는 점 (x, y). 두 상자가 마주 보면 곧게 긋습니다.
            label: 선의 가장 긴 곳 옆(가로선이면 위)에 적을 글.
            via: 지나갈 점들.
            role: 선의 색.
            head: 화살촉을 그릴지.
        """
        first, last = _ends(start, end, via)
        points = [first, *via, last]
        color = COLORS[role] if role else INK
        if len(points) > 2:
            xs, ys = zip(*points[:-1], strict=True)
            self._axes.plot(xs, ys, color=color, lw=1.3, zorder=1, clip_on=False)
        self._axes.annotate(
            "",
            xy=points[-1],
            xytext=points[-2],
            arrowprops={
                "arrowstyle": "-|>,head_length=0.4,head_width=0.2" if head else "-",
                "color": color,
                "lw": 1.3,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            zorder=1,
        )
        if label:
            (x0, y0), (x1, y1) = _longest(points)
            upright = abs(x0 - x1) < abs(y0 - y1)
            beside = (6, 0) if upright else (0, -10)
            self.text(
                label,
                at=((x0 + x1) / 2 + beside[0], (y0 + y1) / 2 + beside[1]),
                role=role,
                size=11,
                align="left" if upright else "center",
            )

    def frame(self, nodes, label="", *, role=None, pad=12):
        """상자들을 점선으로 두르고 왼쪽 위에 이름을 적습니다. `Node`를 돌려줍니다."""
        left = min(node.left()[0] for node in nodes) - pad
        right = max(node.right()[0] for node in nodes) + pad
        top = min(node.top()[1] for node in nodes) - pad - (16 if label else 0)
        bottom = max(node.bottom()[1] for node in nodes) + pad
        node = Node((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)
        edge, face = _paint(role)
        self._put(
            node,
            patches.Rectangle(
                (left, top), right - left, bottom - top,
                fc=colors.to_rgba(face, 0.35), ec=edge, lw=1.1, ls="--", zorder=-1,
            ),
        )  # fmt: skip
        if label:
            self.text(label, at=(left + 7, top + 11), size=12)
        return node

    def text(self, words, *, at, role=None, align="left", size=12):
        """상자 없이 글을 적습니다. `align`은 `at`에 닿는 쪽입니다."""
        color = COLORS[role] if role else INK
        self._write(words, at, size, self._paper, color, align)

    def _patch(self, node, role, rounded):
        edge, face = _paint(role)
        shape = "round,pad=0,rounding_size=9" if rounded else "square,pad=0"
        self._put(
            node,
            patches.FancyBboxPatch(
                (node.x - node.width / 2, node.y - node.height / 2),
                node.width, node.height,
                boxstyle=shape, fc=face, ec=edge, lw=1.2, zorder=2,
            ),
        )  # fmt: skip

    def _put(self, node, patch):
        if not node.inside(self._paper):
            raise ValueError(f"상자가 그림을 벗어납니다: {node}. 그림: {self._paper}.")
        self._axes.add_patch(patch)

    def _write(self, words, at, size, room, color=INK, align="center"):
        if size < SMALLEST_LETTER:
            raise ValueError(
                f"글자의 크기는 {SMALLEST_LETTER}픽셀부터입니다. 받은 것: {size}."
            )
        with rc_context(style()):
            letters = self._axes.text(
                *at, words, fontsize=size * 72 / PIXELS_PER_INCH, color=color,
                ha=align, va="center", linespacing=1.25, zorder=3,
            )  # fmt: skip
        self._letters.append((letters, room))

    def _measure(self, words, size):
        with rc_context(style()):
            letters = self._axes.text(0, 0, words, fontsize=size * 72 / PIXELS_PER_INCH)
            width = letters.get_window_extent().width
            letters.remove()
        return width * PIXELS_PER_INCH / self._drawn.dpi


def _paint(role):
    """테두리와 바탕의 색. 자료의 바탕은 그 색을 흰 종이에 옅게 칠한 것입니다."""
    if role is None:
        return EDGE, "white"
    red, green, blue = colors.to_rgb(COLORS[role])
    return COLORS[role], tuple(1 - 0.18 * (1 - part) for part in (red, green, blue))


def _ends(start, end, via):
    """선의 두 끝. 마주 보는 두 상자는 겹치는 너비(높이)의 가운데로 곧게 잇습니다."""
    if via:
        return _leave(start, via[0]), _leave(end, via[-1])
    from_, to = _center(start), _center(end)
    if isinstance(start, Node) and isinstance(end, Node):
        across = _shared(start.x, start.width, end.x, end.width)
        along = _shared(start.y, start.height, end.y, end.height)
        if across is not None:
            from_, to = (across, start.y), (across, end.y)
        elif along is not None:
            from_, to = (start.x, along), (end.x, along)
    return _leave(start, to), _leave(end, from_)


def _center(end):
    return (end.x, end.y) if isinstance(end, Node) else end


def _shared(first, first_size, second, second_size):
    """두 구간이 겹치는 곳의 가운데. 겹치지 않으면 None입니다."""
    low = max(first - first_size / 2, second - second_size / 2)
    high = min(first + first_size / 2, second + second_size / 2)
    return (low + high) / 2 if high - low > 4 else None


def _leave(end, point):
    """`point`로 가는 선이 `end`를 떠나는 점. 바로 위아래나 옆이면 곧게 닿습니다."""
    if not isinstance(end, Node):
        return end
    beside, above = abs(point[0] - end.x), abs(point[1] - end.y)
    if beside < end.width / 2 and above > end.height / 2:
        return point[0], (end.top() if point[1] < end.y else end.bottom())[1]
    if above < end.height / 2 and beside > end.width / 2:
        return (end.left() if point[0] < end.x else end.right())[0], point[1]
    return end.towards(point)


def _longest(points):
    return max(
        itertools.pairwise(points),
        key=lambda p: abs(p[0][0] - p[1][0]) + abs(p[0][1] - p[1][1]),
    )
