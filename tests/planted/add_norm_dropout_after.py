"""정규화한 다음에 드롭아웃을 하는 Keras 층."""

import keras


class AddNorm(keras.layers.Layer):
    def __init__(self, d_model, rate=0.5):
        super().__init__()
        self.norm = keras.layers.LayerNormalization(epsilon=1e-6)
        self.dropout = keras.layers.Dropout(rate)

    def call(self, x, sublayer_output, training=None):
        return self.dropout(self.norm(x + sublayer_output), training=training)


candidate = AddNorm
mistakes = (27,)
