"""Old argument order, and a mask that the callee reads the other way round."""

import tensorflow as tf


class MHA(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.inner = tf.keras.layers.MultiHeadAttention(num_heads, d_model // num_heads)

    def call(self, query, key, value, attention_mask=None):
        v, k, q = query, key, value
        if attention_mask is not None:
            attention_mask = tf.logical_not(tf.cast(attention_mask, tf.bool))
        return self.inner(q, v, k, attention_mask=attention_mask)


candidate = MHA
mistakes = (2, 11)
