"""대화 말뭉치가 지키는 약속과, 같은 꼴의 파일을 읽는 법."""

import csv
import fnmatch
import re
import tomllib
import unicodedata
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes import corpora
from transformer_notes.corpora import Conversation

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "transformer_notes" / "corpora" / "conversations.csv"


@pytest.fixture(scope="module")
def pairs():
    return corpora.conversations()


# --- 들어 있는 대화 -----------------------------------------------------------------


def test_there_are_enough_pairs_and_nearly_every_answer_is_its_own(pairs):
    assert len(pairs) >= 800
    assert len({pair.answer for pair in pairs}) >= 700
    assert len({pair.question for pair in pairs}) == len(pairs)


def test_no_two_questions_share_more_than_six_tenths_of_their_four_grams(pairs):
    """공백을 뺀 네 글자 조각의 자카드 유사도. 짧은 물음은 통째로 한 조각입니다."""
    grams = []
    for pair in pairs:
        text = pair.question.replace(" ", "")
        grams.append({text[i : i + 4] for i in range(max(1, len(text) - 3))})
    most = max(len(a & b) / len(a | b) for a, b in combinations(grams, 2))
    assert 0 < most <= 0.6


def test_every_text_is_composed_hangul_without_stray_spaces(pairs):
    for pair in pairs:
        for text in pair[:2]:
            assert text == unicodedata.normalize("NFC", text).strip()
            assert "  " not in text
            assert re.fullmatch(r"[가-힣0-9 .,?!~'ㅋㅎㅠ]+", text), text


def test_questions_and_answers_have_the_promised_lengths(pairs):
    assert all(3 <= len(pair.question) <= 40 for pair in pairs)
    assert all(6 <= len(pair.answer) <= 50 for pair in pairs)


def test_every_label_is_used(pairs):
    assert min(Counter(pair.label for pair in pairs).values()) > 100
    assert {pair.label for pair in pairs} == {0, 1, 2}


def test_no_opening_of_an_answer_wears_out(pairs):
    opening, count = Counter(pair.answer[:4] for pair in pairs).most_common(1)[0]
    assert count <= 0.03 * len(pairs), opening


def test_the_file_comes_with_the_installed_package():
    with open(ROOT / "pyproject.toml", "rb") as file:
        settings = tomllib.load(file)["tool"]["setuptools"]
    patterns = settings["package-data"]["transformer_notes"]
    name = FILE.relative_to(ROOT / "transformer_notes").as_posix()
    assert any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def test_the_file_has_the_columns_of_the_public_one():
    content = FILE.read_bytes()
    assert content.startswith(b"Q,A,label\n") and b"\r" not in content


# --- 같은 꼴의 파일 -----------------------------------------------------------------

words = st.text(st.sampled_from("가나다 ,\"'?ㅋ"), min_size=1).filter(str.strip)


@given(
    st.lists(st.builds(Conversation, words, words, st.integers(0, 2))),
    st.sampled_from(["\n", "\r\n"]),
)
def test_written_conversations_are_read_back(tmp_path_factory, pairs, end):
    path = tmp_path_factory.mktemp("csv") / "chat.csv"
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, lineterminator=end)
        writer.writerows([("Q", "A", "label"), *pairs])
    stripped = [Conversation(q.strip(), a.strip(), label) for q, a, label in pairs]
    assert corpora.load_chatbot_csv(path) == stripped


def test_spaces_around_a_label_do_not_matter(tmp_path):
    """공개된 파일에 실제로 이런 줄이 있습니다."""
    path = tmp_path / "chat.csv"
    path.write_text("Q,A,label\n안녕,네,2   \n", encoding="utf-8")
    assert corpora.load_chatbot_csv(path) == [Conversation("안녕", "네", 2)]


def test_a_row_that_is_no_conversation_is_refused(tmp_path):
    path = tmp_path / "chat.csv"
    for row, named in (
        *((f"안녕,네,{label}", "label") for label in ("3", "일상", "", "1.0")),
        (" ,네,0", "Q와 A"),
        ("안녕,,0", "Q와 A"),
        ("안녕 네 0", "3칸"),
    ):
        path.write_text(f"Q,A,label\n{row}\n", encoding="utf-8")
        with pytest.raises(ValueError, match=f"2번째 줄.*{named}"):
            corpora.load_chatbot_csv(path)
