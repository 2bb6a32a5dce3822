"""빔 탐색을 한 스텝씩: 나무에서 무엇을 남기고 무엇을 버리는가."""

import math
from dataclasses import dataclass, field

from transformer_notes import _arguments
from transformer_notes.figures.widgets.markup import (
    Widget,
    number,
    options,
    slider,
    text,
)

BEAM_SIZES = (1, 2, 3, 4)
#: 손잡이가 서는 길이 벌점의 알파.
ALPHAS = tuple(step / 10 for step in range(11))
BEGIN, END = "<bos>", "<eos>"
COLUMN, LEVEL = 68, 52


@dataclass
class Node:
    """답의 앞부분 하나. `place`는 나무에서의 번호입니다."""

    place: int
    words: tuple
    parent: "Node | None"
    p: float  # 이 앞부분으로 시작하는 답의 확률
    children: list = field(default_factory=list)

    @property
    def log_p(self):
        return math.log(self.p)

    def score(self, alpha):
        return self.log_p / ((5 + len(self.words)) / 6) ** alpha


class DecodingTree(Widget):
    r"""답의 나무에서 빔의 크기와 길이 벌점을 바꾸며 빔 탐색을 따라갑니다 (논문 6.1절).

    답마다의 확률에서 다음 토큰의 확률이 정해집니다. 점수는 `decoding.beam_search`의
    :math:`s(y) = \log p(y) / ((5 + |y|) / 6)^\alpha`\ 이고, 길이는 `<eos>`까지 셉니다.

    Args:
        answers: 답마다의 확률이나 수. 답은 토큰을 빈칸으로 띄어 쓴 글이고 값은 0보다 큰
            수입니다. 더해서 1이 되게 나누어 씁니다.
        beam_size: 처음의 빔의 크기, 1부터 4까지의 정수.
        length_penalty: 처음의 알파. 0부터 1까지 0.1 간격의 수.

    Raises:
        ValueError: 손잡이에 없는 `beam_size`나 `length_penalty`.

    Examples:
        >>> widget = DecodingTree({"I read": 0.6, "read": 0.4})
        >>> [" ".join(node.words) for node in widget.search(2, 0.0)[-1]]
        ['I read <eos>', 'read <eos>']
    """

    name, label = "decoding_tree", "빔 탐색의 나무"

    def __init__(self, answers, beam_size=4, length_penalty=0.6):
        self.beam_size = _arguments.choice("beam_size", beam_size, BEAM_SIZES)
        self.alpha = _arguments.choice("length_penalty", length_penalty, ALPHAS)
        chances = {(*text.split(), END): chance for text, chance in answers.items()}
        self.nodes = []
        self._grow((), None, chances, sum(chances.values()))

    def _grow(self, words, parent, chances, whole):
        """words로 시작하는 답들로 가지를 냅니다. 답이 주어진 순서를 따릅니다."""
        inside = {a: p for a, p in chances.items() if a[: len(words)] == words}
        node = Node(len(self.nodes), words, parent, sum(inside.values()) / whole)
        self.nodes.append(node)
        longer = (a[: len(words) + 1] for a in inside if len(a) > len(words))
        for branch in dict.fromkeys(longer):
            node.children.append(self._grow(branch, node, inside, whole))
        return node

    def search(self, beam_size, alpha):
        """스텝마다 남긴 답의 앞부분. 점수가 높은 것부터인 `Node`의 목록들입니다."""
        steps = [[self.nodes[0]]]
        while any(node.children for node in steps[-1]):
            # 끝난 답은 자라지 않고 그대로 다음 스텝의 후보가 됩니다.
            candidates = [c for node in steps[-1] for c in node.children or [node]]
            candidates.sort(key=lambda node: node.score(alpha), reverse=True)
            steps.append(candidates[:beam_size])
        return steps

    def data(self):
        return {
            "parents": [node.parent and node.parent.place for node in self.nodes],
            "answers": [" ".join(node.words) for node in self.nodes],
            "chances": [_chance(node) for node in self.nodes],
            "log_p": [round(node.log_p, 6) for node in self.nodes],
            "lengths": [len(node.words) for node in self.nodes],
            "alphas": ALPHAS,
            "steps": [
                [
                    [[node.place for node in kept] for kept in self.search(size, alpha)]
                    for alpha in ALPHAS
                ]
                for size in BEAM_SIZES
            ],
        }

    def still(self):
        place = ALPHAS.index(self.alpha)
        alpha = ALPHAS[place]  # 1로 주어도 1.0으로 적힙니다
        steps = self.search(self.beam_size, alpha)
        ranks = {node.place: rank for rank, node in enumerate(steps[-1], 1)}
        passed = {node.place for kept in steps[:-1] for node in kept}
        across, down = self._columns(), [LEVEL * len(n.words) + 22 for n in self.nodes]

        def edge(node):
            x, y = across[node.parent.place], down[node.parent.place]
            to = f"H{across[node.place]:.1f}V{down[node.place]}"
            return f'<path d="M{x:.1f} {y}{to}" class="tn-edge"/>'

        def box(node):
            rank = ranks.get(node.place, "")
            inside = number(node.score(alpha)) if rank else _chance(node)
            return (
                f'<g class="tn-node {_state(node, ranks, passed)}" transform='
                f'"translate({across[node.place]:.1f} {down[node.place]})">'
                '<rect x="-31" y="-18" width="62" height="36" rx="3"/>'
                f'<text x="0" y="-3">{text(node.words[-1] if node.words else BEGIN)}'
                f'</text><text x="0" y="12" class="tn-number">{inside}</text>'
                f'<text x="-29" y="-20" class="tn-rank">{rank}</text></g>'
            )

        lines = [f"<li>{text(_line(node, alpha))}</li>" for node in steps[-1]]
        lines += ['<li hidden=""></li>'] * (max(BEAM_SIZES) - len(lines))
        return {
            "beams": options(
                "beam", "빔의 크기", BEAM_SIZES, [BEAM_SIZES.index(self.beam_size)]
            ),
            "sliders": slider(
                "alpha", "길이 벌점 α =", 0, len(ALPHAS) - 1, place, alpha
            )
            + slider("step", "스텝", 0, len(steps) - 1, len(steps) - 1),
            "width": COLUMN * sum(not node.children for node in self.nodes),
            "height": LEVEL * max(len(node.words) for node in self.nodes) + 44,
            "edges": "".join(map(edge, self.nodes[1:])),
            "boxes": "".join(map(box, self.nodes)),
            "lines": "".join(lines),
        }

    def _columns(self):
        """마디마다의 가로 자리. 잎은 고르게 서고, 나머지는 자식들의 가운데입니다."""
        leaves = [node.place for node in self.nodes if not node.children]
        across = {place: COLUMN * (i + 0.5) for i, place in enumerate(leaves)}
        for node in reversed(self.nodes):  # 자식이 늘 뒤에 있습니다
            if node.children:
                places = [across[child.place] for child in node.children]
                across[node.place] = sum(places) / len(places)
        return across


def _state(node, kept, passed):
    """남긴 것, 지나온 것, 버린 것, 아직 보지 않은 것."""
    if node.place in kept:
        return "tn-kept"
    if node.place in passed:
        return "tn-passed"
    return "tn-dropped" if node.parent and node.parent.place in passed else ""


def _chance(node):
    """앞이 정해졌을 때 이 토큰의 확률."""
    return f"{node.p / node.parent.p:.2f}" if node.parent else ""


def _line(node, alpha):
    return f"{' '.join(node.words)}: s = {number(node.score(alpha))}"
