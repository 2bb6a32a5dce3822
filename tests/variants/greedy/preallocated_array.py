"""길이가 정해진 배열을 0으로 만들어 두고 채운 만큼만 잘라 돌려주는 사람."""

import numpy as np


def run(next_logits, bos, eos, max_length):
    buffer = np.zeros((1, max_length + 1), dtype=np.int64)
    buffer[0, 0] = bos
    filled = 1
    while filled <= max_length:
        logits = np.array(next_logits(buffer[:, :filled]))
        buffer[0, filled] = logits[0].argmax()
        filled += 1
        if buffer[0, filled - 1] == eos:
            break
    return buffer[0, 1:filled].tolist()


candidate = run
