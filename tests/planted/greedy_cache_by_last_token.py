"""Caches logits under the last token alone: an old answer for a new prefix."""

import numpy as np


def decode(next_logits, bos, eos, max_length):
    cache, ids = {}, [bos]
    for _ in range(max_length):
        if ids[-1] not in cache:
            cache[ids[-1]] = np.asarray(next_logits(np.array([ids])))[0]
        ids.append(int(cache[ids[-1]].argmax()))
        if ids[-1] == eos:
            break
    return ids[1:]


candidate = decode
mistakes = (36,)
