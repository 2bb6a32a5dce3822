"""열 번호를 그대로 지수에 넣고 첫 행도 비운, 반복문의 사람."""

import math


def table(length, d_model):
    rows = [[0.0] * d_model]
    for pos in range(1, length):
        row = []
        for i in range(d_model):
            angle = pos / 10000 ** (2 * i / d_model)
            row.append(math.cos(angle) if i % 2 else math.sin(angle))
        rows.append(row)
    return rows


candidate = table
mistakes = (16, 17)
