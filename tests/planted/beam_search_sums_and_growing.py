"""두 실수가 함께: 합을 그대로 견주고, 끝난 빔에도 토큰을 이어 붙입니다."""

import numpy as np


def candidate(next_logits, bos, eos, max_length, beam_size):
    beams = [([bos], 0.0)]
    for _ in range(max_length):
        pool = []
        for ids, total in beams:
            z = np.asarray(next_logits(np.array([ids])), float)[0]
            z = z - z.max()
            for token, log_p in enumerate(z - np.log(np.exp(z).sum())):
                pool.append((ids + [token], total + log_p))
        beams = sorted(pool, key=lambda beam: beam[1])[-beam_size:]
    return beams[-1][0]


mistakes = (35,)
