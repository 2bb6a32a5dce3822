"""k=1을 빠뜨린 np.triu: 대각선도 1(가림)입니다."""

import numpy as np


def subsequent_mask(size):
    return np.triu(np.ones((1, size, size)), k=0).astype("uint8")


candidate = subsequent_mask
mask_true = "hide"
mistakes = (1,)
