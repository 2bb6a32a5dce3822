"""NumPy: 스텝을 하나 주든 여럿 주든 받고, 0은 1로 올립니다."""

import numpy as np


def noam(step, d_model=512, warmup_steps=4000):
    s = np.maximum(np.asarray(step, dtype=np.float64), 1.0)
    return np.minimum(s**-0.5, s * np.power(warmup_steps, -1.5)) / np.sqrt(d_model)


candidate = noam
