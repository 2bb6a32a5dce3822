"""손실과 정확도가 지키는 약속."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from transformer_notes.training.losses import (
    MaskedAccuracy,
    MaskedCrossEntropy,
    masked_accuracy,
    masked_cross_entropy,
    target_distribution,
    token_hits,
    token_losses,
)

graphs = pytest.mark.parametrize("jit_compile", [False, True])


def plain_cross_entropy(labels, logits, smoothing, pad_id):
    """반복문과 float64로 쓴, 독립된 구현."""
    losses = []
    vocab_size = logits.shape[-1]
    for label, row in zip(labels.ravel(), logits.reshape(-1, vocab_size)):
        if label == pad_id:
            continue
        row = row.astype(np.float64)
        log_p = row - row.max() - np.log(np.exp(row - row.max()).sum())
        others = [v for v in range(vocab_size) if v not in (label, pad_id)]
        loss = -(1 - smoothing) * log_p[label]
        loss -= sum(smoothing / len(others) * log_p[v] for v in others)
        losses.append(loss)
    return np.mean(losses) if losses else 0.0


@st.composite
def labelled_logits(draw):
    batch, length = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    vocab_size = draw(st.integers(3, 8))
    ids = st.integers(0, vocab_size - 1)
    labels = draw(npst.arrays(np.int32, (batch, length), elements=ids))
    numbers = st.floats(-30, 30, width=32, allow_subnormal=False)
    shape = (batch, length, vocab_size)
    return labels, draw(npst.arrays(np.float32, shape, elements=numbers))


@given(labelled_logits(), st.sampled_from([0.0, 0.1, 0.5]), st.integers(-1, 8))
def test_loss_equals_a_plain_loop(data, smoothing, pad_id):
    labels, logits = data
    ours = masked_cross_entropy(labels, logits, smoothing, pad_id)
    expected = plain_cross_entropy(labels, logits, smoothing, pad_id)
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)


@given(labelled_logits(), st.integers(1, 4), st.sampled_from([0.0, 0.1]))
def test_padding_never_changes_loss_accuracy_or_gradient(data, extra, smoothing):
    labels, logits = data
    longer = np.pad(labels, [(0, 0), (0, extra)])
    for filler in (np.nan, 9.0):
        shape = (len(labels), extra, logits.shape[-1])
        padded = tf.concat([logits, np.full(shape, filler, np.float32)], axis=1)
        with tf.GradientTape() as tape:
            tape.watch(padded)
            loss = masked_cross_entropy(longer, padded, smoothing)
        np.testing.assert_allclose(
            loss, masked_cross_entropy(labels, logits, smoothing), rtol=1e-5
        )
        np.testing.assert_allclose(
            masked_accuracy(longer, padded), masked_accuracy(labels, logits), rtol=1e-6
        )
        gradient = tape.gradient(loss, padded).numpy()
        assert np.isfinite(gradient[:, :-extra]).all()
    assert not gradient[:, -extra:].any()  # 유한한 로짓에서는 0입니다


@given(labelled_logits())
def test_accuracy_equals_counting(data):
    labels, logits = data
    real = labels != 0
    right = (logits.argmax(-1) == labels) & real
    expected = right.sum() / max(real.sum(), 1)
    np.testing.assert_allclose(masked_accuracy(labels, logits), expected, rtol=1e-6)


def test_loss_equals_keras_without_smoothing_and_padding():
    logits = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)
    labels = np.array([[1, 2, 3], [4, 1, 2]])
    keras_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    expected = keras_loss(labels, logits)
    np.testing.assert_allclose(masked_cross_entropy(labels, logits), expected, 1e-6)


def test_smoothing_gives_nothing_to_padding_and_is_smallest_at_its_target():
    best = np.array([1e-30, 0.9, 0.05, 0.05])
    loss = masked_cross_entropy([[1]], np.log(best)[None, None], 0.1)
    expected = -(0.9 * np.log(0.9) + 0.1 * np.log(0.05))
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    for other in ([1e-30, 1, 1e-9, 1e-9], [0.01, 0.89, 0.05, 0.05]):
        logits = np.log(np.array(other))[None, None]
        assert masked_cross_entropy([[1]], logits, 0.1) > loss


@pytest.mark.parametrize("largest", [3.0, 1e38])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_hidden_padding_logit_is_not_nan(smoothing, largest):
    logits = tf.constant([[[-np.inf, 1.0, 2.0, largest]]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = masked_cross_entropy([[1]], logits, smoothing)
    assert np.isfinite(loss)
    assert np.isfinite(tape.gradient(loss, logits)).all()


@graphs
@pytest.mark.parametrize("vocab_size", [1, 4])
@pytest.mark.parametrize("pad_id", [-1, 7])
def test_padding_may_have_an_id_outside_of_the_vocabulary(
    vocab_size, pad_id, jit_compile
):
    logits = np.random.default_rng(0).normal(size=(1, 2, vocab_size))
    loss = tf.function(
        lambda labels: masked_cross_entropy(labels, logits, pad_id=pad_id),
        jit_compile=jit_compile,
    )
    expected = plain_cross_entropy(np.array([[0]]), logits[:, :1], 0.0, pad_id)
    np.testing.assert_allclose(loss(tf.constant([[0, pad_id]])), expected, atol=1e-7)


def test_no_real_token_gives_zero():
    logits = tf.zeros((2, 3, 5))
    assert masked_cross_entropy(tf.zeros((2, 3), tf.int32), logits, 0.1) == 0
    assert masked_accuracy(tf.zeros((2, 3), tf.int32), logits) == 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_loss_is_computed_in_float32_or_better(dtype):
    logits = tf.cast(tf.constant([[[0.0, 12.0, 3.0, 1.0]] * 3000]), dtype)
    labels = tf.ones((1, 3000), tf.int32)
    loss = masked_cross_entropy(labels, logits, 0.1)
    assert loss.dtype == ("float64" if dtype == "float64" else "float32")
    exact = plain_cross_entropy(
        labels.numpy(), tf.cast(logits, "float64").numpy(), 0.1, 0
    )
    np.testing.assert_allclose(loss, exact, rtol=1e-6)
    assert masked_accuracy(labels, logits) == 1


@graphs
def test_loss_and_accuracy_are_the_same_compiled_with_unknown_shapes(jit_compile):
    labels = np.array([[1, 2, 0], [3, 0, 0]], np.int32)
    logits = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    shapes = [tf.TensorSpec(None, tf.int32), tf.TensorSpec(None, tf.float32)]
    smoothed = functools.partial(masked_cross_entropy, label_smoothing=0.1)
    for function in (masked_cross_entropy, smoothed, masked_accuracy):
        compiled = tf.function(
            lambda labels, logits, function=function: function(labels, logits),
            input_signature=shapes,
            jit_compile=jit_compile,
        )
        np.testing.assert_allclose(
            compiled(labels, logits), function(labels, logits), rtol=1e-6
        )


def test_unknown_labels_are_refused():
    logits, labels = tf.zeros((1, 2, 4)), tf.constant([[1, 4]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels"):
        masked_cross_entropy(labels, logits)


def test_the_metric_counts_tokens_where_the_function_averages_batches():
    metric = MaskedAccuracy(pad_id=2)
    logits = tf.one_hot([[1, 1, 1, 1]], 3)
    metric.update_state([[1, 1, 1, 1]], logits)  # 4 가운데 4
    metric.update_state([[0, 2, 2, 2]], logits)  # 1 가운데 0
    assert float(metric.result()) == pytest.approx(4 / 5)
    metric.reset_state()
    assert metric.result() == 0
    assert MaskedAccuracy.from_config(metric.get_config()).pad_id == 2


def test_the_loss_of_a_file_has_the_same_padding_and_smoothing():
    loss = MaskedCrossEntropy(label_smoothing=0.1, pad_id=2)
    again = MaskedCrossEntropy.from_config(loss.get_config())
    labels, logits = [[1, 2]], tf.constant([[[0.0, 1, 2, 3], [0, 0, 9, 9]]])
    expected = masked_cross_entropy(labels, logits, label_smoothing=0.1, pad_id=2)
    assert loss(labels, logits) == again(labels, logits) == expected


@given(labelled_logits(), st.sampled_from([0.0, 0.1]), st.integers(-1, 8))
def test_the_mean_of_the_token_losses_and_hits_is_the_loss_and_the_accuracy(
    data, smoothing, pad_id
):
    labels, logits = data
    losses, real = token_losses(labels, logits, smoothing, pad_id)
    hits, also_real = token_hits(labels, logits, pad_id)
    np.testing.assert_array_equal(real, labels != pad_id)
    np.testing.assert_array_equal(real, also_real)
    assert not losses.numpy()[labels == pad_id].any()
    count = max(np.sum(real), 1)
    np.testing.assert_allclose(
        np.sum(losses) / count,
        masked_cross_entropy(labels, logits, smoothing, pad_id),
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        np.sum(hits) / count, masked_accuracy(labels, logits, pad_id), rtol=1e-6
    )


@given(st.integers(3, 9), st.floats(0.0, 0.9), st.integers(-1, 9))
def test_a_target_is_a_distribution_without_padding(vocab_size, smoothing, pad_id):
    labels = [[v for v in range(vocab_size) if v != pad_id]]
    target = target_distribution(labels, vocab_size, smoothing, pad_id).numpy()
    np.testing.assert_allclose(target.sum(axis=-1), 1, rtol=1e-6)
    for label, row in zip(labels[0], target[0]):
        others = np.delete(row, [v for v in {label, pad_id} if 0 <= v < vocab_size])
        np.testing.assert_allclose(row[label], 1 - smoothing, rtol=1e-6)
        np.testing.assert_allclose(others, smoothing / len(others), atol=1e-6)
        assert not 0 <= pad_id < vocab_size or row[pad_id] == 0


def test_nothing_given_means_no_smoothing_and_padding_zero():
    labels, logits = [[1, 0]], tf.constant([[[0.0, 1, 2], [0, 0, 9]]])
    expected = masked_cross_entropy(labels, logits, label_smoothing=0.0, pad_id=0)
    assert MaskedCrossEntropy()(labels, logits) == expected
    assert tf.reduce_sum(token_losses(labels, logits)[0]) == expected
    np.testing.assert_array_equal(token_hits([[2, 0]], logits), [[[1, 0]]] * 2)
    metric = MaskedAccuracy()
    metric.update_state([[2, 0]], logits)
    assert metric.result() == 1
    assert not target_distribution([[1]], 3, 0.1)[..., 0]


def test_wrong_arguments_of_the_loss_are_refused():
    for labels, logits, options, name in (
        ([[1, 2]], tf.zeros((1, 1, 4)), {}, "labels"),
        ([1, 2], tf.zeros((2, 4)), {}, "labels"),
        ([[1]], tf.zeros((1, 1, 4)), {"label_smoothing": 1.0}, "label_smoothing"),
        ([[1]], tf.zeros((1, 1, 2)), {"label_smoothing": 0.1}, "label_smoothing"),
    ):
        with pytest.raises(ValueError, match=name):
            masked_cross_entropy(labels, logits, **options)
