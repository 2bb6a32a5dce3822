"""토큰 임베딩 (논문 3.4절)."""

import keras
import tensorflow as tf


class Embedding(keras.layers.Layer):
    """번호마다 표의 행을 찾고, 크기를 맞추어 내놓으세요."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        # 표 (vocab_size, d_model)을 만드세요.
        raise NotImplementedError

    def call(self, token_ids):
        # token_ids: 정수 (batch, length)
        # 돌려줄 것: (batch, length, d_model)
        raise NotImplementedError
