"""웜업 학습률 스케줄 (논문 5.3절)."""

import numpy as np


class Schedule:
    """warmup_steps까지 곧게 올리고, 그 뒤로는 스텝의 제곱근에 반비례해 내리세요."""

    def __init__(self, d_model, warmup_steps=4000):
        raise NotImplementedError

    def __call__(self, step):
        # step: 정수나 실수의 스텝. 0부터 셉니다.
        # 돌려줄 것: 학습률 하나. 0번째 스텝에서도 유한해야 합니다.
        raise NotImplementedError
