"""헤드: 넓은 행렬을 헤드로 나누고 다시 잇습니다."""

import numpy as np

from transformer_notes.figures.widgets.markup import Widget, options
from transformer_notes.multi_head_attention import MultiHeadAttention

#: 고를 헤드의 수와 단계. 단계마다 (이름, 덩이의 이름, 읽을 것).
HEADS = (1, 2, 4)
STAGES = (
    ("처음", "", "행이 토큰, 열이 성분입니다."),
    ("reshape", "토큰", "수의 순서는 그대로입니다."),
    ("transpose", "헤드", "헤드마다 모든 토큰의 제 몫이 있습니다."),
    ("다시 이음", "", "축을 되돌리고 이으면 처음과 같습니다."),
    ("reshape만 함", "헤드", "헤드가 여럿이면 모양만 같고, 행이 토큰이 아닙니다."),
)


class HeadSplitter(Widget):
    """헤드의 수를 바꾸며 나누고 잇는 단계를 봅니다 (논문 3.2.2절).

    십의 자리가 토큰, 일의 자리가 성분인 행렬 하나를 나눕니다. 바르게 나누고 잇는 것은
    `MultiHeadAttention`의 메서드이고, 마지막 단계는 축을 바꾸지 않은 것입니다. 색은
    그 성분을 가져야 하는 헤드가 짝수 번째라는 뜻입니다.

    Args:
        length: 토큰의 수, 1부터 9까지의 정수.
        num_heads: 처음의 헤드의 수. `HEADS` 가운데 하나.
        stage: 처음의 단계. `STAGES`의 번호.

    Examples:
        >>> widget = HeadSplitter()
        >>> widget.data()["states"][1][2]["blocks"]  # 헤드 둘, transpose
        [[[11, 12], [21, 22], [31, 32]], [[13, 14], [23, 24], [33, 34]]]
    """

    name, label = "heads", "헤드로 나누고 잇기"

    def __init__(self, length=3, num_heads=2, stage=0):
        self.length, self.stage = length, stage
        self.chosen = HEADS.index(num_heads)

    def data(self):
        stages = range(len(STAGES))
        return {"states": [[self._state(h, s) for s in stages] for h in HEADS]}

    def _state(self, heads, stage):
        _, title, said = STAGES[stage]
        token, column = np.ogrid[1 : self.length + 1, 1 : HEADS[-1] + 1]
        named = (10 * token + column)[np.newaxis]  # (1, length, d_model)
        layer = MultiHeadAttention(d_model=HEADS[-1], num_heads=heads)
        split = layer.split_heads(named, heads)
        made = (
            named,
            named.reshape(self.length, heads, -1),
            split[0],
            layer.join_heads(split),
            named.reshape(heads, self.length, -1),
        )[stage]
        made = np.asarray(made)
        shape = made.shape if title else made.shape[1:]
        return {
            "blocks": made.tolist(),
            "tints": ((made % 10 - 1) * heads // HEADS[-1] % 2).tolist(),
            "title": title,
            "shape": f"({', '.join(map(str, shape))})",
            "said": said,
        }

    def still(self):
        state = self._state(HEADS[self.chosen], self.stage)
        stages, title = [name for name, *_ in STAGES], state["title"]
        blocks = zip(state["blocks"], state["tints"])
        return state | {
            "options": options("heads", "헤드의 수", HEADS, [self.chosen])
            + options("stage", "단계", stages, [self.stage]),
            "blocks": "".join(
                f'<div class="tn-block"><b>{title and f"{title} {at}"}</b>'
                f"{''.join(map(_row, *block))}</div>"
                for at, block in enumerate(blocks, 1)
            ),
        }


def _row(numbers, tints):
    cells = "".join(
        f'<span class="tn-token{" tn-see" * tint}">{number}</span>'
        for number, tint in zip(numbers, tints)
    )
    return f'<div class="tn-row">{cells}</div>'
