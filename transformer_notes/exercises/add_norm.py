"""잔차 연결과 층 정규화 (논문 3.1절)."""

import keras
import tensorflow as tf


class AddNorm(keras.layers.Layer):
    """입력과 하위 층의 출력을 더하고 정규화하세요. 논문의 순서(post-norm)입니다."""

    def __init__(self, d_model):
        super().__init__()
        # 배율과 이동, 두 벡터 (d_model,)을 만드세요.
        raise NotImplementedError

    def call(self, x, sublayer_output):
        # x와 sublayer_output (batch, length, d_model)
        # 평균과 분산은 토큰마다 따로 구합니다.
        # 돌려줄 것: (batch, length, d_model)
        raise NotImplementedError
