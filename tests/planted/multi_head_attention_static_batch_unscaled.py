"""shape[0] in split_heads, and no division: two mistakes of one long night."""

import tensorflow as tf


class Attention(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d, self.h = d_model, num_heads
        self.maps = [tf.keras.layers.Dense(d_model) for _ in range(4)]

    def split_heads(self, x):
        shape = (x.shape[0], -1, self.h, self.d // self.h)
        return tf.transpose(tf.reshape(x, shape), [0, 2, 1, 3])

    def call(self, query, key, value, attention_mask=None):
        inputs = zip(self.maps, (query, key, value))
        q, k, v = (self.split_heads(f(x)) for f, x in inputs)
        s = tf.matmul(q, k, transpose_b=True)
        if attention_mask is not None:
            s = tf.where(tf.cast(attention_mask, tf.bool), s, -1e9)
        y = tf.transpose(tf.nn.softmax(s) @ v, [0, 2, 1, 3])
        return self.maps[3](tf.reshape(y, (y.shape[0], -1, self.d)))


candidate = Attention
mistakes = (8, 41)
