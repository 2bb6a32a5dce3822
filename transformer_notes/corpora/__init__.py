"""책의 실습이 배우는 말뭉치. 말뭉치마다 모듈이 하나 있습니다.

같은 `seed`이면 어느 기계에서나 같은 것을 만듭니다. 그래서 난수는
`random.Random.random()`에서만 뽑습니다. 파이썬이 판이 바뀌어도 같은 수열을 약속하는
것은 그것뿐입니다.
"""

from transformer_notes.corpora.conversations import (
    Conversation,
    conversations,
    load_chatbot_csv,
)
from transformer_notes.corpora.date_expressions import (
    DATE_FORMS,
    FIRST_YEAR,
    LAST_YEAR,
    dates,
    split_days,
)
from transformer_notes.corpora.downloads import DATASETS, download
from transformer_notes.corpora.heavy_texts import HeavyText, heavy_texts
from transformer_notes.corpora.minimal_pairs import MinimalPair, minimal_pairs
from transformer_notes.corpora.parallel import load_parallel
from transformer_notes.corpora.python_docs import DocumentedPair, load_python_docs
from transformer_notes.corpora.reviews import Review, load_reviews
from transformer_notes.corpora.splits import split_groups
from transformer_notes.corpora.unreadable_dates import REFUSAL, unreadable_dates

__all__ = [
    "DATASETS",
    "DATE_FORMS",
    "FIRST_YEAR",
    "LAST_YEAR",
    "REFUSAL",
    "Conversation",
    "DocumentedPair",
    "HeavyText",
    "MinimalPair",
    "Review",
    "conversations",
    "dates",
    "download",
    "heavy_texts",
    "load_chatbot_csv",
    "load_parallel",
    "load_python_docs",
    "load_reviews",
    "minimal_pairs",
    "split_days",
    "split_groups",
    "unreadable_dates",
]
