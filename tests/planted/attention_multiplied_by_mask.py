"""점수에 0/1 마스크를 곱하면 가려진다고 믿는 NumPy 사람."""

import numpy as np


def attend(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    if mask is not None:
        scores = scores * mask
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ v, weights


candidate = attend
mistakes = (3,)
