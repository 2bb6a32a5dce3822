"""캐시를 쓰는 것처럼 마지막 토큰만 모델에 넣는 사람. 모두 위치 0에 있습니다."""

import numpy as np


def greedy(next_logits, bos, eos, max_length):
    ids = [bos]
    while len(ids) <= max_length:
        token = int(np.argmax(np.asarray(next_logits(np.array([[ids[-1]]])))))
        ids.append(token)
        if token == eos:
            break
    return ids


candidate = greedy
mistakes = (19,)
