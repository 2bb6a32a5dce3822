"""A signal-processing person: e^{iωt}, imaginary and real parts interleaved."""

import numpy as np


def table(length, d_model, *, base=10_000.0):
    half = d_model // 2
    omega = base ** (-2 * np.arange(half) / d_model)
    z = np.exp(1j * np.arange(length)[:, None] * omega[None, :])
    return np.stack([z.imag, z.real], axis=-1).reshape(length, d_model)


candidate = table
