"""batch_size = q.shape[0]: works in eager mode, None in a graph."""

import tensorflow as tf


class MultiHeadAttention(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model, self.num_heads = d_model, num_heads
        self.depth = d_model // num_heads
        self.wq = tf.keras.layers.Dense(d_model)
        self.wk = tf.keras.layers.Dense(d_model)
        self.wv = tf.keras.layers.Dense(d_model)
        self.dense = tf.keras.layers.Dense(d_model)

    def call(self, q, k, v, attention_mask=None):
        batch_size = q.shape[0]

        def split(x):
            x = tf.reshape(x, (batch_size, -1, self.num_heads, self.depth))
            return tf.transpose(x, perm=[0, 2, 1, 3])

        q, k, v = split(self.wq(q)), split(self.wk(k)), split(self.wv(v))
        s = tf.matmul(q, k, transpose_b=True) / tf.sqrt(float(self.depth))
        if attention_mask is not None:
            s += (1.0 - tf.cast(attention_mask, tf.float32)) * -1e9
        y = tf.transpose(tf.matmul(tf.nn.softmax(s), v), [0, 2, 1, 3])
        return self.dense(tf.reshape(y, (batch_size, -1, self.d_model)))


candidate = MultiHeadAttention
mistakes = (41,)
