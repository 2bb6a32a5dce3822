"""헤드마다 층을 하나씩 만들어 목록에 담고 이어 붙이는 사람."""

import keras
from keras import ops


class Head(keras.layers.Layer):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.to_q = keras.layers.Dense(size, use_bias=False)
        self.to_k = keras.layers.Dense(size, use_bias=False)
        self.to_v = keras.layers.Dense(size, use_bias=False)

    def call(self, q, k, v, attention_mask=None):
        q, k, v = self.to_q(q), self.to_k(k), self.to_v(v)
        s = ops.einsum("bqe,bke->bqk", q, k) * self.size**-0.5
        if attention_mask is not None:
            s = ops.where(attention_mask, s, -1e9)
        return ops.matmul(ops.softmax(s), v)


class Heads(keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads = [Head(d_model // num_heads) for _ in range(num_heads)]
        self.out = keras.layers.Dense(d_model)

    def call(self, query, key, value, attention_mask=None):
        if attention_mask is not None:
            attention_mask = ops.cast(attention_mask, "bool")
            if ops.ndim(attention_mask) == 4:
                attention_mask = attention_mask[:, 0]
        parts = [h(query, key, value, attention_mask) for h in self.heads]
        return self.out(ops.concatenate(parts, axis=-1))


candidate = Heads
