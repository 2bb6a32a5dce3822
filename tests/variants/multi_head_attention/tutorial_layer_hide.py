"""The Keras layer of a well-known tutorial: mask 1 = hidden, returns both."""

import tensorflow as tf


class MultiHeadAttention(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.depth = d_model // num_heads
        self.d_model = d_model
        self.wq = tf.keras.layers.Dense(d_model)
        self.wk = tf.keras.layers.Dense(d_model)
        self.wv = tf.keras.layers.Dense(d_model)
        self.dense = tf.keras.layers.Dense(d_model)

    def split_heads(self, x, batch_size):
        x = tf.reshape(x, (batch_size, -1, self.num_heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])

    def call(self, q, k, v, mask):
        batch_size = tf.shape(q)[0]
        q = self.split_heads(self.wq(q), batch_size)
        k = self.split_heads(self.wk(k), batch_size)
        v = self.split_heads(self.wv(v), batch_size)
        logits = tf.matmul(q, k, transpose_b=True) / tf.sqrt(float(self.depth))
        if mask is not None:
            logits += tf.cast(mask, tf.float32) * -1e9
        weights = tf.nn.softmax(logits, axis=-1)
        joined = tf.transpose(tf.matmul(weights, v), perm=[0, 2, 1, 3])
        joined = tf.reshape(joined, (batch_size, -1, self.d_model))
        return self.dense(joined), weights


candidate = MultiHeadAttention
mask_true = "hide"
