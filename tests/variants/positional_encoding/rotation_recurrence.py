"""삼각 함수를 한 번만 부르고, 다음 위치는 앞 위치를 회전해서 얻는 사람."""

import numpy as np


def by_rotation(n, d):
    w = 1 / 10000 ** (np.arange(0, d, 2) / d)
    c, s = np.cos(w), np.sin(w)
    sin, cos = np.zeros(d // 2), np.ones(d // 2)
    rows = []
    for _ in range(n):
        rows.append(np.ravel(np.column_stack([sin, cos])))
        sin, cos = sin * c + cos * s, cos * c - sin * s
    return np.array(rows)


candidate = by_rotation
