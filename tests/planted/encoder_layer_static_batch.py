"""x.shape[0]으로 헤드를 나누는 인코더 층. 그래프에서는 None입니다."""

import tensorflow as tf
from tensorflow.keras import layers


class EncoderLayer(layers.Layer):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.h, self.d = num_heads, d_model
        self.q, self.k, self.v, self.o = (layers.Dense(d_model) for _ in range(4))
        self.ffn = [layers.Dense(d_ff, activation="relu"), layers.Dense(d_model)]
        self.norm1 = layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = layers.LayerNormalization(epsilon=1e-6)

    def attend(self, x, mask):
        batch = x.shape[0]
        q, k, v = (
            tf.transpose(
                tf.reshape(f(x), (batch, -1, self.h, self.d // self.h)), [0, 2, 1, 3]
            )
            for f in (self.q, self.k, self.v)
        )
        s = tf.matmul(q, k, transpose_b=True) / (self.d / self.h) ** 0.5
        if mask is not None:
            s += (1.0 - tf.cast(mask, tf.float32)) * -1e9
        y = tf.transpose(tf.nn.softmax(s) @ v, [0, 2, 1, 3])
        return self.o(tf.reshape(y, (batch, -1, self.d)))

    def call(self, x, attention_mask=None):
        x = self.norm1(x + self.attend(x, attention_mask))
        return self.norm2(x + self.ffn[1](self.ffn[0](x)))


candidate = EncoderLayer
mistakes = (41,)
