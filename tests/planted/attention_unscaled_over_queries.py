"""NumPy 소프트맥스에서 축을 착각하고 나누기도 잊은 사람."""

import numpy as np


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def candidate(Q, K, V, mask=None):
    S = np.matmul(Q, np.swapaxes(K, -2, -1))
    if mask is not None:
        S = np.where(mask, S, -1e9)
    return np.matmul(softmax(S, axis=-2), V)


mistakes = (8, 9)
