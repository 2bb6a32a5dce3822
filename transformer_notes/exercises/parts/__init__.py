"""인코더 층과 디코더 층의 뼈대가 가져오는, NumPy로 쓴 부품입니다.

배율과 편향까지 무작위로 시작합니다. 0이나 1이면 잘못 이은 층도 같은 값을 냅니다.
"""

import numpy as np


class MultiHeadAttention:
    """멀티 헤드 어텐션. 마스크는 불리언이고 True인 자리만 봅니다."""

    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.w_query, self.w_key, self.w_value, self.w_output = np.random.normal(
            0, d_model**-0.5, (4, d_model, d_model)
        )

    def __call__(self, query, key, value, attention_mask=None):
        """(batch, n_q, d_model), (batch, n_k, d_model) 둘 -> (batch, n_q, d_model)."""
        q = self.split(query @ self.w_query)  # (batch, heads, n_q, d_k)
        k = self.split(key @ self.w_key)
        v = self.split(value @ self.w_value)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        if attention_mask is not None:
            scores = np.where(attention_mask, scores, -1e9)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = shares / shares.sum(axis=-1, keepdims=True)
        return (shares @ v).swapaxes(1, 2).reshape(query.shape) @ self.w_output

    def split(self, x):
        """(batch, length, d_model) -> (batch, heads, length, d_k)."""
        return x.reshape(*x.shape[:2], self.num_heads, -1).swapaxes(1, 2)


class FeedForward:
    """위치별 피드포워드 신경망."""

    def __init__(self, d_model, d_ff):
        self.wide = np.random.normal(0, d_model**-0.5, (d_model, d_ff))
        self.wide_bias = np.random.normal(0, 0.1, d_ff)
        self.narrow = np.random.normal(0, d_ff**-0.5, (d_ff, d_model))
        self.narrow_bias = np.random.normal(0, 0.1, d_model)

    def __call__(self, x):
        """(batch, length, d_model) -> (batch, length, d_model)."""
        hidden = np.maximum(x @ self.wide + self.wide_bias, 0)
        return hidden @ self.narrow + self.narrow_bias


class LayerNorm:
    """층 정규화. 평균과 분산을 토큰마다 따로 구합니다."""

    def __init__(self, d_model):
        self.scale = np.random.uniform(0.5, 1.5, d_model)
        self.shift = np.random.normal(0, 0.1, d_model)

    def __call__(self, x):
        """(batch, length, d_model) -> (batch, length, d_model)."""
        centered = x - x.mean(axis=-1, keepdims=True)
        variance = x.var(axis=-1, keepdims=True)
        return centered / np.sqrt(variance + 1e-6) * self.scale + self.shift
