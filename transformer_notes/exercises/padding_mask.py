"""패딩 마스크."""

import numpy as np


def padding_mask(token_ids):
    """키로 보아도 되는 자리를 True로 적으세요. 패딩의 번호는 0입니다."""
    # token_ids: 정수 (batch, length)
    # 돌려줄 것: 불리언 (batch, 1, 1, length). 축은 배치, 헤드, 쿼리, 키입니다.
    raise NotImplementedError
