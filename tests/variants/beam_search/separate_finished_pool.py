"""Live and finished beams kept apart, 2k candidates, stops when none can improve."""

import numpy as np
from numpy import logaddexp


def search(next_logits, bos, eos, max_length, beam_size, *, alpha=0.6):
    def lp(n):
        return ((5.0 + n) / 6.0) ** alpha

    live, done = [(0.0, (bos,))], []
    for n in range(1, max_length + 1):
        grown = []
        for total, ids in live:
            z = np.asarray(next_logits(np.array([ids])))[0].astype(np.float64)
            log_p = z - logaddexp.reduce(z)
            grown += [(total + log_p[t], (*ids, t)) for t in range(len(z))]
        grown = sorted(grown, reverse=True)[: 2 * beam_size]
        done += [(s / lp(n), ids) for s, ids in grown if ids[-1] == eos]
        done = sorted(done, reverse=True)[:beam_size]
        live = [(s, ids) for s, ids in grown if ids[-1] != eos][:beam_size]
        if not live:
            break
        if len(done) == beam_size and live[0][0] / lp(max_length) < done[-1][0]:
            break
    best = done or [(s / lp(max_length), ids) for s, ids in live]
    return list(max(best)[1])


candidate = search
