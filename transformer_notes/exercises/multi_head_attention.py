"""멀티 헤드 어텐션 (논문 3.2.2절)."""

import numpy as np


class MultiHeadAttention:
    """헤드로 나누어 저마다 어텐션을 하고, 이어 붙여 섞으세요."""

    def __init__(self, d_model, num_heads):
        # 쿼리, 키, 값, 출력의 행렬 (d_model, d_model)을 무작위로 만드세요.
        raise NotImplementedError

    def __call__(self, query, key, value, attention_mask=None):
        # query (batch, n_q, d_model), key와 value (batch, n_k, d_model)
        # attention_mask: 불리언, (batch, heads, n_q, n_k)로 브로드캐스트. True는 봄
        # 헤드로 나눈 모양은 (batch, heads, length, d_model // heads)입니다.
        # 돌려줄 것: (batch, n_q, d_model)
        raise NotImplementedError
