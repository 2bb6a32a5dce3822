"""NumPy: reshape로만 헤드를 나누고, 나누기도 잊은 사람."""

import numpy as np


class Heads:
    def __init__(self, d_model, num_heads):
        rng = np.random.default_rng(5)
        self.h, self.size = num_heads, d_model // num_heads
        self.w = rng.normal(0, d_model**-0.5, (4, d_model, d_model))

    def __call__(self, query, key, value, mask=None):
        b = len(query)
        q, k, v = (
            (x @ w).reshape(b, self.h, -1, self.size)
            for x, w in zip((query, key, value), self.w)
        )
        s = q @ k.swapaxes(-1, -2)
        if mask is not None:
            s = np.where(mask, s, -1e9)
        p = np.exp(s - s.max(-1, keepdims=True))
        p = p / p.sum(-1, keepdims=True)
        return (p @ v).reshape(query.shape) @ self.w[3], p


candidate = Heads
mistakes = (8, 10)
