"""수학을 좋아하는 사람: 코사인을 π/2만큼 앞선 사인으로 쓰고 한 번에 계산합니다."""

import numpy as np


def pos_enc(length, depth):
    col = np.arange(depth)
    omega = 10000.0 ** (-(col - col % 2) / depth)
    phase = np.pi / 2 * (col % 2)
    return np.sin(np.outer(np.arange(length), omega) + phase).astype("float32")


candidate = pos_enc
