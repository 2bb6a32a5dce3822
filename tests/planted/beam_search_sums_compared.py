"""Sorts by plain sums of log-probabilities, so short answers win."""

import numpy as np


def beam_search(next_logits, bos, eos, max_length, beam_size):
    beams = [([bos], 0.0)]
    for _ in range(max_length):
        grown = []
        for ids, score in beams:
            if ids[-1] == eos:
                grown.append((ids, score))
                continue
            z = np.asarray(next_logits(np.array([ids])), float)[0]
            log_p = z - np.log(np.sum(np.exp(z - z.max()))) - z.max()
            grown += [(ids + [t], score + p) for t, p in enumerate(log_p)]
        beams = sorted(grown, key=lambda b: -b[1])[:beam_size]
        if all(ids[-1] == eos for ids, _ in beams):
            break
    return beams[0][0]


candidate = beam_search
mistakes = (35,)
