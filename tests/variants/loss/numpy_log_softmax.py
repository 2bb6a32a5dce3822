"""로그 소프트맥스를 손으로 쓰고 진짜 토큰만 골라 평균하는 NumPy 사람."""

import numpy as np


def masked_nll(y, z):
    z = z - z.max(axis=-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    picked = np.take_along_axis(log_p, y[..., None], axis=-1)[..., 0]
    return -picked[y != 0].mean()


candidate = masked_nll
