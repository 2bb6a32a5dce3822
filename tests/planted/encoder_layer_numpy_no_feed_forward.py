"""피드포워드를 만들고 부르지 않은 NumPy 사람."""

import numpy as np


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Layer:
    def __init__(self, d, heads, d_ff):
        rng = np.random.default_rng(3)
        self.heads = heads
        self.attention = [rng.normal(0, d**-0.5, (4, d, d)) for _ in range(1)]
        self.w1 = rng.normal(0, d**-0.5, (d, d_ff))
        self.w2 = rng.normal(0, d_ff**-0.5, (d_ff, d))
        self.scales = rng.normal(1, 0.3, (1 + 1, d))

    def norm(self, x, i):
        x = x - x.mean(-1, keepdims=True)
        return self.scales[i] * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)

    def attend(self, i, x, y, mask):
        def split(z, w):
            return (z @ w).reshape(*z.shape[:2], self.heads, -1).swapaxes(1, 2)

        wq, wk, wv, wo = self.attention[i]
        q, k, v = split(x, wq), split(y, wk), split(y, wv)
        s = q @ k.swapaxes(2, 3) / q.shape[-1] ** 0.5
        w = softmax(np.where(np.asarray(mask, bool), s, -1e9))
        return (w @ v).swapaxes(1, 2).reshape(x.shape) @ wo

    def feed_forward(self, x):
        return np.maximum(x @ self.w1, 0) @ self.w2

    def __call__(self, x, mask):
        return self.norm(x + self.attend(0, x, x, mask), 0)


candidate = Layer
mistakes = (52,)
