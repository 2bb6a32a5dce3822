"""A Keras layer that normalises first, adds to that, and drops at the very end."""

import keras


class AddNorm(keras.layers.Layer):
    def __init__(self, d_model):
        super().__init__()
        self.before = keras.layers.LayerNormalization(epsilon=1e-6)
        self.after = keras.layers.LayerNormalization(epsilon=1e-6)
        self.dropout = keras.layers.Dropout(0.4)

    def call(self, x, sub, training=None):
        out = self.after(self.before(x) + sub)
        return self.dropout(out, training=training)


candidate = AddNorm
mistakes = (27, 28)
