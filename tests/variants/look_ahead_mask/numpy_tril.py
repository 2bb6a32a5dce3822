"""NumPy의 tril, 0과 1."""

import numpy as np


def causal_mask(size):
    return np.tril(np.ones((size, size)))


candidate = causal_mask
