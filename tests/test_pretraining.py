"""먼저 배우기: 가리는 규칙, 배치, 앞만 보는 몸통, 미세 조정."""

import dataclasses
import itertools

import keras
import numpy as np
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes import training
from transformer_notes.checker import check
from transformer_notes.classification import Classifier
from transformer_notes.config import TransformerConfig
from transformer_notes.pretraining import (
    FineTuned,
    LanguageModel,
    MaskedBatches,
    NextTokenBatches,
    mask_tokens,
)

SIZES = {"d_model": 8, "num_heads": 2, "num_layers": 2, "d_ff": 16}
CONFIG = TransformerConfig(21, dropout=0.0, **SIZES)  # 20번이 <mask>
ROWS = [[5, 6, 7, 8, 3], [9, 10, 3], [11, 12, 13, 14, 15, 16, 3]] * 20


def body(causal=False, config=CONFIG):
    keras.utils.set_random_seed(0)
    model = LanguageModel(config, causal)
    model.build()
    return model


@given(seed=st.integers(0, 2**32 - 1))
def test_masking_is_that_of_a_loop_over_tokens(seed):
    rng = np.random.default_rng(seed)
    ids, others = rng.integers(0, 20, (2, 3, 9))
    chance = rng.random((3, 9)) * rng.choice([0.2, 1.0])
    inputs, labels = mask_tokens(ids, chance, others, 20)
    for place in np.ndindex(ids.shape):
        token, number = ids[place], chance[place]
        expected = token, 0
        if token > 3 and number < 0.15:
            changed = 20 if number < 0.12 else others[place]
            expected = token if number >= 0.135 else changed, token
        assert (inputs[place], labels[place]) == expected


def test_the_checker_has_nothing_to_say_of_the_book():
    assert check(mask_tokens, "mask_tokens").passed


def test_of_the_chosen_eight_in_ten_are_masked_and_one_is_kept():
    rng = np.random.default_rng(0)
    ids = rng.integers(4, 1000, (500, 200))
    others = rng.integers(4, 1000, ids.shape)
    inputs, labels = mask_tokens(ids, rng.random(ids.shape), others, 1000)
    chosen = labels > 0
    shares = [
        chosen.mean(),
        (inputs[chosen] == 1000).mean(),
        (inputs[chosen] == ids[chosen]).mean(),
    ]
    np.testing.assert_allclose(shares, [0.15, 0.8, 0.1], atol=0.01)


def test_masked_batches_ask_for_the_hidden_tokens_and_hide_others_next_time():
    data = MaskedBatches(ROWS, 20, tokens=64, seed=1)
    wanted = {tuple(row) for row in ROWS}
    for step in range(2 * len(data)):
        (inputs, places), labels = data.at(step)
        assert places.shape == labels.shape == (1, places.size)
        whole = inputs.copy()
        whole.reshape(-1)[places[0]] = labels[0]  # 답을 채우면 본디의 글입니다
        assert {tuple(row[row > 0]) for row in whole} <= wanted
        again = data.at(step)
        assert all(map(np.array_equal, (inputs, places), again[0]))

    def hidden(epoch):
        steps = range(epoch * len(data), (epoch + 1) * len(data))
        return sorted(tuple(row) for step in steps for row in data.at(step)[0][0])

    assert hidden(0) != hidden(1)


def test_next_token_batches_ask_for_every_next_token():
    rows = [[2, *row] for row in ROWS]
    data = NextTokenBatches(rows, tokens=64, seed=1)
    for (inputs, places), labels in data.epoch():
        batch, place = np.divmod(places[0], inputs.shape[1])
        assert (inputs > 0).sum() == places.size  # 패딩이 아닌 자리 모두
        for row, at, label in zip(inputs[batch], place, labels[0]):
            following = [*row[: at + 1], label]
            assert following in [whole[: len(following)] for whole in rows]


def test_the_causal_body_sees_no_future_and_the_other_one_sees_all():
    ids = np.array([[5, 6, 7, 8, 9, 3]])
    for causal in (True, False):
        model = body(causal)
        before = model.read(ids).numpy()
        for place in range(1, 6):
            changed = ids.copy()
            changed[0, place] = 15
            moved = np.abs(model.read(changed).numpy() - before).max(axis=-1)[0]
            assert (moved[:place] < 1e-6).all() == causal
            assert (moved[place:] > 1e-6).any()


