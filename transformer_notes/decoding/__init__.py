"""디코딩: 학습한 모델로 답을 한 토큰씩 만드는 법 (논문 6.1절).

`greedy`, `beam_search`, `sample`은 모두 배치를 받고, 그래프 하나 안에서 돌며, 모든 줄이
끝나면 멈춥니다. 앞선 토큰의 키와 값은 캐시에 담아 두고 다시 계산하지 않습니다. 한
토큰을 고르고 이어 붙이는 반복은 `decoding.steps`에 있습니다.
"""

from transformer_notes.decoding.search import beam_search, greedy, sample
from transformer_notes.decoding.steps import (
    candidates,
    draw,
    generate,
    most_likely,
    open_reader,
    search_beams,
)
from transformer_notes.decoding.translation import Answer, translate

__all__ = [
    "Answer",
    "beam_search",
    "candidates",
    "draw",
    "generate",
    "greedy",
    "most_likely",
    "open_reader",
    "sample",
    "search_beams",
    "translate",
]
