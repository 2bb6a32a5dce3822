"""접두사 전체를 열쇠로 로그 확률을 사전에 적어 두는 사람."""

import numpy as np


def candidate(next_logits, bos, eos, max_length, beam_size, length_alpha=0.6):
    memo = {}

    def log_probs(prefix):
        if prefix not in memo:
            z = np.asarray(next_logits(np.array([prefix])), dtype="float64")[0]
            memo[prefix] = z - np.log(np.exp(z - z.max()).sum()) - z.max()
        return memo[prefix]

    def total(ids):
        return sum(log_probs(ids[:i])[ids[i]] for i in range(1, len(ids)))

    def rank(ids):
        return total(ids) / ((4 + len(ids)) / 6) ** length_alpha

    frontier = {(bos,)}
    for _ in range(max_length):
        wider = set()
        for ids in frontier:
            if ids[-1] == eos and len(ids) > 1:
                wider.add(ids)
            else:
                wider |= {(*ids, t) for t in range(len(log_probs(ids)))}
        frontier = set(sorted(wider, key=rank)[-beam_size:])
    return max(frontier, key=rank)
