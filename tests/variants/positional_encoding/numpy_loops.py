"""파이썬 반복문으로 한 칸씩 채우는 블로그의 방식."""

import math

import numpy as np


def get_positional_encoding(max_len, d_model):
    pe = np.zeros((max_len, d_model))
    for pos in range(max_len):
        for i in range(0, d_model, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (i / d_model))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (i / d_model))
    return pe


candidate = get_positional_encoding
