"""위치 0을 패딩의 자리로 비워 두는 사람."""

import numpy as np


def get_table(n_position, d_model):
    table = np.array(
        [
            [pos / 10000 ** (2 * (j // 2) / d_model) for j in range(d_model)]
            if pos != 0
            else np.zeros(d_model)
            for pos in range(n_position)
        ]
    )
    table[1:, 0::2] = np.sin(table[1:, 0::2])
    table[1:, 1::2] = np.cos(table[1:, 1::2])
    return table


candidate = get_table
mistakes = (17,)
