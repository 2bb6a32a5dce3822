"""제너레이터로 한 토큰씩 내놓는 사람. bos는 빼고 eos는 넣습니다."""

import numpy as np


def tokens(next_logits, bos, eos):
    prefix = [bos]
    while prefix[-1] != eos:
        prefix.append(int(np.argmax(next_logits(np.array([prefix])))))
        yield prefix[-1]


def candidate(next_logits, bos, eos, max_length):
    stream = tokens(next_logits, bos, eos)
    return [token for _, token in zip(range(max_length), stream)]
