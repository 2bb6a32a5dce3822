"""Plain arithmetic: min(id, 1) as int32, loops over the batch."""

import numpy as np


def mask_batch(batch):
    out = np.zeros((len(batch), 1, 1, len(batch[0])), dtype=np.int32)
    for row, sentence in enumerate(batch):
        for col, token in enumerate(sentence):
            out[row, 0, 0, col] = min(int(token), 1)
    return out


candidate = mask_batch