def test_padding_and_neighbours_change_nothing():
    for causal, pad in itertools.product((True, False), (0, 20)):
        model = body(causal, dataclasses.replace(CONFIG, pad_id=pad))
        alone, together = [[5, 6, 3]], [[5, 6, 3, pad, pad], [9, 10, 11, 12, 3]]
        vectors = model.read(together)[:1, :3]
        np.testing.assert_allclose(vectors, model.read(alone), atol=1e-5)
        reader = FineTuned(model, 2)
        logits = [reader((np.array(ids), None))[0] for ids in (alone, together)]
        np.testing.assert_allclose(*logits, atol=1e-5)


def test_training_drops_inside_the_body_too():
    model = body(config=dataclasses.replace(CONFIG, dropout=0.5))
    model.dropout.rate = 0.0
    ids = np.array([[5, 6, 7, 3]])
    calm, dropped = model.read(ids), model.read(ids, training=True)
    assert np.abs(calm - dropped).max() > 0.1


def test_logits_are_those_of_the_asked_places():
    model, data = body(), MaskedBatches(ROWS, 20, tokens=64)
    (inputs, places), _ = data.at(0)
    every = np.arange(inputs.size)[np.newaxis]
    logits = model((inputs, every)).numpy()[:, places[0]]
    np.testing.assert_allclose(model((inputs, places)), logits, atol=1e-5)


def test_fine_tuned_is_the_classifier_with_the_same_weights():
    ids = np.array([[5, 6, 7, 3], [9, 3, 0, 0]])
    ours, classifier = FineTuned(body(), 3), Classifier(CONFIG, 3)
    logits = ours((ids, ids[:, :1]))
    classifier((ids, ids[:, :1]))
    classifier.set_weights(ours.get_weights())
    np.testing.assert_allclose(classifier((ids, ids[:, :1])), logits, atol=1e-5)
    np.testing.assert_allclose(tf.nn.softmax(logits)[..., 0], 0, atol=1e-6)


def test_every_part_has_the_dtype_policy_of_the_model():
    ids = np.array([[5, 6, 7, 3]])
    for policy, dtype in (("float64", "float64"), ("mixed_bfloat16", "float32")):
        model = FineTuned(LanguageModel(CONFIG, dtype=policy), 2, dtype=policy)
        assert model((ids, ids[:, :1])).dtype == dtype
        assert {part.dtype_policy.name for part in model._flatten_layers()} == {policy}


def test_a_body_that_was_read_before_it_was_built_keeps_its_weights():
    ids, asked = np.array([[5, 6, 7, 3]]), np.array([[0]])
    config = dataclasses.replace(CONFIG, positions="learned", tie_embeddings=False)
    model = LanguageModel(config)
    vectors = model.read(ids)
    assert FineTuned(model, 2)((ids, ids[:, :1])).shape == (1, 1, 3)
    assert model((ids, asked)).shape == (1, 1, 21)
    np.testing.assert_array_equal(model.read(ids), vectors)


def test_both_tasks_are_learned_by_the_same_loop_and_then_fine_tuned(tmp_path):
    config = TransformerConfig(21, dropout=0.1, **SIZES)
    for causal, data in (
        (False, MaskedBatches(ROWS, 20, 128)),
        (True, NextTokenBatches([[2, *row] for row in ROWS], 128)),
    ):
        model, folder = body(causal, config), tmp_path / str(causal)
        before = training.evaluate(model, data).loss
        how = {"optimizer": keras.optimizers.Adam(0.01), "progress": False}
        training.train(model, data, 8, folder, label_smoothing=0.0, **how)
        assert training.evaluate(model, data).loss < 0.7 * before
    learned = model.encoder.get_weights()
    pairs = [(row, [2, 1 + (row[0] == 5)]) for row in ROWS]
    reader = FineTuned(model, 2)
    labelled = training.Batches(pairs, 128)
    how = {"optimizer": keras.optimizers.Adam(0.01), "progress": False}
    training.train(reader, labelled, 8, folder / "labels", **how)
    assert training.evaluate(reader, labelled).accuracy == 1
    moved = zip(model.encoder.get_weights(), learned)
    assert any(np.abs(a - b).max() > 1e-3 for a, b in moved)  # 몸통도 배웁니다


def test_a_saved_model_comes_back(tmp_path):
    ids = np.array([[5, 6, 7, 3], [9, 3, 0, 0]])
    for model, inputs in (
        (body(causal=True), (ids, np.array([[0, 2]]))),
        (FineTuned(body(causal=True), 3), (ids, ids[:, :1])),
    ):
        logits = model(inputs)
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        np.testing.assert_allclose(again(inputs), logits, atol=1e-6)
