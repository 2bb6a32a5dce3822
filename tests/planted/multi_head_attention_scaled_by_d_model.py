"""Keras: 헤드의 크기가 아니라 d_model의 제곱근으로 나눕니다."""

import keras
from keras import ops


class MHA(keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model, self.num_heads = d_model, num_heads
        self.wq, self.wk, self.wv, self.wo = (
            keras.layers.Dense(d_model) for _ in range(4)
        )

    def split(self, x):
        s = ops.shape(x)
        x = ops.reshape(x, (s[0], s[1], self.num_heads, self.d_model // self.num_heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def call(self, query, key, value, attention_mask=None):
        q = self.split(self.wq(query))
        k = self.split(self.wk(key))
        v = self.split(self.wv(value))
        s = ops.matmul(q, ops.swapaxes(k, -1, -2)) / self.d_model**0.5
        if attention_mask is not None:
            s = ops.where(ops.cast(attention_mask, "bool"), s, -1e9)
        y = ops.transpose(ops.matmul(ops.softmax(s), v), (0, 2, 1, 3))
        return self.wo(ops.reshape(y, ops.shape(query)))


candidate = MHA
mistakes = (8,)
