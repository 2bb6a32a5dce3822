"""NumPy로 쓰면서 ReLU의 자리를 잘못 기억한 사람: 사이에는 없고 끝에만 있습니다."""

import numpy as np


class FeedForward:
    def __init__(self, d_model, d_ff):
        rng = np.random.default_rng(2)
        self.w1 = rng.normal(0, d_model**-0.5, (d_model, d_ff))
        self.w2 = rng.normal(0, d_ff**-0.5, (d_ff, d_model))
        self.b1, self.b2 = np.zeros(d_ff), np.zeros(d_model)

    def __call__(self, x):
        return np.maximum(0, (x @ self.w1 + self.b1) @ self.w2 + self.b2)


candidate = FeedForward
mistakes = (23, 24)
