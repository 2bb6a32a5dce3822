"""룩어헤드 마스크 (논문 3.2.3절)."""

import numpy as np


def look_ahead_mask(length):
    """자기 자신과 그 앞의 자리만 True로 적으세요."""
    # length: 정수
    # 돌려줄 것: 불리언 (length, length). 행이 쿼리, 열이 키입니다.
    raise NotImplementedError
