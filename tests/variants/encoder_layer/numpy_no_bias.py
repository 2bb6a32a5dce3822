"""NumPy만으로 층 전체를 쓴 사람: 편향도 γ와 β도 없고, 정규화는 나중에 합니다."""

import numpy as np


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)


class NumpyEncoderLayer:
    def __init__(self, d_model, num_heads, d_ff):
        rng = np.random.default_rng(7)
        self.h = num_heads
        self.wqkv = rng.normal(0, d_model**-0.5, (3, d_model, d_model))
        self.wo = rng.normal(0, d_model**-0.5, (d_model, d_model))
        self.w1 = rng.normal(0, d_model**-0.5, (d_model, d_ff))
        self.w2 = rng.normal(0, d_ff**-0.5, (d_ff, d_model))

    def self_attention(self, x, mask):
        b, n, d = x.shape
        q, k, v = np.einsum("bnd,wde->wbne", x, self.wqkv).reshape(
            3, b, n, self.h, d // self.h
        )
        s = np.einsum("bqhe,bkhe->bhqk", q, k) / np.sqrt(d / self.h)
        if mask is not None:
            s = s + np.where(mask, 0.0, -1e9)
        a = np.exp(s - s.max(-1, keepdims=True))
        a = a / a.sum(-1, keepdims=True)
        return np.einsum("bhqk,bkhe->bqhe", a, v).reshape(b, n, d) @ self.wo

    def __call__(self, x, mask=None):
        x = norm(x + self.self_attention(x, mask))
        return norm(x + np.clip(x @ self.w1, 0, None) @ self.w2)


candidate = NumpyEncoderLayer
