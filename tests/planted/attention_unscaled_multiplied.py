"""Keras 층으로 쓴 초보: 나누지 않고, 마스크는 곱합니다."""

import keras
from keras import ops


class Attention(keras.layers.Layer):
    def call(self, q, k, v, attention_mask=None):
        score = ops.matmul(q, ops.swapaxes(k, -1, -2))
        if attention_mask is not None:
            score = score * ops.cast(attention_mask, score.dtype)
        return ops.matmul(ops.softmax(score, axis=-1), v)


candidate = Attention()
mistakes = (3, 8)
