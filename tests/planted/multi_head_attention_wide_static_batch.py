"""헤드마다 d_model만큼 넓고, 배치는 shape[0]으로 꺼내는 TensorFlow 사람."""

import tensorflow as tf


class Wide(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d, self.h = d_model, num_heads
        self.q, self.k, self.v = (
            tf.keras.layers.Dense(d_model * num_heads) for _ in range(3)
        )
        self.o = tf.keras.layers.Dense(d_model)

    def call(self, query, key, value, attention_mask=None):
        batch_size = query.shape[0]
        q, k, v = (
            tf.transpose(tf.reshape(t, (batch_size, -1, self.h, self.d)), [0, 2, 1, 3])
            for t in (self.q(query), self.k(key), self.v(value))
        )
        s = tf.matmul(q, k, transpose_b=True) / self.d**0.5
        if attention_mask is not None:
            s += tf.where(tf.cast(attention_mask, tf.bool), 0.0, -1e9)
        y = tf.transpose(tf.nn.softmax(s) @ v, [0, 2, 1, 3])
        return self.o(tf.reshape(y, (batch_size, -1, self.h * self.d)))


candidate = Wide
mistakes = (13, 41)
