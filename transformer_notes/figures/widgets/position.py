"""위치 인코딩: 파장, 시곗바늘, 회전, 위치 사이의 유사도."""

from transformer_notes.figures.widgets.markup import Widget, number, slider
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

    Examples:
        >>> PositionExplorer(length=50, d_model=64, pair=4).data()
        {'models': (4, 8, 16, 32, 64, 128, 256, 512)}
    """

    name, label = "position", "위치 인코딩"

    def __init__(self, length=50, d_model=64, pair=4, position=6, offset=5):
        self.length, self.d_model = length, d_model
        self.pair, self.position, self.offset = pair, position, offset

    def data(self):
        return {"models": D_MODELS}

    def still(self):
        table = sinusoidal_encoding(self.length, self.d_model).numpy()
        here, there = self.position, self.position + self.offset
        last, place = self.length - 1, D_MODELS.index(self.d_model)
        sine, cosine = table[:, 2 * self.pair], table[:, 2 * self.pair + 1]
        likeness = table @ table[here] / (self.d_model / 2)  # 노름이 모두 같습니다
        rate = 10000.0 ** (-2 * self.pair / self.d_model)
        return {
            "sliders": slider("positions", "길이", 2, LONGEST, self.length)
            + slider(
                "model",
                "<i>d</i><sub>model</sub>",
                0,
                len(D_MODELS) - 1,
                place,
                self.d_model,
            )
            + slider("pair", "쌍 i", 0, self.d_model // 2 - 1, self.pair)
            + slider("position", "위치 pos", 0, last, here)
            + slider("offset", "이동 k", 0, last - here, self.offset),
            "sine": _points(sine),
            "cosine": _points(cosine),
            "likeness": _points(likeness),
            "here": f"{here / last:.4f}",
            "there": f"{there / last:.4f}",
            "sine_here": f"{sine[here]:.4f}",
            "sine_there": f"{sine[there]:.4f}",
            "cosine_here": f"{cosine[here]:.4f}",
            "cosine_there": f"{cosine[there]:.4f}",
            "likeness_there": f"{likeness[there]:.4f}",
            "rate": number(rate, 4),
            "turn": number(rate * self.offset, 3),
            "said_sine": number(sine[here], 3),
            "said_cosine": number(cosine[here], 3),
            "moved_sine": number(sine[there], 3),
            "moved_cosine": number(cosine[there], 3),
            "said_likeness": number(likeness[there], 3),
        }


def _points(values):
    """가로를 0에서 1로 나눈 곡선."""
    end = len(values) - 1
    return " ".join(f"{place / end:.4f},{v:.4f}" for place, v in enumerate(values))
