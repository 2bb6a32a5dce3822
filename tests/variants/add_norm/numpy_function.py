"""가중치 없는 NumPy 함수: γ는 1, β는 0, ε은 분산에 더합니다."""

import numpy as np


def add_and_norm(x, sub, eps=1e-5):
    s = x + sub
    mean = s.mean(axis=-1, keepdims=True)
    var = ((s - mean) ** 2).mean(axis=-1, keepdims=True)
    return (s - mean) / np.sqrt(var + eps)


candidate = add_and_norm
