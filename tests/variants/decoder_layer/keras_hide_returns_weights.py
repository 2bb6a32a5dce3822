"""Two masks with 1 = hidden, and both attention weights returned in a tuple."""

import keras
from keras import ops


class Attend(keras.layers.Layer):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.e = h, d // h
        self.q, self.k, self.v, self.o = (keras.layers.Dense(d) for _ in range(4))

    def split(self, x):
        return ops.reshape(x, (ops.shape(x)[0], ops.shape(x)[1], self.h, self.e))

    def call(self, x, y, hidden=None):
        q, k, v = self.split(self.q(x)), self.split(self.k(y)), self.split(self.v(y))
        s = ops.einsum("bqhe,bkhe->bhqk", q, k) / ops.sqrt(float(self.e))
        if hidden is not None:
            s += ops.cast(hidden, "float32") * -1e9
        w = ops.softmax(s, axis=-1)
        o = ops.einsum("bhqk,bkhe->bqhe", w, v)
        return self.o(ops.reshape(o, ops.shape(x))), w


class DecoderLayer(keras.layers.Layer):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.a, self.b = Attend(d_model, num_heads), Attend(d_model, num_heads)
        self.f1 = keras.layers.Dense(d_ff, activation="relu")
        self.f2 = keras.layers.Dense(d_model)
        self.n1, self.n2, self.n3 = (
            keras.layers.LayerNormalization(epsilon=1e-6) for _ in range(3)
        )

    def call(self, x, memory, look_ahead=None, padding=None):
        y, w1 = self.a(x, x, look_ahead)
        x = self.n1(y + x)
        y, w2 = self.b(x, memory, padding)
        x = self.n2(y + x)
        return self.n3(self.f2(self.f1(x)) + x), w1, w2


candidate = DecoderLayer
mask_true = "hide"
