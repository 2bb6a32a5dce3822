"""A decoder whose attention reads the batch from x.shape[0]."""

import tensorflow as tf
from tensorflow.keras import layers


class Attend(layers.Layer):
    def __init__(self, d, h):
        super().__init__()
        self.d, self.h = d, h
        self.q, self.k, self.v, self.o = (layers.Dense(d) for _ in range(4))

    def call(self, x, y, hide=None):
        batch = x.shape[0]
        shape = (batch, -1, self.h, self.d // self.h)
        q, k, v = (
            tf.transpose(tf.reshape(t, shape), [0, 2, 1, 3])
            for t in (self.q(x), self.k(y), self.v(y))
        )
        s = tf.matmul(q, k, transpose_b=True) / (self.d / self.h) ** 0.5
        if hide is not None:
            s += tf.cast(hide, tf.float32) * -1e9
        o = tf.transpose(tf.nn.softmax(s) @ v, [0, 2, 1, 3])
        return self.o(tf.reshape(o, (batch, -1, self.d)))


class DecoderLayer(layers.Layer):
    def __init__(self, d_model, num_heads, dff):
        super().__init__()
        self.mha1, self.mha2 = Attend(d_model, num_heads), Attend(d_model, num_heads)
        self.ffn1 = layers.Dense(dff, activation="relu")
        self.ffn2 = layers.Dense(d_model)
        self.ln = [layers.LayerNormalization(epsilon=1e-6) for _ in range(3)]

    def call(self, x, enc, look_ahead=None, padding=None):
        x = self.ln[0](x + self.mha1(x, x, look_ahead))
        x = self.ln[1](x + self.mha2(x, enc, padding))
        return self.ln[2](x + self.ffn2(self.ffn1(x)))


candidate = DecoderLayer
mask_true = "hide"
mistakes = (41,)
