"""쿼리·키·값을 Dense 하나로 뽑고, 1이 가림인 마스크에 -1e9을 곱하는 Keras 사람."""

import keras
from keras import ops


class Block(keras.layers.Layer):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.h, self.size = num_heads, d_model // num_heads
        self.qkv = keras.layers.Dense(3 * d_model)
        self.out = keras.layers.Dense(d_model)
        self.norm1 = keras.layers.LayerNormalization(epsilon=1e-5)
        self.up = keras.layers.Dense(d_ff, activation="relu")
        self.down = keras.layers.Dense(d_model)
        self.norm2 = keras.layers.LayerNormalization(epsilon=1e-5)

    def call(self, x, hidden=None):
        b, n = ops.shape(x)[0], ops.shape(x)[1]
        parts = ops.reshape(self.qkv(x), (b, n, 3, self.h, self.size))
        q, k, v = ops.unstack(parts, 3, axis=2)
        s = ops.einsum("bqhe,bkhe->bhqk", q, k) / self.size**0.5
        if hidden is not None:
            s = s + ops.cast(hidden, s.dtype) * -1e9
        a = ops.einsum("bhqk,bkhe->bqhe", ops.softmax(s), v)
        x = self.norm1(x + self.out(ops.reshape(a, (b, n, self.h * self.size))))
        return self.norm2(x + self.down(self.up(x)))


candidate = Block
mask_true = "hide"
