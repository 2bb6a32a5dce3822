"""Follows the mixed-precision policy: positions, rates and angles all in float16."""

import numpy as np


def positions(length, d_model):
    pos = np.arange(length).astype(np.float16)[:, None]
    i = np.arange(0, d_model, 2).astype(np.float16)
    rate = np.power(np.float16(10000), -i / np.float16(d_model))
    angle = pos * rate
    out = np.empty((length, d_model), np.float16)
    out[:, 0::2], out[:, 1::2] = np.sin(angle), np.cos(angle)
    return out


candidate = positions
mistakes = (20,)
