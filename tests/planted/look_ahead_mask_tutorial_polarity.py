"""가릴 곳이 1인 마스크를 True가 '봄'인 층에 넘기는 사람."""

import numpy as np


def look_ahead(n):
    return np.triu(np.ones((n, n), dtype=bool), k=1)


candidate = look_ahead
mistakes = (2,)
