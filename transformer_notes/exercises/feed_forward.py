"""위치별 피드포워드 신경망 (논문 3.3절)."""

import keras


class FeedForward(keras.layers.Layer):
    """넓히고, 음수를 지우고, 다시 좁히세요."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        # 선형 변환 둘을 만드세요.
        raise NotImplementedError

    def call(self, x):
        # x (batch, length, d_model), 가운데는 (batch, length, d_ff)
        # 돌려줄 것: (batch, length, d_model)
        raise NotImplementedError
