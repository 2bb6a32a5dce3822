"""Keras: Add 층과 LayerNormalization(epsilon=1e-6), 드롭아웃은 하위 층의 출력에."""

import keras


class AddNorm(keras.layers.Layer):
    def __init__(self, d_model=None, dropout=0.1):
        super().__init__()
        self.add = keras.layers.Add()
        self.dropout = keras.layers.Dropout(dropout)
        self.layernorm = keras.layers.LayerNormalization(epsilon=1e-6)

    def call(self, x, sublayer_output, training=None):
        dropped = self.dropout(sublayer_output, training=training)
        return self.layernorm(self.add([x, dropped]))


candidate = AddNorm
