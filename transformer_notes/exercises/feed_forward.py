"""위치별 피드포워드 신경망 (논문 3.3절)."""

import numpy as np


class FeedForward:
    """넓히고, 음수를 지우고, 다시 좁히세요."""

    def __init__(self, d_model, d_ff):
        # 선형 변환 둘의 행렬과 편향을 만드세요. 행렬은 무작위로 시작합니다.
        raise NotImplementedError

    def __call__(self, x):
        # x (batch, length, d_model), 가운데는 (batch, length, d_ff)
        # 돌려줄 것: (batch, length, d_model)
        raise NotImplementedError
