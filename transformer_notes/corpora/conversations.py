"""한국어 물음과 대답의 짝."""

from pathlib import Path
from typing import NamedTuple

from transformer_notes.corpora import tables


class Conversation(NamedTuple):
    """물음과 대답."""

    #: 물음이나 혼잣말. 빈 글이 아닙니다.
    question: str
    #: 대답. 빈 글이 아닙니다.
    answer: str
    #: 주제. 0은 일상, 1은 이별, 2는 사랑입니다.
    label: int


def conversations():
    """이 책에 들어 있는 대화.

    이 책을 위하여 새로 쓴 960쌍입니다. 어떻게 썼고 무엇에 쓰면 안 되는지는
    「대화 말뭉치」에 있습니다.

    Returns:
        `Conversation`의 목록. 언제나 같은 순서입니다.

    Examples:
        >>> pairs = conversations()
        >>> len(pairs), pairs[0].question, pairs[0].answer
        (960, '안녕?', '안녕하세요. 오늘은 무슨 이야기를 해 볼까요?')
    """
    return load_chatbot_csv(Path(__file__).with_name("conversations.csv"))


def load_chatbot_csv(path):
    """대화의 파일을 읽습니다. songys/Chatbot_data의 `ChatbotData.csv`가 이 꼴입니다.

    첫 줄은 `Q,A,label`입니다. 받아들이는 것은 `tables`에 적혀 있습니다.

    Args:
        path: CSV 파일의 경로.

    Returns:
        `Conversation`의 목록. 파일의 순서입니다.

    Raises:
        OSError: 읽지 못하는 파일.
        ValueError: 다른 첫 줄, 세 칸이 아닌 줄, 빈 물음이나 대답, 0, 1, 2가 아닌 label.
    """
    found = []
    for number, row in tables.read_csv(path, ("Q", "A", "label")):
        question, answer, label = row.values()
        whole, known = question and answer, label in ("0", "1", "2")
        tables.require(whole, path, number, "빈 글이 아닌 Q와 A가", f"{row}")
        tables.require(known, path, number, "0, 1, 2 가운데 하나인 label이", label)
        found.append(Conversation(question, answer, int(label)))
    return found
