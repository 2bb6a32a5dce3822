"""스케일드 닷 프로덕트 어텐션 (논문 3.2.1절)."""

import numpy as np


def attention(query, key, value, mask=None):
    """쿼리마다, 보아도 되는 자리의 값을 가중 평균하세요."""
    # query (..., n_q, d_k), key (..., n_k, d_k), value (..., n_k, d_v)
    # mask: (..., n_q, n_k)로 브로드캐스트되는 불리언. True만 봅니다. None도 됩니다.
    # 돌려줄 것: 출력 (..., n_q, d_v)
    raise NotImplementedError
