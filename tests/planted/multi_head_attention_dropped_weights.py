"""학습할 때 드롭아웃한 가중치를 돌려주는 Keras 층. training을 인자로 받습니다."""

import tensorflow as tf


class MHA(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads, rate=0.4):
        super().__init__()
        self.h, self.depth = num_heads, d_model // num_heads
        self.q, self.k, self.v, self.o = (
            tf.keras.layers.Dense(d_model) for _ in range(4)
        )
        self.drop = tf.keras.layers.Dropout(rate)

    def split(self, x):
        shape = [tf.shape(x)[0], tf.shape(x)[1], self.h, self.depth]
        return tf.transpose(tf.reshape(x, shape), [0, 2, 1, 3])

    def call(self, query, key, value, attention_mask=None, training=True):
        q, k, v = (
            self.split(f(x))
            for f, x in ((self.q, query), (self.k, key), (self.v, value))
        )
        s = tf.matmul(q, k, transpose_b=True) / self.depth**0.5
        if attention_mask is not None:
            s += (1.0 - tf.cast(attention_mask, tf.float32)) * -1e9
        w = self.drop(tf.nn.softmax(s), training=training)
        y = tf.transpose(tf.matmul(w, v), [0, 2, 1, 3])
        return self.o(tf.reshape(y, tf.shape(query))), w


candidate = MHA
mistakes = (14,)
