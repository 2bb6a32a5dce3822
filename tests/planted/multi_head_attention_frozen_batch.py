"""build에서 본 배치의 크기를 적어 두고 그것으로 모양을 바꾸는 사람."""

import keras
from keras import ops


class Attention(keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d, self.h = d_model, num_heads
        self.q, self.k, self.v, self.o = (keras.layers.Dense(d_model) for _ in range(4))

    def build(self, query_shape, *_):
        self.batch_size = query_shape[0]

    def split(self, x):
        x = ops.reshape(x, (self.batch_size, -1, self.h, self.d // self.h))
        return ops.transpose(x, (0, 2, 1, 3))

    def call(self, query, key, value, attention_mask=None):
        q = self.split(self.q(query))
        k = self.split(self.k(key))
        v = self.split(self.v(value))
        s = ops.matmul(q, ops.swapaxes(k, -1, -2)) / (self.d / self.h) ** 0.5
        if attention_mask is not None:
            s = ops.where(ops.cast(attention_mask, "bool"), s, -1e9)
        y = ops.transpose(ops.matmul(ops.softmax(s), v), (0, 2, 1, 3))
        return self.o(ops.reshape(y, (self.batch_size, -1, self.d)))


candidate = Attention
mistakes = (41,)
