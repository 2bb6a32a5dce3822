"""검사기가 임베딩, 피드포워드, 층 정규화의 실수를 알아봅니다."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from transformer_notes.add_norm import AddAndNorm
from transformer_notes.checker import check
from transformer_notes.embedding import TokenEmbedding
from transformer_notes.feed_forward import PositionwiseFeedForward

# ---------------------------------------------------------------- 임베딩


def table(vocab_size, d_model, scale=None):
    vectors = np.random.normal(size=(vocab_size, d_model))
    scale = d_model**0.5 if scale is None else scale(d_model)
    return lambda ids: vectors[ids] * scale


class OneHot(keras.layers.Layer):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.size = vocab_size
        self.dense = keras.layers.Dense(d_model, use_bias=False)

    def call(self, ids):
        hot = self.dense(tf.one_hot(ids, self.size))
        return hot * tf.sqrt(float(hot.shape[-1]))


@pytest.mark.parametrize(
    "candidate",
    [
        *(table, table(9, 6), OneHot),
        *(TokenEmbedding, TokenEmbedding(30, 4)),
    ],
)
def test_honest_embeddings_are_right(candidate):
    report = check(candidate, "embedding")
    assert (report.passed, report.mistakes) == (True, ()), str(report)


@pytest.mark.parametrize(
    "candidate",
    [
        keras.layers.Embedding,
        lambda vocab_size, d_model: table(vocab_size, d_model, lambda d: d**-0.5),
        lambda vocab_size, d_model: table(vocab_size, d_model, lambda d: 1),
    ],
)
def test_an_embedding_divided_or_left_alone_is_mistake_22(candidate):
    assert check(candidate, "embedding").mistakes == (22,)


def test_another_scale_is_none_of_the_known_mistakes():
    report = check(lambda v, d: table(v, d, lambda d: d), "embedding")
    assert (report.passed, report.mistakes) == (False, ())


# ---------------------------------------------------------------- 피드포워드


def convolutions(d_model, d_ff):
    return keras.Sequential(
        [
            keras.layers.Conv1D(d_ff, 1, activation="relu"),
            keras.layers.Conv1D(d_model, 1),
        ]
    )


def written_out(d_model, d_ff):
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(d_model, d_ff)), rng.normal(size=(d_ff, d_model))
    third, last = rng.normal(size=d_ff), rng.normal(size=d_model)

    def call(inputs):
        return np.maximum(inputs @ first + third, 0) @ second + last

    return call


def rounded(d_model, d_ff):
    """bfloat16으로 계산하는 것. 큰 입력에서 백분의 이쯤 어긋납니다."""
    rng = np.random.default_rng(3)
    wide, narrow = rng.normal(size=(d_model, d_ff)), rng.normal(size=(d_ff, d_model))

    def half(x):
        return tf.cast(x, tf.bfloat16)

    return lambda x: tf.nn.relu(half(x) @ half(wide)) @ half(narrow)


@pytest.mark.parametrize(
    "candidate",
    [
        *(convolutions, written_out, written_out(5, 11), rounded),
        *(PositionwiseFeedForward, PositionwiseFeedForward(8, 16)),
    ],
)
def test_honest_feed_forward_is_right(candidate):
    report = check(candidate, "feed_forward")
    assert (report.passed, report.mistakes) == (True, ()), str(report)
    assert "성질만" not in str(report)


def test_an_activation_that_differs_only_for_large_numbers_is_wrong():
    def capped(d_model, d_ff):
        rng = np.random.default_rng(1)
        wide = rng.normal(size=(d_model, d_ff))
        narrow = rng.normal(size=(d_ff, d_model))
        return lambda inputs: np.clip(inputs @ wide, 0, 6) @ narrow

    assert check(capped, "feed_forward").verdict == "wrong"


def test_weights_that_do_not_fit_the_formula_are_shown():
    def gated(d_model, d_ff):
        rng = np.random.default_rng(1)
        gate, wide = rng.normal(size=(2, d_model, d_ff))
        narrow = rng.normal(size=(d_ff, d_model))
        return lambda x: np.tanh(x @ gate) * (x @ wide) @ narrow

    report = check(gated, "feed_forward")
    assert report.verdict == "unjudged"
    assert "모양: (2, 3), (3, 2), (2, 3)." in str(report), str(report)


def test_what_cannot_be_read_is_said():
    class Secret:
        __slots__ = ()

        def __call__(self, x):
            return np.tanh(x)

    report = check(Secret(), "feed_forward")
    assert report.verdict == "unjudged" and "가중치를 읽지 못했습니다" in str(report)


# ---------------------------------------------------------------- 층 정규화


def mixed_up(d_model):
    """하위 층을 함수로 받아, 정규화한 것에 더하는 사람."""
    norm = keras.layers.LayerNormalization()

    def call(x, sublayer):
        x = norm(x)
        return norm(x + sublayer(x))

    return call


def test_a_residual_from_the_normalised_input_is_seen_through_a_callable():
    assert check(mixed_up, "add_norm").mistakes == (28,)


class Pre(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = keras.layers.LayerNormalization(epsilon=1e-5)

    def call(self, x, sublayer, training=None):
        return x + sublayer(self.norm(x))


def bare(x, y):
    total = x + y
    centered = total - total.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-8)


def half(x, y):
    total = (x + y).astype("float16")
    centered = total - total.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize(
    "candidate",
    [Pre, Pre(), AddAndNorm, AddAndNorm(norm_first=True), bare, half],
)
def test_honest_norms_are_right(candidate):
    report = check(candidate, "add_norm")
    assert (report.passed, report.mistakes) == (True, ()), str(report)
    before = isinstance(candidate, Pre) or getattr(candidate, "norm_first", False)
    assert ("pre-norm" in str(report)) == (before or candidate is Pre)


@pytest.mark.parametrize(
    "candidate, known",
    [
        (lambda x, y: x + y, (50,)),
        (lambda x, y: bare(0 * x, y), (48,)),
        (lambda x, y: y, (48, 50)),
        (lambda x, y: bare(2 * x, y), (49,)),
    ],
)
def test_a_missing_norm_or_residual_is_named(candidate, known):
    report = check(candidate, "add_norm")
    assert (report.passed, report.mistakes) == (False, known)
