"""가장 높은 것이 아니라 두 번째로 높은 토큰을 고르는 사람(정렬을 거꾸로 셌습니다)."""

import numpy as np


def greedy(next_logits, bos, eos, max_length):
    ids = [bos]
    for _ in range(max_length):
        ids.append(int(np.argsort(np.asarray(next_logits(np.array([ids])))[0])[-2]))
        if ids[-1] == eos:
            break
    return ids


candidate = greedy
mistakes = ()
wrong = True
