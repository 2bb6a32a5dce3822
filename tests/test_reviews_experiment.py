"""「감상평 읽기」의 결과를 만드는 프로그램이 지키는 약속."""

import classification as program
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes.classification import Classifier
from transformer_notes.corpora import Review
from transformer_notes.transformer import TransformerConfig

probability = st.floats(0, 1, width=32)


@pytest.fixture
def reviews(monkeypatch):
    """영화 마흔 편의 감상평. 어느 영화에나 같은 글이 하나씩 있습니다."""
    found = [
        Review("굿" if place == 0 else f"{film}번 영화의 {place}번 글", place % 2, film)
        for film in map(str, range(40))
        for place in range(10)
    ]
    monkeypatch.setattr(program, "reviews", lambda: found)
    monkeypatch.setitem(program.SETTINGS, "random_test", 100)
    return found


@pytest.mark.parametrize("split", ["film", "random"])
def test_less_data_is_learned_from_and_the_same_is_tested(reviews, split):
    every = program.split_reviews(split, 1)
    some = program.split_reviews(split, 1, share=0.5)
    assert sorted(map(id, sum(every, []))) == sorted(map(id, reviews))
    assert every[2] == some[2]
    for whole, half in zip(every[:2], some[:2]):
        assert set(map(id, half)) < set(map(id, whole))
        assert len(half) == -(-len(whole) // 2)


def test_no_film_is_on_two_sides(reviews):
    sides = [
        {review.film for review in part} for part in program.split_reviews("film", 1)
    ]
    assert sum(map(len, sides)) == len(set.union(*sides)) == 40


def test_texts_that_were_learned_are_counted_apart(reviews):
    _, _, test = program.split_reviews("film", 1)
    truth = np.array([review.label for review in test])
    wrong_on_met = np.where([r.text == "굿" for r in test], 1 - truth, truth)
    found = program.reported(wrong_on_met.astype(float), test, ["굿"])
    assert found["fresh"] == len(test) - sum(r.text == "굿" for r in test)
    assert found["fresh_accuracy"] == found["fresh_macro_f1"] == 1 > found["accuracy"]
    assert {text for text, _, _ in found["wrong"]} == {"굿"}


@given(st.lists(st.tuples(probability, st.integers(0, 1)), min_size=1))
def test_scores_are_rates_of_the_same_reviews(pairs):
    p, truth = map(np.array, zip(*pairs))
    found = program.scored(p, truth)
    confusion = np.array(found["confusion"])
    assert confusion.sum() == sum(count for count, _, _ in found["bins"]) == len(pairs)
    assert found["accuracy"] == pytest.approx(
        np.trace(confusion) / len(pairs), abs=1e-5
    )
    assert 0 <= found["ece"] <= 1


@given(st.lists(st.integers(0, 1), min_size=1))
def test_certainty_that_is_right_is_calibrated_and_certainty_that_is_wrong_is_not(
    truth,
):
    truth = np.array(truth)
    assert program.scored(truth.astype(float), truth)["ece"] == 0
    assert program.scored(1.0 - truth, truth)["ece"] == 1


def test_one_text_under_every_film_makes_one_group(reviews):
    assert program.one_group(reviews) == 1
    assert program.one_group([r for r in reviews if r.text != "굿"]) == 1 / 40


def test_attention_is_uniform_inside_and_as_it_was_after():
    config = TransformerConfig(20, d_model=8, num_heads=2, num_layers=2, d_ff=16)
    model = Classifier(config, 2)
    ids = np.array([[5, 6, 7, 0]])
    before = model((ids, ids[:, :1]))
    with program.uniform_attention(model):
        layers = model((ids, ids[:, :1]), return_weights=True).weights
        for weights in layers:
            np.testing.assert_allclose(weights[..., :3], 1 / 3, atol=1e-6)
    np.testing.assert_array_equal(before, model((ids, ids[:, :1])))


def test_what_was_attended_to_is_shared_out_among_the_tokens():
    config = TransformerConfig(20, d_model=8, num_heads=2, num_layers=2, d_ff=16)
    model, rows = Classifier(config, 2), [np.array([5, 6, 7, 3]), np.array([8, 3])]
    found = program.attended(model, rows)
    for values in found.values():
        assert [len(each) for each in values] == [3, 1]  # <eos>는 뺍니다
        assert all((each > 0).all() and each.sum() < 1 for each in values)


def test_removing_finds_the_token_that_decides():
    """7번 토큰이 있으면 긍정이라고 하는 모델에서, 하나씩 빼 보면 그 토큰이 나옵니다."""
    config = TransformerConfig(20, d_model=8, num_heads=2, num_layers=1, d_ff=16)
    rng = np.random.default_rng(0)
    ids = rng.integers(8, 20, size=(30, 16)).astype(np.int32)
    ids[np.arange(30), rng.integers(0, 15, size=30)] = 7
    ids[:, -1] = 3

    def probabilities(ids):
        return np.where((ids == 7).any(axis=1), 0.9, 0.2)

    class Words:
        vocabulary, pad_id = [str(i) for i in range(20)], 0

        def decode(self, rows):
            return [" ".join(map(str, row)) for row in rows]

    class Other:
        def decision_function(self, texts):
            return np.array([text.split().count("7") - 0.5 for text in texts])

    found = program.removal(
        Classifier(config, 2), probabilities, Words(), ids, Other(), 1
    )
    for name in ("one_out", "linear"):
        assert found["by"][name]["1"] == pytest.approx([0.7, 1.0])
    assert found["ranks"]["linear"] == 1
    assert found["by"]["random"]["1"][1] < 0.5
