"""챗봇이 답하지 말아야 할 무거운 글과, 그것과 닮은 일상의 글."""

from pathlib import Path
from typing import NamedTuple

from transformer_notes.corpora import tables


class HeavyText(NamedTuple):
    """사람이 챗봇에 적을 법한 글 하나."""

    #: `사별`, `병`, `자해`, `폭력`, 또는 답해도 되는 `일상`.
    kind: str
    #: 거절할 말을 정할 때 본 글인가. 보지 않은 글로 잽니다.
    seen: bool
    #: 글.
    text: str


def heavy_texts():
    """이 책을 위하여 새로 쓴 280글. 갈래마다 반은 재기만 합니다.

    어떻게 썼는지는 「챗봇」에 있습니다.

    Returns:
        `HeavyText`의 목록. 언제나 같은 순서입니다.

    Examples:
        >>> texts = heavy_texts()
        >>> len(texts), sum(not text.seen for text in texts)
        (280, 140)
    """
    path = Path(__file__).with_name("heavy_texts.csv")
    return [
        HeavyText(row["kind"], row["seen"] == "1", row["text"])
        for _, row in tables.read_csv(path, HeavyText._fields)
    ]
