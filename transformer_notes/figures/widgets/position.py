"""위치 인코딩: 파장, 시곗바늘, 회전, 위치 사이의 유사도."""

import numpy as np

from transformer_notes import _arguments
from transformer_notes.figures.widgets.markup import (
    Widget,
    controls,
    drawing,
    element,
    letters,
    number,
    out,
    said,
    slider,
)
from transformer_notes.positional_encoding import sinusoidal_encoding

#: 손잡이로 고를 d_model과 가장 긴 길이.
D_MODELS = (4, 8, 16, 32, 64, 128, 256, 512)
LONGEST = 128


class PositionExplorer(Widget):
    r"""사인파 위치 인코딩의 쌍 하나를 곡선과 시곗바늘로 봅니다 (논문 3.5절).

    위에서부터 쌍 i의 사인과 코사인, 두 값이 가리키는 바늘, 고른 위치와 나머지 위치의
    코사인 유사도입니다. 위치가 k만큼 옮겨 가면 바늘은 어느 위치에서든
    :math:`k \omega_i`\ 만큼 돕니다. 여기서
    :math:`\omega_i = 10000^{-2i/d_\text{model}}`\ 입니다.

    Args:
        length: 위치의 수, 2부터 128까지의 정수.
        d_model: 차원. `D_MODELS` 가운데 하나.
        pair: 쌍의 번호 i, 0부터 d_model / 2 - 1까지의 정수.
        position: 고른 위치, 0부터 length - 1까지의 정수.
        offset: 옮겨 갈 만큼, 0부터 length - 1 - position까지의 정수.

    Raises:
        TypeError: 정수가 아닌 인자.
        ValueError: 범위를 벗어난 인자.

    Examples:
        >>> PositionExplorer(length=50, d_model=64, pair=4).data()
        {'models': (4, 8, 16, 32, 64, 128, 256, 512)}
    """

    name, label = "position", "위치 인코딩"

    def __init__(self, length=50, d_model=64, pair=4, position=6, offset=5):
        self.length = _within("length", length, 2, LONGEST)
        self.d_model = _arguments.choice("d_model", d_model, D_MODELS)
        self.pair = _within("pair", pair, 0, d_model // 2 - 1)
        self.position = _within("position", position, 0, length - 1)
        self.offset = _within("offset", offset, 0, length - 1 - position)

    def data(self):
        return {"models": D_MODELS}

    def still(self):
        table = sinusoidal_encoding(self.length, self.d_model).numpy()
        here, there = self.position, self.position + self.offset
        waves = table[:, 2 * self.pair : 2 * self.pair + 2]  # (length, 2)
        likeness = table @ table[here] / (self.d_model / 2)  # 노름이 모두 같습니다
        rate = 10000.0 ** (-2 * self.pair / self.d_model)
        return element(
            "div",
            controls(
                slider("positions", "길이", self.length, LONGEST, 2),
                slider(
                    "model",
                    "d_model",
                    D_MODELS.index(self.d_model),
                    len(D_MODELS) - 1,
                    shown=self.d_model,
                ),
                slider("pair", "쌍 i", self.pair, self.d_model // 2 - 1),
                slider("position", "위치 pos", here, self.length - 1),
                slider("offset", "이동 k", self.offset, self.length - 1 - here),
            ),
            drawing(
                340,
                372,
                letters("쌍 i의 사인(실선)과 코사인(점선)", 8, 16, class_="tn-title"),
                _plot(
                    "wave", 24, waves, (here, waves[here, 0]), (there, waves[there, 0])
                ),
                letters("바늘: pos에서 pos + k로", 8, 146, class_="tn-title"),
                *self._clock(waves[here], waves[there]),
                letters("pos와 다른 위치의 유사도", 8, 280, class_="tn-title"),
                _plot(
                    "likeness",
                    286,
                    likeness[:, np.newaxis],
                    (here, 1.0),
                    (there, likeness[there]),
                ),
                label="위는 위치에 따른 사인과 코사인의 곡선, 가운데는 두 위치를 "
                "가리키는 바늘, 아래는 고른 위치와 나머지 위치의 유사도 곡선",
            ),
            said(
                "쌍 i의 바늘은 위치 하나에 ",
                out("rate", number(rate, 4)),
                "라디안씩 돕니다. PE(pos, 2i) = ",
                out("sine", number(waves[here, 0], 3)),
                ", PE(pos, 2i+1) = ",
                out("cosine", number(waves[here, 1], 3)),
                ". k만큼 옮기면 ",
                out("turn", number(rate * self.offset, 3)),
                "라디안 돌아 (",
                out("moved-sine", number(waves[there, 0], 3)),
                ", ",
                out("moved-cosine", number(waves[there, 1], 3)),
                ")이 되고, 두 위치의 유사도는 ",
                out("likeness", number(likeness[there], 3)),
                "입니다.",
            ),
        )

    def _clock(self, here, there):
        # 코사인이 가로, 사인이 세로입니다. 위치가 커지면 바늘이 시계 반대로 돕니다.
        yield element(
            "g",
            element("circle", r=1, class_="tn-face"),
            *(
                element(
                    "line", x2=f"{end[1]:.4f}", y2=f"{end[0]:.4f}", class_=f"tn-{which}"
                )
                for which, end in (("there", there), ("here", here))
            ),
            transform="translate(70 204) scale(48 -48)",
            data_clock=True,
        )
        for place, (which, words) in enumerate((("here", "pos"), ("there", "pos + k"))):
            y = 192 + 26 * place
            yield element("line", x1=150, x2=190, y1=y, y2=y, class_=f"tn-{which}")
            yield letters(words, 200, y + 4)


def _plot(name, top, columns, here, there):
    """가로가 위치(0에서 1), 세로가 값(-1에서 1)인 그래프. 높이는 100입니다."""
    end = len(columns) - 1
    lines = (
        element(
            "polyline",
            points=" ".join(
                f"{place / end:.4f},{value:.4f}" for place, value in enumerate(column)
            ),
            class_=kind,
        )
        for kind, column in zip(("tn-sine", "tn-cosine"), np.transpose(columns))
    )
    dots = (
        # 길이가 0인 선의 둥근 끝이 점입니다.
        element(
            "path", d=f"M{place / end:.4f} {value:.4f}h0", class_=f"tn-{which} tn-dot"
        )
        for which, (place, value) in (("there", there), ("here", here))
    )
    axis = element("line", x2=1, class_="tn-axis")
    return element(
        "g",
        axis,
        *lines,
        *dots,
        transform=f"translate(10 {top + 50}) scale(320 -42)",
        data_plot=name,
    )


def _within(name, value, least, most):
    value = _arguments.integer(name, value)
    if not least <= value <= most:
        raise ValueError(
            f"{name}에는 {least}부터 {most}까지의 정수가 필요합니다. 받은 것: {value}."
        )
    return value
