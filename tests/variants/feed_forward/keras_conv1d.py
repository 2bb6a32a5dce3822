"""논문의 말 그대로 너비 1의 합성곱 두 개로 쓰는 사람."""

import keras


class ConvFFN(keras.layers.Layer):
    def __init__(self, d_model, d_ff, **kwargs):
        super().__init__(**kwargs)
        self.expand = keras.layers.Conv1D(d_ff, kernel_size=1, activation="relu")
        self.shrink = keras.layers.Conv1D(d_model, kernel_size=1)

    def call(self, inputs):
        return self.shrink(self.expand(inputs))


candidate = ConvFFN
