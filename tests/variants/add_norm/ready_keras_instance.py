"""A ready Keras layer with the library's own ε of 0.001."""

import keras
from keras import ops


class SkipThenNormalize(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = keras.layers.LayerNormalization()

    def call(self, before, after):
        return self.norm(ops.add(before, after))


candidate = SkipThenNormalize()
