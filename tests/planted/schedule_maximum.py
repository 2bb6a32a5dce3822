"""Takes max where the paper takes min."""

import numpy as np


def rate(step, d_model, warmup_steps):
    step = np.maximum(step, 1.0)
    return d_model**-0.5 * np.maximum(step**-0.5, step * warmup_steps**-1.5)


candidate = rate
mistakes = ()
wrong = True
