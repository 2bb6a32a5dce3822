"""Var = E[s²] − E[s]², a plain Python class with gain and shift, float64 inside."""

import numpy as np


class ResidualLayerNorm:
    def __init__(self, d_model):
        self.gain, self.shift = np.ones(d_model), np.zeros(d_model)

    def __call__(self, skip, update):
        total = np.add(skip, update, dtype=np.float64)
        m1 = np.mean(total, -1, keepdims=True)
        m2 = np.mean(np.square(total), -1, keepdims=True)
        unit = (total - m1) / np.sqrt(np.maximum(m2 - m1 * m1, 0) + 1e-6)
        return (self.gain * unit + self.shift).astype(np.float32)


candidate = ResidualLayerNorm
