"""목록에 (번호, 점수) 짝을 담고 sorted로 고르는 사람. 끝난 것도 자리를 차지합니다."""

import numpy as np


def penalty(n, alpha=0.6):
    return ((5 + n) / 6) ** alpha


def beam_search(next_logits, bos, eos, max_length, beam_size):
    beams = [([bos], 0.0)]
    for _ in range(max_length):
        pool = []
        for ids, score in beams:
            if len(ids) > 1 and ids[-1] == eos:
                pool.append((ids, score))
                continue
            z = np.asarray(next_logits(np.array([ids])), dtype=float)[0]
            log_p = z - z.max() - np.log(np.exp(z - z.max()).sum())
            pool += [(ids + [t], score + lp) for t, lp in enumerate(log_p)]
        pool.sort(key=lambda b: b[1] / penalty(len(b[0]) - 1), reverse=True)
        beams = pool[:beam_size]
    return beams[0][0]


candidate = beam_search
