"""빔 탐색 (논문 6.1절)."""

import numpy as np


def beam_search(next_logits, bos, eos, max_length, beam_size=4):
    """가장 그럴듯한 beam_size개를 키워 가며, 점수가 가장 높은 문장을 찾으세요."""
    # next_logits(ids): 정수 (batch, n)을 받아 다음 토큰의 로짓 (batch, vocab_size)를
    # 줍니다.
    # 점수는 로그 확률의 합 / ((5 + n) / 6)^0.6, n은 eos까지 센 만든 토큰의 수입니다.
    # 돌려줄 것: 만든 번호의 목록
    raise NotImplementedError
