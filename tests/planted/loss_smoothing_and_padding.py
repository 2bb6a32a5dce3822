"""NumPy: 모든 토큰에 고르게 스무딩하고 패딩까지 평균하는 사람."""

import numpy as np


def loss(y, z, eps=0.1):
    z = z - z.max(-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(-1, keepdims=True))
    target = np.eye(z.shape[-1])[y] * (1 - eps) + eps / z.shape[-1]
    return -(target * log_p).sum(-1).mean()


candidate = loss
mistakes = (30, 33)
