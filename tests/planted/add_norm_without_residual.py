"""더하기를 잊고 하위 층의 출력만 정규화하는 사람."""

import keras


class AddNorm(keras.layers.Layer):
    def __init__(self, d_model):
        super().__init__()
        self.norm = keras.layers.LayerNormalization(epsilon=1e-6)

    def call(self, x, sublayer_output):
        return self.norm(sublayer_output)


candidate = AddNorm
mistakes = (48,)
