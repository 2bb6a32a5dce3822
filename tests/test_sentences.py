"""문서의 글을 문장의 짝으로 다듬는 일이 지키는 약속."""

from hypothesis import given
from hypothesis import strategies as st

from transformer_notes.corpora.sentences import (
    clean_markup,
    identifiers,
    letters,
    sentence_pairs,
)

marked = st.text("ab `_:\n", max_size=20)
prose = st.lists(
    st.sampled_from(["Return 0.", "e.g. os.", "왜?", "(끝.)", "ab", "나."])
)


@given(marked)
def test_cleaning_again_changes_nothing(text):
    once = clean_markup(text)
    assert clean_markup(once) == once
    assert not once.endswith("::") and "  " not in once


@given(marked)
def test_cleaning_takes_away_marks_and_never_letters(text):
    kept = [c for c in text if c in "ab"]
    assert [c for c in clean_markup(text) if c in "ab"] == kept


@given(prose, prose)
def test_splitting_loses_no_word_of_either_side(source, target):
    pairs = sentence_pairs(" ".join(source), " ".join(target))
    for texts, whole in zip(zip(*pairs), (source, target)):
        assert " ".join(texts).split() == " ".join(whole).split()


def test_sentences_that_cannot_be_paired_stay_together():
    for source, target in [
        ("One. Two.", "하나이고 둘입니다."),  # 수가 다릅니다
        ("A long sentence of many words. Return it.", "둘. 돌려줍니다."),  # 짧습니다
        ("Stop. Return it.", "그만두고 기다려 주세요. 돌려줍니다."),  # 깁니다
    ]:
        assert sentence_pairs(source, target) == [(source, target)]


def test_an_abbreviation_does_not_end_a_sentence():
    for short in ("e.g.", "E.g.", "i.e.", "etc.", "vs."):
        text = f"Use it, {short} here."
        assert sentence_pairs(text, text) == [(text, text)]


def test_a_closing_bracket_belongs_to_its_sentence():
    pairs = sentence_pairs("(See os.) Stop.", "(os를 보세요.) 끝.")
    assert pairs == [("(See os.)", "(os를 보세요.)"), ("Stop.", "끝.")]


def test_letters_ignore_case_digits_and_marks_and_see_every_other_word():
    assert letters("In 3.7, a_b!") == letters("in 3.12: A B") == "in a b"
    assert letters("Ärger 책을") != letters("Arger 책을")


def test_identifiers_look_like_code_and_end_where_hangul_begins():
    for text, names in (
        ("os.path를 보고", {"os.path"}),
        ("max_workers, ThreadPool과", {"max_workers", "ThreadPool"}),
        ("__init__", {"__init__"}),
        ("Return the data. None of NULL", set()),
        ("끝입니다 io.open.", {"io.open"}),
        ("e.g. 3.7 or i.e. x.", set()),
    ):
        assert identifiers(text) == names
