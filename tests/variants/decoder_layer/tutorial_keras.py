"""A Keras tutorial: two library attentions, three norms, post-norm, dropout 0.1."""

import tensorflow as tf
from tensorflow.keras import layers


class DecoderLayer(layers.Layer):
    def __init__(self, d_model, num_heads, dff, rate=0.1):
        super().__init__()
        size = d_model // num_heads
        self.mha1 = layers.MultiHeadAttention(num_heads, size)
        self.mha2 = layers.MultiHeadAttention(num_heads, size)
        self.ffn = tf.keras.Sequential(
            [layers.Dense(dff, activation="relu"), layers.Dense(d_model)]
        )
        self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(3)]
        self.drops = [layers.Dropout(rate) for _ in range(3)]

    def call(self, x, enc_output, self_mask=None, memory_mask=None, training=None):
        a = self.mha1(x, x, x, attention_mask=self_mask)
        x = self.norms[0](x + self.drops[0](a, training=training))
        a = self.mha2(x, enc_output, enc_output, attention_mask=memory_mask)
        x = self.norms[1](x + self.drops[1](a, training=training))
        a = self.ffn(x)
        return self.norms[2](x + self.drops[2](a, training=training))


candidate = DecoderLayer
