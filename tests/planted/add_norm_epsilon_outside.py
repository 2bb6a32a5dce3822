"""NumPy: the variance is right, but a large ε is added after the root."""

import numpy as np


def add_norm(x, fx, eps=1e-3):
    s = x + fx
    centred = s - s.mean(axis=-1, keepdims=True)
    return centred / (np.sqrt(np.mean(centred**2, axis=-1, keepdims=True)) + eps)


candidate = add_norm
mistakes = (26,)
