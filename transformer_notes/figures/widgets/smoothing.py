"""레이블 스무딩: 정답의 로짓을 키울 때 손실이 어디에서 가장 작은지 봅니다."""

import numpy as np

from transformer_notes.figures.widgets.markup import Widget, slider
from transformer_notes.training import masked_cross_entropy

#: 어휘 집합의 크기와, 곡선을 그리는 로짓의 차이. 손잡이 한 칸은 0.25입니다.
SIZES = (4, 16, 64, 256)
GAPS = tuple(n / 4 for n in range(49))


class SmoothingExplorer(Widget):
    r"""ε과 로짓의 차이를 바꾸며 목표와 확률과 손실을 봅니다 (논문 5.4절).

    정답의 로짓만 나머지보다 크고 나머지끼리는 같으며, 패딩의 확률은 0인 모델입니다.
    손실은 `training.masked_cross_entropy`의 것이고, 차이가
    :math:`\log \frac{(1 - \epsilon)(V - 2)}{\epsilon}`\ 일 때 가장 작습니다.

    Args:
        epsilon: 처음의 ε. 0부터 0.5까지, 0.05의 배수.
        gap: 처음의 차이. `GAPS` 가운데 하나.
        vocab_size: 처음의 어휘 집합의 크기. `SIZES` 가운데 하나.

    Examples:
        >>> SmoothingExplorer(epsilon=0.1, gap=8.0).still()["lowest"]
        '차이가 4.84일 때 가장 작아 0.589입니다.'
    """

    name, label = "smoothing", "레이블 스무딩"

    def __init__(self, epsilon=0.1, gap=3.0, vocab_size=16):
        self.epsilon, self.gap, self.vocab_size = epsilon, gap, vocab_size

    def data(self):
        return {"sizes": SIZES, "gaps": GAPS}

    def _loss(self, gaps, epsilon):
        """차이마다의 손실. 정답은 1번, 패딩은 0번입니다."""
        logits = np.zeros((len(gaps), 1, self.vocab_size))
        logits[..., 0], logits[:, 0, 1] = -1e9, gaps
        return [
            float(masked_cross_entropy([[1]], [one], label_smoothing=epsilon))
            for one in logits
        ]

    def still(self):
        epsilon, others = self.epsilon, self.vocab_size - 2
        total = np.exp(self.gap) + others
        smooth, plain = self._loss(GAPS, epsilon), self._loss(GAPS, 0)
        loss, high = smooth[GAPS.index(self.gap)], max(smooth[0], smooth[-1])
        lowest = "차이가 클수록 작아집니다."
        if epsilon:
            best = np.log((1 - epsilon) * others / epsilon)
            (least,) = self._loss([best], epsilon)
            lowest = f"차이가 {best:.2f}일 때 가장 작아 {least:.3f}입니다."
        size = SIZES.index(self.vocab_size)
        return {
            "sliders": slider(
                "epsilon", "ε", 0, 10, round(20 * epsilon), f"{epsilon:.2f}"
            )
            + slider(
                "gap", "로짓의 차이", 0, 48, round(4 * self.gap), f"{self.gap:.2f}"
            )
            + slider("vocab", "어휘 집합 <i>V</i>", 0, 3, size, self.vocab_size),
            "plain": _points(plain, high),
            "smooth": _points(smooth, high),
            "here": f"{self.gap / 12:.4f}",
            "here_loss": f"{loss / high:.4f}",
            "q": f"{1 - epsilon:.3f}",
            "q_other": f"{epsilon / others:.3f}",
            "p": f"{np.exp(self.gap) / total:.3f}",
            "p_other": f"{1 / total:.3f}",
            "loss": f"{loss:.3f}",
            "lowest": lowest,
        }


def _points(losses, high):
    return " ".join(
        f"{gap / 12:.4f},{loss / high:.4f}" for gap, loss in zip(GAPS, losses)
    )
