"""한 곳만 다른데 평가가 뒤집히는 감상평의 짝."""

from pathlib import Path
from typing import NamedTuple

from transformer_notes.corpora import tables


class MinimalPair(NamedTuple):
    """감상평 둘."""

    #: 무엇이 평가를 뒤집는가. `부정`, `대조`, `반어` 가운데 하나입니다.
    kind: str
    #: 긍정인 글.
    positive: str
    #: 부정인 글.
    negative: str


def minimal_pairs():
    """이 책을 위하여 새로 쓴 200짝. 재기만 하고 배우지 않습니다.

    어떻게 썼는지는 「감상평 읽기」에 있습니다.

    Returns:
        `MinimalPair`의 목록. 언제나 같은 순서입니다.

    Examples:
        >>> pairs = minimal_pairs()
        >>> len(pairs), pairs[2].positive, pairs[2].negative
        (200, '나쁘지 않았습니다.', '좋지 않았습니다.')
    """
    path = Path(__file__).with_name("minimal_pairs.csv")
    rows = tables.read_csv(path, MinimalPair._fields)
    return [MinimalPair(**row) for _, row in rows]
