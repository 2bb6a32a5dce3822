"""토큰 임베딩 (논문 3.4절)."""

import numpy as np


class Embedding:
    """번호마다 표의 행을 찾아 √d_model배 하세요."""

    def __init__(self, vocab_size, d_model):
        # 무작위로 표 (vocab_size, d_model)을 만드세요.
        raise NotImplementedError

    def __call__(self, token_ids):
        # token_ids: 정수 (batch, length)
        # 돌려줄 것: (batch, length, d_model)
        raise NotImplementedError
