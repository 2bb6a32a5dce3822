"""그리디 디코딩."""

import numpy as np


def greedy(next_logits, bos, eos, max_length):
    """스텝마다 점수가 가장 높은 토큰을 골라 문장을 만드세요."""
    # next_logits(ids): 정수 (1, n)을 받아 다음 토큰의 로짓 (1, vocab_size)를 줍니다.
    # bos로 시작하고, eos가 나오거나 max_length개를 만들면 멈춥니다.
    # 돌려줄 것: 만든 번호의 목록
    raise NotImplementedError
