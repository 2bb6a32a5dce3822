"""A Keras layer with dropout for the sum only, never for the returned weights."""

import keras
from keras import ops


class ScaledDotProductAttention(keras.layers.Layer):
    def __init__(self, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.drop = keras.layers.Dropout(rate)

    def call(self, q, k, v, attention_mask=None, training=None):
        d = ops.cast(ops.shape(q)[-1], "float32")
        s = ops.matmul(q, ops.swapaxes(k, -1, -2)) / ops.sqrt(d)
        if attention_mask is not None:
            s = ops.where(ops.cast(attention_mask, "bool"), s, -1e30)
        p = ops.softmax(s, axis=-1)
        return ops.matmul(self.drop(p, training=training), v), p


candidate = ScaledDotProductAttention()
