"""사인과 코사인의 위치 인코딩 (논문 3.5절)."""

import numpy as np


def positional_encoding(length, d_model):
    """행이 위치, 열이 성분인 표를 만드세요. d_model은 짝수입니다."""
    # 짝수 열 2i에는 sin(pos / 10000^(2i / d_model)),
    # 홀수 열 2i + 1에는 같은 각의 cos
    # 돌려줄 것: float32 (length, d_model)
    raise NotImplementedError
