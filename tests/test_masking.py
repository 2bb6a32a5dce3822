"""마스크가 지키는 약속."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import MODES, every_mode

from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.masking import look_ahead_mask, padding_mask

INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]


@st.composite
def padded_ids(draw):
    """뒤를 `pad_id`로 채운 토큰 번호의 배치와 그 `pad_id`입니다."""
    batch, length = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    pad_id = draw(st.integers(0, 9))
    others = st.integers(0, 100).filter(lambda token: token != pad_id)
    ids = np.full((batch, length), pad_id, draw(st.sampled_from(INTEGERS)))
    for row in ids:
        for position in range(draw(st.integers(0, length))):
            row[position] = draw(others)
    return ids, pad_id


def sentences(batch, length, depth, seed=0):
    generator = np.random.default_rng(seed)
    return generator.normal(size=(3, batch, 2, length, depth))  # 가운데 2는 헤드


# --- 패딩 마스크 --------------------------------------------------------------------


@given(padded_ids())
def test_padding_mask_is_true_exactly_at_the_real_tokens(case):
    ids, pad_id = case
    mask = padding_mask(ids, pad_id)
    assert mask.dtype == tf.bool
    assert mask.shape == (ids.shape[0], 1, 1, ids.shape[1])
    np.testing.assert_array_equal(mask[:, 0, 0], ids != pad_id)


@given(padded_ids())
def test_padding_mask_equals_the_mask_of_the_keras_embedding(case):
    ids, pad_id = case
    ids = np.where(ids == pad_id, 0, ids + 1)  # Keras의 패딩은 언제나 0입니다.
    expected = keras.layers.Embedding(300, 4, mask_zero=True).compute_mask(ids)
    np.testing.assert_array_equal(padding_mask(ids)[:, 0, 0], expected)


@given(padded_ids(), st.integers(1, 4))
def test_padding_never_changes_other_positions(case, extra):
    ids, pad_id = case
    batch, length = ids.shape
    query, key, value = sentences(batch, length + extra, 4)
    longer = np.concatenate([ids, np.full((batch, extra), pad_id, ids.dtype)], axis=1)
    short = slice(None, length)
    expected, _ = scaled_dot_product_attention(
        query, key[..., short, :], value[..., short, :], padding_mask(ids, pad_id)
    )
    output, weights = scaled_dot_product_attention(
        query, key, value, padding_mask(longer, pad_id)
    )
    np.testing.assert_allclose(output, expected, atol=1e-13)
    assert np.all(weights.numpy()[..., length:] == 0)


def test_padding_hides_columns_and_leaves_every_row():
    ids = [[5, 7, 0]]
    query, key, value = sentences(1, 3, 4)
    _, weights = scaled_dot_product_attention(query, key, value, padding_mask(ids))
    assert np.all(weights.numpy()[..., 2] == 0)
    np.testing.assert_allclose(weights.numpy().sum(-1), 1)


@every_mode
def test_padding_mask_takes_every_integer_dtype(mode):
    masked = MODES[mode](lambda ids: padding_mask(ids, pad_id=3))
    for dtype in INTEGERS:
        mask = masked(tf.constant([[1, 3, 3], [2, 0, 3]], dtype))
        np.testing.assert_array_equal(
            mask[:, 0, 0], [[True, False, False], [True, True, False]], f"{dtype}"
        )


@pytest.mark.parametrize("shape", [(None, None), None], ids=["lengths", "rank"])
def test_padding_mask_serves_every_shape_in_one_graph(shape):
    graph = tf.function(padding_mask, input_signature=[tf.TensorSpec(shape, tf.int32)])
    for ids in ([[1, 0]], [[1, 2, 0], [0, 0, 0]]):
        np.testing.assert_array_equal(graph(ids)[:, 0, 0], np.array(ids) != 0)


@pytest.mark.parametrize("pad_id", [2, np.int64(2), tf.constant(2)])
def test_pad_id_may_be_any_single_integer(pad_id):
    np.testing.assert_array_equal(padding_mask([[2, 1]], pad_id), [[[[False, True]]]])


# --- 룩어헤드 마스크 ----------------------------------------------------------------


@given(st.integers(1, 12))
def test_each_position_sees_itself_and_everything_before_it(length):
    mask = look_ahead_mask(length)
    assert mask.dtype == tf.bool
    assert mask.shape == (1, 1, length, length)
    for query in range(length):
        np.testing.assert_array_equal(
            np.flatnonzero(mask[0, 0, query]), np.arange(query + 1)
        )


@given(st.integers(1, 6))
def test_look_ahead_mask_equals_the_causal_attention_of_keras(length):
    query, key, value = (tf.cast(t, tf.float32) for t in sentences(2, length, 4))
    output, _ = scaled_dot_product_attention(query, key, value, look_ahead_mask(length))
    heads_third = [0, 2, 1, 3]
    expected = keras.ops.dot_product_attention(
        *(tf.transpose(t, heads_third) for t in (query, key, value)), is_causal=True
    )
    np.testing.assert_allclose(
        output, tf.transpose(expected, heads_third), rtol=1e-5, atol=1e-5
    )


@given(st.integers(2, 6), st.data())
def test_later_positions_never_change_earlier_outputs(length, data):
    first_changed = data.draw(st.integers(1, length - 1))
    tensors = sentences(2, length, 4)
    changed = tensors.copy()
    changed[..., first_changed:, :] = sentences(2, length, 4, seed=1)[
        ..., first_changed:, :
    ]
    before, _ = scaled_dot_product_attention(*tensors, look_ahead_mask(length))
    after, _ = scaled_dot_product_attention(*changed, look_ahead_mask(length))
    np.testing.assert_array_equal(
        before[..., :first_changed, :], after[..., :first_changed, :]
    )
    assert not np.allclose(
        before[..., first_changed:, :], after[..., first_changed:, :]
    )


def test_look_ahead_mask_takes_a_variable():
    assert look_ahead_mask(tf.Variable(2)).shape == (1, 1, 2, 2)


@every_mode
def test_look_ahead_mask_follows_the_length_of_its_input(mode):
    run = MODES[mode](lambda ids: look_ahead_mask(tf.shape(ids)[1]))
    for length in (1, 4):
        np.testing.assert_array_equal(
            run(tf.zeros((2, length), tf.int32))[0, 0],
            np.tril(np.ones((length, length), bool)),
        )


# --- 둘을 함께 ----------------------------------------------------------------------


@given(padded_ids())
def test_combined_masks_show_real_tokens_that_are_not_later(case):
    ids, pad_id = case
    batch, length = ids.shape
    mask = padding_mask(ids, pad_id) & look_ahead_mask(length)
    assert mask.shape == (batch, 1, length, length)
    for row, query, key in np.ndindex(batch, length, length):
        visible = key <= query and ids[row, key] != pad_id
        assert mask[row, 0, query, key].numpy() == visible


@every_mode
def test_a_position_that_sees_nothing_gives_zero_and_a_finite_gradient(mode):
    def attend(x, ids):
        mask = padding_mask(ids) & look_ahead_mask(tf.shape(ids)[1])
        with tf.GradientTape() as tape:
            tape.watch(x)
            output, weights = scaled_dot_product_attention(x, x, x, mask)
        return output, weights, tape.gradient(output, x)

    x = tf.constant(sentences(1, 3, 4)[0])
    ids = tf.constant([[0, 5, 6]])  # 앞을 채우면 첫 자리가 볼 것이 없습니다.
    output, weights, gradient = MODES[mode](attend)(x, ids)
    np.testing.assert_array_equal(output[..., 0, :], 0)
    np.testing.assert_array_equal(weights[..., 0, :], 0)
    np.testing.assert_array_equal(weights[..., 1, :], [[[0, 1, 0]] * 2])
    assert np.isfinite(gradient).all()


# --- 틀린 입력은 말로 알려 준다 -----------------------------------------------------


def test_a_pad_id_that_no_small_dtype_holds_hides_nothing():
    ids = tf.constant([[0, 44, 255]], tf.uint8)  # 300은 44로, -1은 255로 감깁니다
    for pad_id in (300, -1):
        assert np.all(padding_mask(ids, pad_id)), pad_id


def test_ids_that_are_no_batch_of_integers_are_refused():
    for ids, kind in (
        ([[1.0]], TypeError),
        ([1, 2], ValueError),
    ):
        with pytest.raises(kind, match="token_ids"):
            padding_mask(ids)
    with pytest.raises(ValueError):  # TensorFlow가 거절합니다
        padding_mask([[1], [2, 3]])
