"""reshape로만 나누고, 이어 붙인 다음에 ReLU까지 두는 Keras 사람."""

import keras
from keras import ops


class MultiHead(keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.e = num_heads, d_model // num_heads
        self.q, self.k, self.v = (keras.layers.Dense(d_model) for _ in range(3))
        self.o = keras.layers.Dense(d_model, activation="relu")

    def heads(self, x):
        return ops.reshape(x, (ops.shape(x)[0], self.h, ops.shape(x)[1], self.e))

    def call(self, query, key, value, attention_mask=None):
        q = self.heads(self.q(query))
        k = self.heads(self.k(key))
        v = self.heads(self.v(value))
        s = ops.einsum("bhqe,bhke->bhqk", q, k) / self.e**0.5
        if attention_mask is not None:
            s = ops.where(ops.cast(attention_mask, "bool"), s, -1e9)
        y = ops.matmul(ops.softmax(s), v)
        return self.o(ops.reshape(y, ops.shape(query)))


candidate = MultiHead
mistakes = (10, 12)
