"""NumPy: 번호를 하나씩 이어 붙이고 bos와 eos를 모두 돌려줍니다."""

import numpy as np


def greedy_decode(next_logits, bos, eos, max_length):
    ids = np.array([[bos]])
    for _ in range(max_length):
        best = int(np.argmax(np.asarray(next_logits(ids)), axis=-1)[0])
        ids = np.append(ids, [[best]], axis=1)
        if best == eos:
            break
    return ids[0]


candidate = greedy_decode
