"""사인과 코사인의 자리를 바꾸어 쓴 사람. 아는 실수는 아니지만 논문의 표도 아닙니다."""

import numpy as np


def table(length, d_model):
    angle = np.outer(np.arange(length), 10000 ** (-np.arange(0, d_model, 2) / d_model))
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1).reshape(length, d_model)


candidate = table
mistakes = ()
wrong = True
