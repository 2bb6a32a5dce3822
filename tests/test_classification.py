"""분류하는 모델이 지키는 약속."""

import functools
from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import HALF, MODES, caught, random_weights

from transformer_notes import training
from transformer_notes.classification import (
    Classifier,
    classify,
    label_pairs,
    mean_over,
)
from transformer_notes.masking import padding_mask
from transformer_notes.positional_encoding import SCHEMES, PositionalEncoding
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import TransformerConfig

VOCAB = 12
CONFIG = TransformerConfig(
    VOCAB, d_model=8, num_heads=2, num_layers=2, d_ff=12, dropout=0.0
)
TEXTS = ["나는 책을 읽었다", "책", "어제 나는 나는 책을 샀다"]


@functools.cache  # 시험은 가중치를 고치지 않으므로 한 번만 만듭니다
def shared(dtype=None, **changes):
    model = Classifier(replace(CONFIG, **changes), num_labels=3, dtype=dtype)
    model.build()
    return random_weights(model)


@functools.cache
def tokenizer():
    return Tokenizer.train(TEXTS, 40)


def ids(*lengths, seed=0, longest=None):
    """패딩이 없는 줄의 뒤를 0으로 채웁니다."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((len(lengths), longest or max(lengths)), np.int32)
    for row, length in zip(rows, lengths):
        row[:length] = rng.integers(1, VOCAB, length)
    return rows


def logits(model, rows, **options):
    return model((rows, rows[:, :1]), **options)


# --- 식과 같다 ----------------------------------------------------------------------


@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(0, 99))
def test_the_pooled_mean_is_numpys_mean_over_the_real_tokens(lengths, seed):
    x = np.random.default_rng(seed).normal(size=(len(lengths), max(lengths), 5))
    real = np.arange(max(lengths)) < np.array(lengths)[:, None]
    expected = [row[:length].mean(axis=0) for row, length in zip(x, lengths)]
    found = mean_over(tf.constant(x), real)
    assert found.dtype == tf.float64
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_row_without_real_tokens_has_a_finite_mean_and_gradient():
    x = tf.Variable(np.ones((1, 2, 3)))
    with tf.GradientTape() as tape:
        mean = mean_over(x, [[False, False]])
    np.testing.assert_array_equal(mean, np.zeros((1, 3)))
    assert np.isfinite(tape.gradient(mean, x)).all()


@pytest.mark.parametrize("positions", list(SCHEMES))
def test_logits_are_encoder_mean_and_linear_layer(positions):
    model, rows = shared(positions=positions), ids(3, 5)
    x = model.positions(model.embedding(rows))
    position_map = functools.partial(
        model.positions.in_attention, position=np.arange(5)
    )
    mask = padding_mask(rows)
    memory = model.encoder(x, attention_mask=mask, position_map=position_map).numpy()
    means = [memory[0, :3].mean(axis=0), memory[1].mean(axis=0)]
    kernel, bias = model.linear.get_weights()
    found = logits(model, rows)
    assert found.shape == (2, 1, 4) and found.dtype == tf.float32
    np.testing.assert_allclose(found[:, 0, 1:], means @ kernel + bias, atol=1e-4)


@pytest.mark.parametrize("policy", ["float64", *HALF])
def test_every_part_has_the_dtype_policy_of_the_model(policy):
    parts = shared(policy)._flatten_layers()
    assert {part.dtype_policy.name for part in parts} == {policy}


# --- 패딩의 자리 ---------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["float32", "float64", *HALF])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_index_0_has_probability_zero_and_losses_and_gradients_stay_finite(
    policy, smoothing
):
    model, rows = shared(policy), ids(3, 5)
    with tf.GradientTape() as tape:
        found = logits(model, rows, training=True)
        loss = training.masked_cross_entropy([[1], [3]], found, smoothing)
    chances = tf.nn.softmax(tf.cast(found, tf.float64)).numpy()
    assert (chances[..., 0] == 0).all() and np.isfinite(found).all()
    np.testing.assert_allclose(chances.sum(axis=-1), 1, atol=1e-6)
    assert np.isfinite(loss)
    for gradient in tape.gradient(loss, model.trainable_weights):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


def test_the_loss_is_that_of_the_labels_alone():
    """패딩의 자리가 없는 보통의 크로스 엔트로피와 같습니다. 스무딩도 그렇습니다."""
    rows, labels = ids(3, 5, 2, 4), np.array([0, 2, 1, 1])
    found = logits(shared(), rows)
    for smoothing in (0.0, 0.1):
        wanted = np.full((4, 3), smoothing / 2)
        wanted[range(4), labels] = 1 - smoothing
        expected = keras.losses.categorical_crossentropy(
            wanted, found[:, 0, 1:], from_logits=True
        )
        loss = training.masked_cross_entropy(1 + labels[:, None], found, smoothing)
        np.testing.assert_allclose(loss, np.mean(expected), rtol=1e-5)


# --- 성질 ---------------------------------------------------------------------------


@given(length=st.integers(1, 6), padding=st.integers(0, 5), seed=st.integers(0, 99))
def test_padding_never_changes_the_probabilities(length, padding, seed):
    rows = ids(length, length, seed=seed)
    padded = np.pad(rows, [(0, 0), (0, padding)])
    np.testing.assert_allclose(
        logits(shared(), padded), logits(shared(), rows), atol=1e-4
    )


def test_other_texts_never_change_the_probabilities():
    model = Classifier(replace(CONFIG, vocab_size=tokenizer().vocab_size), 2)
    model.build()
    random_weights(model)
    together = classify(model, tokenizer(), TEXTS)
    alone = [classify(model, tokenizer(), [text])[0] for text in TEXTS]
    assert together.dtype == np.float32 and together.shape == (3, 2)
    np.testing.assert_allclose(together, alone, atol=1e-5)
    for batch in (1, 2):
        found = classify(model, tokenizer(), TEXTS, batch)
        np.testing.assert_allclose(found, together, atol=1e-5)
    np.testing.assert_allclose(together.sum(axis=1), 1, atol=1e-6)
    assert np.ptp(together[:, 0]) > 1e-3  # 글마다 다릅니다
    assert classify(model, tokenizer(), []).shape == (0, 2)


@functools.cache
def bare_model():
    """위치를 알리지 않는 모델. 부모는 아무것도 더하지 않습니다."""
    bare = Classifier(CONFIG, 3)
    bare.positions = PositionalEncoding()
    bare.build()
    bare.set_weights(shared().get_weights())
    return bare


@given(st.permutations(range(6)))
def test_without_positions_the_order_of_the_tokens_does_not_matter(order):
    bare, rows = bare_model(), ids(6)
    expected = logits(bare, rows)
    np.testing.assert_allclose(logits(bare, rows[:, order]), expected, atol=1e-4)


def test_with_positions_the_order_of_the_tokens_matters():
    rows = ids(6)
    there, back = logits(shared(), rows), logits(shared(), rows[:, ::-1])
    assert np.abs(there - back).max() > 1e-2


def test_the_targets_that_batches_add_are_not_read():
    rows = ids(3, 5)
    found = shared()((rows, np.full((2, 7), 9, np.int32)))
    np.testing.assert_array_equal(found, logits(shared(), rows))


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_gives_the_same_logits_and_one_graph_serves_every_shape(mode):
    model, traced = shared(), []

    def call(rows):
        traced.append(rows.shape)
        return logits(model, rows)

    function = MODES[mode](call)
    if mode == "graph":
        function = tf.function(call, [tf.TensorSpec((None, None), tf.int32)])
    for rows in (ids(3, 5), ids(2)):
        found = function(tf.constant(rows))
        np.testing.assert_allclose(found, logits(model, rows), atol=1e-4)
    if mode == "graph":
        assert len(traced) == 1


def test_weights_come_along_when_asked_for():
    rows = ids(3, 5)
    found, weights, _ = shared()((rows, rows[:, :1]), return_weights=True)
    np.testing.assert_array_equal(found, logits(shared(), rows))
    assert [w.shape for w in weights] == [(2, 2, 5, 5)] * 2
    assert np.abs(weights[0][0, :, :, 3:]).max() == 0  # 패딩은 보지 않습니다


def test_dropout_is_for_training_only():
    model, rows = shared(dropout=0.5), ids(6)
    calm = logits(model, rows)
    np.testing.assert_array_equal(logits(model, rows, training=False), calm)
    assert np.abs(logits(model, rows, training=True) - calm).max() > 1e-3


# --- 학습과 저장 ---------------------------------------------------------------------


def test_training_and_scoring_take_it_as_it_is_and_a_toy_is_learned(tmp_path):
    """글에 7이 있는지 없는지. 다른 글에서도 모두 맞힙니다."""
    rng = np.random.default_rng(0)
    keras.utils.set_random_seed(0)

    def examples(count):
        rows = rng.integers(4, VOCAB, size=(count, 5))
        return [(row, [2, 1 + int(7 in row)]) for row in rows]

    data, held_out = (training.Batches(examples(n), tokens=160) for n in (400, 100))
    model = Classifier(replace(CONFIG, num_layers=1, d_model=16, d_ff=32), 2)
    training.train(
        model,
        data,
        20,
        tmp_path,
        optimizer=keras.optimizers.Adam(0.01),
        progress=False,
    )
    assert training.evaluate(model, held_out).accuracy == 1.0


@pytest.mark.parametrize("positions", list(SCHEMES))
def test_a_keras_file_round_trips_with_equal_logits(positions, tmp_path):
    model, rows = shared(positions=positions), ids(3, 5)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(logits(loaded, rows), logits(model, rows))
    assert (loaded.config, loaded.num_labels) == (model.config, 3)


def test_building_twice_keeps_the_weights():
    model = Classifier(CONFIG, 2)
    model.build()
    before = model.get_weights()
    model.build()
    assert len(model.weights) == len(before)
    np.testing.assert_array_equal(model.get_weights()[0], before[0])


# --- 짝과 거절 -----------------------------------------------------------------------


def test_pairs_hold_the_closed_text_and_the_label_after_bos():
    pairs = label_pairs(tokenizer(), TEXTS, np.array([0, 1, 2]))
    for text, label, (source, target) in zip(TEXTS, range(3), pairs):
        np.testing.assert_array_equal(source, tokenizer().encode(text, eos=True))
        assert target == [tokenizer().bos_id, 1 + label]
    (_, targets), labels = training.Batches(pairs, 100).at(0)
    assert targets.shape == labels.shape == (3, 1) and set(labels[:, 0]) == {1, 2, 3}


def test_wrong_inputs_are_refused():
    for call, kind, name in (
        (lambda: Classifier(replace(CONFIG, pad_id=3), 2), ValueError, "pad_id=3"),
        (
            lambda: Classifier(replace(CONFIG, source_vocab_size=5), 2),
            ValueError,
            "source_vocab_size=5",
        ),
        (lambda: shared()(ids(3)), ValueError, "source_ids"),
        (lambda: shared()(([[1.0]], [[2]])), TypeError, "source_ids"),
        (lambda: classify(shared(), tokenizer(), "책"), TypeError, "texts"),
        (lambda: classify(shared(), tokenizer(), ["책", ""]), ValueError, "texts"),
        (lambda: classify(shared(), tokenizer(), ["책"], -1), ValueError, "batch"),
        (lambda: label_pairs(tokenizer(), ["책"], []), ValueError, "shorter"),
        (lambda: label_pairs(tokenizer(), ["책"], [-1]), ValueError, "labels"),
    ):
        assert name in caught(kind, call), name
