"""look_ahead_mask를 크로스 어텐션에도 쓰고 배치를 shape[0]으로 꺼내는 디코더."""

import tensorflow as tf
from tensorflow.keras import layers


class Decoder(layers.Layer):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.d, self.h = d_model, num_heads
        self.one = [layers.Dense(d_model) for _ in range(4)]
        self.two = [layers.Dense(d_model) for _ in range(4)]
        self.up, self.down = (
            layers.Dense(d_ff, activation="relu"),
            layers.Dense(d_model),
        )
        self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(3)]

    def attend(self, maps, x, y, mask):
        batch = x.shape[0]
        shape = (batch, -1, self.h, self.d // self.h)
        q, k, v = (
            tf.transpose(tf.reshape(f(t), shape), [0, 2, 1, 3])
            for f, t in zip(maps, (x, y, y))
        )
        s = tf.matmul(q, k, transpose_b=True) / (self.d / self.h) ** 0.5
        if mask is not None:
            s += (1.0 - tf.cast(mask, tf.float32)) * -1e9
        o = tf.transpose(tf.nn.softmax(s) @ v, [0, 2, 1, 3])
        return maps[3](tf.reshape(o, (batch, -1, self.d)))

    def call(self, x, memory, look_ahead_mask=None, padding_mask=None):
        x = self.norms[0](x + self.attend(self.one, x, x, look_ahead_mask))
        x = self.norms[1](x + self.attend(self.two, x, memory, look_ahead_mask))
        return self.norms[2](x + self.down(self.up(x)))


candidate = Decoder
mistakes = (7, 41)
