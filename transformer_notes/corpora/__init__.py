"""책의 실습이 배우는 말뭉치. 말뭉치마다 모듈이 하나 있습니다.

같은 `seed`이면 어느 기계에서나 같은 것을 만듭니다. 그래서 난수는
`random.Random.random()`에서만 뽑습니다. 파이썬이 판이 바뀌어도 같은 수열을 약속하는
것은 그것뿐입니다.
"""

from transformer_notes.corpora.date_expressions import (
    DATE_FORMS,
    FIRST_YEAR,
    LAST_YEAR,
    dates,
    split_days,
)

__all__ = ["DATE_FORMS", "FIRST_YEAR", "LAST_YEAR", "dates", "split_days"]
