"""A functional programmer: recursion on the prefix, tuples, no loop."""

import numpy as np


def extend(step, ids, eos, left):
    if left == 0 or (len(ids) > 1 and ids[-1] == eos):
        return ids
    scores = np.ravel(step(np.asarray([ids])))
    return extend(step, (*ids, int(scores.argmax())), eos, left - 1)


def candidate(next_logits, bos, eos, max_length):
    return list(extend(next_logits, (bos,), eos, max_length))
