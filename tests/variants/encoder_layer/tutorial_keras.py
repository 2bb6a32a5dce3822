"""A Keras tutorial: the library's attention, Sequential FFN, post-norm, dropout 0.1."""

import tensorflow as tf
from tensorflow.keras import layers


class EncoderLayer(layers.Layer):
    def __init__(self, d_model, num_heads, dff, rate=0.1):
        super().__init__()
        self.mha = layers.MultiHeadAttention(num_heads, key_dim=d_model // num_heads)
        self.ffn = tf.keras.Sequential(
            [layers.Dense(dff, activation="relu"), layers.Dense(d_model)]
        )
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)

    def call(self, x, attention_mask=None, training=None):
        a = self.mha(x, x, x, attention_mask=attention_mask)
        x = self.layernorm1(x + self.dropout1(a, training=training))
        f = self.dropout2(self.ffn(x), training=training)
        return self.layernorm2(x + f)


candidate = EncoderLayer
