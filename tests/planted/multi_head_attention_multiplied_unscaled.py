"""Multiplies the scores by the mask, head by head, and forgets the square root."""

import numpy as np


def make(d_model, num_heads):
    rng = np.random.default_rng(9)
    size = d_model // num_heads
    wq, wk, wv = rng.normal(0, d_model**-0.5, (3, num_heads, d_model, size))
    wo = rng.normal(0, d_model**-0.5, (d_model, d_model))

    def attend(query, key, value, mask=None):
        heads = []
        for h in range(num_heads):
            s = (query @ wq[h]) @ np.swapaxes(key @ wk[h], 1, 2)
            if mask is not None:
                s = s * mask[:, 0]
            p = np.exp(s - s.max(-1, keepdims=True))
            heads.append(p / p.sum(-1, keepdims=True) @ (value @ wv[h]))
        return np.concatenate(heads, axis=-1) @ wo

    return attend


candidate = make
mistakes = (3, 8)
