"""소프트맥스와 √d_k: 나눌 때와 나누지 않을 때의 가중치와 기울기."""

import numpy as np
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes.figures.widgets.markup import Widget, slider

#: 손잡이가 서는 d_k.
DIMENSIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class SoftmaxExplorer(Widget):
    r"""d_k를 옮기며 소프트맥스의 가중치와 기울기를 봅니다 (논문 3.2.1절).

    쿼리 하나와 키 여럿을 표준 정규 분포에서 뽑아 두고 앞의 d_k 성분만 씁니다. 왼쪽은
    내적을 :math:`\sqrt{d_k}`\ 로 나눈 것, 오른쪽은 그대로 둔 것입니다. 위의 막대가
    가중치 :math:`\alpha_i`, 아래가 기울기
    :math:`\partial \alpha_i / \partial s_i = \alpha_i (1 - \alpha_i)`\ 입니다.

    Args:
        num_keys: 키의 수, 2부터 16까지의 정수.
        d_k: 처음의 차원. `DIMENSIONS` 가운데 하나.
        seed: 벡터를 뽑는 시드, 0 이상의 정수.

    Attributes:
        weights: "scaled"와 "plain"마다 float64, (d_k의 수, num_keys).

    Examples:
        >>> widget = SoftmaxExplorer()
        >>> scaled, plain = (widget.weights[side][-1] for side in ("scaled", "plain"))
        >>> bool(plain.max() > 0.99 > 0.6 > scaled.max())
        True
    """

    name, label = "softmax", "소프트맥스와 √d_k"

    def __init__(self, num_keys=8, d_k=64, seed=0):
        self.chosen = DIMENSIONS.index(d_k)
        rng = np.random.default_rng(seed)
        query = rng.standard_normal(DIMENSIONS[-1])
        key = rng.standard_normal((num_keys, DIMENSIONS[-1]))
        products = np.stack([key[:, :d] @ query[:d] for d in DIMENSIONS])
        divisors = {"scaled": np.sqrt(DIMENSIONS)[:, np.newaxis], "plain": 1.0}
        self.weights = {
            side: _tensors.masked_softmax(tf.constant(products / divisor)).numpy()
            for side, divisor in divisors.items()
        }  # 저마다 (d_k의 수, num_keys)

    def data(self):
        read = {side: readings(weights) for side, weights in self.weights.items()}
        weights = {side: w.round(4).tolist() for side, w in self.weights.items()}
        return {"dimensions": DIMENSIONS, "weights": weights, "read": read}

    def still(self):
        read, values = self.data()["read"], {}
        for side, every in self.weights.items():
            weights = every[self.chosen]
            values[f"{side}_weight"] = _bars(weights)
            values[f"{side}_slope"] = _bars(weights * (1 - weights))
            for row, shown in read[side].items():
                values[f"{side}_{row}"] = shown[self.chosen]
        last, place = len(DIMENSIONS) - 1, self.chosen
        words, d_k = "키의 차원 <i>d</i><sub>k</sub> =", DIMENSIONS[place]
        return values | {"sliders": slider("d_k", words, 0, last, place, d_k)}


def _bars(heights):
    slot = 152 / len(heights)
    return "".join(
        f'<rect x="{slot * place + 1:.1f}" width="{slot - 2:.1f}" '
        f'height="{height:.4f}"/>'
        for place, height in enumerate(heights)
    )


def readings(weights):
    r"""가중치의 행마다 읽을 수: 가장 큰 것, 실제로 보는 키의 수, 기울기의 노름.

    보는 키의 수는 엔트로피가 H비트일 때 :math:`2^H`, 기울기의 노름은 야코비안
    :math:`\mathrm{diag}(\alpha) - \alpha \alpha^\top`\ 의 프로베니우스 노름입니다.

    Args:
        weights: 실수, (행의 수, length_k).

    Returns:
        이름마다 글의 목록.
    """
    safe = np.maximum(weights, 1e-300)  # 0인 가중치에서 log 0을 피합니다
    entropy = -(weights * np.log2(safe)).sum(axis=-1)
    to_others = np.eye(weights.shape[-1]) - weights[:, np.newaxis, :]
    jacobian = weights[:, :, np.newaxis] * to_others
    norm = np.linalg.norm(jacobian, axis=(1, 2))
    return {
        "largest": [f"{value:.3f}" for value in weights.max(axis=-1)],
        "keys": [f"{value:.1f}" for value in 2**entropy],
        "norm": [f"{value:.4f}" for value in norm],
    }
