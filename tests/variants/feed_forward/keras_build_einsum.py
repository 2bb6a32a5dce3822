"""build에서 add_weight를 부르고 einsum으로 곱하는 Keras 층, ReLU 층을 따로 둡니다."""

import keras
from keras import ops


class FeedForward(keras.layers.Layer):
    def __init__(self, d_model, d_ff, use_bias=True):
        super().__init__()
        self.d_model, self.d_ff, self.use_bias = d_model, d_ff, use_bias
        self.act = keras.layers.ReLU()
        self.dropout = keras.layers.Dropout(0.1)

    def build(self, shape):
        self.w1 = self.add_weight(shape=(shape[-1], self.d_ff), name="w1")
        self.w2 = self.add_weight(shape=(self.d_ff, self.d_model), name="w2")
        self.b1 = self.add_weight(shape=(self.d_ff,), initializer="zeros", name="b1")
        self.b2 = self.add_weight(shape=(self.d_model,), initializer="zeros", name="b2")

    def call(self, x, training=None):
        h = self.act(ops.einsum("btd,df->btf", x, self.w1) + self.b1)
        y = ops.einsum("btf,fd->btd", h, self.w2) + self.b2
        return self.dropout(y, training=training)


candidate = FeedForward
