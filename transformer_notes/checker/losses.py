"""손실과 정확도: 진짜 토큰만 세는지.

- `loss(labels, logits)`: 정수 (batch, length)와 실수 (batch, length, vocab)을 받아 스칼라를
  돌려줍니다. 패딩의 번호는 0입니다. 이름에 smooth가 든 인자가 있으면 0과 0.1을 넣어 봅니다.
- `accuracy(labels, logits)`: 같은 것을 받아 스칼라를 돌려줍니다.
"""

import numpy as np

SMOOTHING = 0.1
#: 레이블 스무딩에서 ε을 나누는 방식. 앞의 둘은 패딩에 주지 않습니다.
HONEST, TO_PADDING = ("others", "all"), ("others+pad", "all+pad")
#: 30의 두 꼴. 패딩의 몫까지 더하거나, 더하지는 않고 나누기만 합니다.
SUMMED, DIVIDED = "더하고 나눔", "나누기만"


def log_softmax(z):
    """마지막 축의 로그 소프트맥스. float64."""
    z = np.asarray(z, np.float64)
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def targets(labels, vocab_size, smoothing, sharing):
    """목표 분포 q. float64 (batch, length, vocab)."""
    hot = np.eye(vocab_size)[labels]
    allowed = np.ones(vocab_size)
    if not sharing.endswith("+pad"):
        allowed[0] = 0
    share = np.broadcast_to(allowed, hot.shape)
    if sharing.startswith("others"):
        share = share * (1 - hot)
    share = share / np.maximum(share.sum(-1, keepdims=True), 1)
    return (1 - smoothing) * hot + smoothing * share


def loss(labels, logits, *, smoothing=0.0, sharing="others", twice=False, padding=None):
    """기준 손실. 실수마다 스위치가 하나입니다.

    Args:
        labels: 정수 (batch, length).
        logits: 실수 (batch, length, vocab).
        smoothing: 레이블 스무딩의 ε.
        sharing: ε을 나누는 방식 (실수 33).
        twice: 소프트맥스를 두 번 씌울지 (실수 29).
        padding: None이면 진짜 토큰만, 아니면 `SUMMED`나 `DIVIDED` (실수 30).

    Returns:
        파이썬 실수.
    """
    z = np.exp(log_softmax(logits)) if twice else logits
    q = targets(labels, np.shape(logits)[-1], smoothing, sharing)
    each = -(q * log_softmax(z)).sum(-1)  # (batch, length)
    return average(each, labels, padding)


def accuracy(labels, logits, *, padding=None):
    """기준 정확도. 인자는 `loss`와 같습니다."""
    return average(np.argmax(logits, -1) == labels, labels, padding)


def average(each, labels, padding):
    """토큰마다의 값을 평균합니다."""
    real = labels != 0
    counted = np.ones_like(real) if padding == SUMMED else real
    return float((each * counted).sum() / (real.sum() if padding is None else real.size))
