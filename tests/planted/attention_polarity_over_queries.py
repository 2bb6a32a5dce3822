"""Turns the mask round and normalises over the queries."""

import numpy as np


def attention(q, k, v, mask=None):
    s = np.einsum("...qd,...kd->...qk", q, k) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, -1e9, s)
    e = np.exp(s - s.max(axis=-2, keepdims=True))
    w = e / e.sum(axis=-2, keepdims=True)
    return np.einsum("...qk,...kd->...qd", w, v), w


candidate = attention
mistakes = (2, 9)
