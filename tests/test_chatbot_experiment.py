"""「챗봇」의 결과를 만드는 프로그램이 지키는 약속: 새지 않게 나누고 바르게 센다."""

import itertools

import chatbot
import numpy as np
import pytest

from transformer_notes import corpora, training

PAIRS = [
    corpora.Conversation(question, answer, 0)
    for number in range(40)
    for question, answer in (
        (f"물음 {number}", f"답 {number // 2}"),
        (f"물음{number}!", f"다른 답 {number}"),
    )
]


def test_nothing_is_shared_across_the_parts_that_are_held_out_together():
    parts = chatbot.divide(PAIRS, "components")
    keys = [{key for pair in part for key in chatbot.together(pair)} for part in parts]
    assert sum(map(len, parts)) == len(PAIRS) and all(parts)
    for one, other in itertools.combinations(keys, 2):
        assert one.isdisjoint(other)
    train, _, test = chatbot.divide(PAIRS, "random")
    seen = {key for pair in train for key in chatbot.together(pair)}
    assert any(key in seen for pair in test for key in chatbot.together(pair))


def test_answers_are_counted():
    pairs = [corpora.Conversation("ㄱ", "맛있게 드세요.", 0)] * 3
    given = ["맛있게 드세요.", "맛있게 드세요!", "푹 쉬세요."]
    found = chatbot.scores(given, pairs, pairs)
    assert found["distinct_1"] == pytest.approx(4 / 6, abs=1e-4)
    assert found["distinct_2"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["exact"] == found["from_training"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["kinds"] == 1 and found["top_share"] == pytest.approx(1 / 3, abs=1e-4)
    assert chatbot.scores(["", ""], pairs[:2], pairs)["empty"] == 1


def test_the_nearest_question_is_found():
    train = [
        corpora.Conversation("오늘 날씨가 좋다", "산책해요", 0),
        corpora.Conversation("배가 고프다", "밥 먹어요", 0),
    ]
    asked = [corpora.Conversation("배 고프다", "", 0)]
    for analyzer in chatbot.ANALYZERS:
        assert chatbot.retrieved(analyzer, train, asked) == ["밥 먹어요"]


def test_the_published_way_divides_by_the_padding_too():
    """손실은 진짜 자리의 몫만큼 줄고, 진짜 자리를 다 맞혀도 그 몫을 넘지 못합니다."""
    pairs = corpora.conversations()[:20]
    tokenizer = chatbot.tokenizer_of(pairs, 400)
    model = chatbot.build(tokenizer, 1, 0.0, "pre")
    loss, accuracy, real = chatbot.published(model, tokenizer, pairs)
    data = chatbot.batches(tokenizer, pairs)
    right = training.evaluate(model, data)
    assert loss == pytest.approx(right.loss * real, rel=1e-3)
    assert accuracy >= right.accuracy * real - 1e-3
    assert 0 < real < 1
    lengths = [len(answer) - 1 for _, answer in chatbot.lean(tokenizer, pairs)]
    assert real == pytest.approx(np.mean(lengths) / chatbot.SETTINGS["width"], abs=1e-4)
