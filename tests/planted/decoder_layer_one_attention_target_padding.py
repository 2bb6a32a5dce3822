"""NumPy: the same four matrices for both attentions, and the same mask for both."""

import numpy as np


def ln(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


class Decoder:
    def __init__(self, d_model, num_heads, d_ff):
        rng = np.random.default_rng(3)
        self.h = num_heads
        self.w = rng.normal(0, d_model**-0.5, (4, d_model, d_model))
        self.up = rng.normal(0, d_model**-0.5, (d_model, d_ff))
        self.down = rng.normal(0, d_ff**-0.5, (d_ff, d_model))

    def attend(self, x, y, mask):
        q, k, v = (
            (t @ w).reshape(*t.shape[:2], self.h, -1).transpose(0, 2, 1, 3)
            for t, w in zip((x, y, y), self.w)
        )
        s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        if mask is not None:
            s = np.where(mask, s, -1e9)
        p = np.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        return (p @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ self.w[3]

    def __call__(self, x, memory, self_mask=None, memory_mask=None):
        x = ln(x + self.attend(x, x, self_mask))
        x = ln(x + self.attend(x, memory, self_mask))
        return ln(x + np.maximum(0, x @ self.up) @ self.down)


candidate = Decoder
mistakes = (7, 25)
