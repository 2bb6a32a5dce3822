"""BERT처럼 토큰을 가리기 (Devlin 외, 3.1절)."""

import numpy as np


def mask_tokens(token_ids, chance, random_ids, mask_id):
    """chance가 0.15보다 작은 토큰을 골라 가리고, 맞힐 토큰을 적으세요.

    고른 것은 chance가 0.12보다 작으면 mask_id로, 0.135보다 작으면 random_ids의 것으로
    바꾸고, 아니면 그대로 둡니다. 번호가 4보다 작은 특수 토큰은 고르지 않습니다.
    """
    # token_ids, random_ids: 정수 (batch, length)
    # chance: 0 이상 1 미만의 실수 (batch, length)
    # mask_id: 정수
    # 돌려줄 것: (inputs, labels). 정수 (batch, length)이고, labels는 고른 자리에 본디의
    # 토큰, 나머지 자리에 0입니다.
    raise NotImplementedError
