"""One full-width head after another, joined, then Dense(activation="relu")."""

import keras
from keras import ops


class MultiHead(keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        dense = keras.layers.Dense
        self.maps = [[dense(d_model) for _ in range(3)] for _ in range(num_heads)]
        self.join = dense(d_model, activation="relu")
        self.scale = d_model**-0.5

    def call(self, query, key, value, attention_mask=None):
        heads = []
        for wq, wk, wv in self.maps:
            s = ops.matmul(wq(query), ops.swapaxes(wk(key), 1, 2)) * self.scale
            if attention_mask is not None:
                s = ops.where(ops.cast(attention_mask[:, 0], "bool"), s, -1e9)
            heads.append(ops.matmul(ops.softmax(s), wv(value)))
        return self.join(ops.concatenate(heads, axis=-1))


candidate = MultiHead
mistakes = (12, 13)
