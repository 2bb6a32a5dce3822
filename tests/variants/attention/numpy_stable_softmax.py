"""NumPy로 소프트맥스까지 손으로 쓴 사람. 최댓값을 뺍니다."""

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def candidate(Q, K, V, M=None):
    S = Q @ np.swapaxes(K, -1, -2) / np.sqrt(Q.shape[-1])
    if M is not None:
        S = np.where(M, S, -1e9)
    A = softmax(S)
    return A @ V, A
