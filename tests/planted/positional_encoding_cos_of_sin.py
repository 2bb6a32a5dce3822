"""사인을 써넣은 열에서 코사인을 구하는 사람."""

import numpy as np


def positional_encoding(length, d_model):
    i = np.arange(d_model)[None, :]
    pe = np.arange(length)[:, None] / 10000 ** (2 * (i // 2) / d_model)
    pe[:, 0::2] = np.sin(pe[:, 0::2])
    pe[:, 1::2] = np.cos(pe[:, 0::2])
    return pe


candidate = positional_encoding
mistakes = (15,)
