"""새 토큰을 한 칸 앞에 적어 앞 토큰을 덮어쓰는 사람."""

import numpy as np


def decode(next_logits, bos, eos, max_length):
    slots = np.full((1, max_length + 2), bos)
    answer = []
    for n in range(1, max_length + 1):
        token = int(np.argmax(np.asarray(next_logits(slots[:, :n]))))
        answer.append(token)
        if token == eos:
            break
        slots[0, n - 1] = token
    return answer


candidate = decode
mistakes = (36,)
