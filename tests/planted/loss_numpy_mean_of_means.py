"""문장마다 평균한 다음 다시 평균한 NumPy 사람."""

import numpy as np


def loss(labels, logits):
    z = logits - logits.max(-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(-1, keepdims=True))
    each = -np.take_along_axis(log_p, labels[..., None], -1)[..., 0]
    real = labels != 0
    return np.mean((each * real).sum(1) / real.sum(1))


candidate = loss
mistakes = (46,)
