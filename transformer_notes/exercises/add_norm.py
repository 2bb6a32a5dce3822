"""잔차 연결과 층 정규화 (논문 3.1절)."""

import numpy as np


class AddNorm:
    """입력과 하위 층의 출력을 더하고 정규화하세요. 논문의 순서(post-norm)입니다."""

    def __init__(self, d_model):
        # 배율과 이동, 두 벡터 (d_model,)을 만드세요. 1과 0에서 시작합니다.
        raise NotImplementedError

    def __call__(self, x, sublayer_output):
        # x와 sublayer_output (batch, length, d_model)
        # 평균과 분산은 토큰마다 따로 구합니다.
        # 돌려줄 것: (batch, length, d_model)
        raise NotImplementedError
