"""스케일드 닷 프로덕트 어텐션이 지키는 약속."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import MODES, every_mode

from transformer_notes.attention import scaled_dot_product_attention

DTYPES = ["float16", "bfloat16", "float32", "float64"]
# 가중치는 1 이하이므로 dtype마다 1 근처의 간격 몇 개만큼을 허용합니다.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}


def by_loops(query, key, value, mask):
    """식을 정의 그대로, 원소마다 float64로 셈합니다. 앞쪽 차원은 모두 같아야 합니다."""
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    weights = np.zeros((*query.shape[:-1], key.shape[-2]))
    for row in np.ndindex(query.shape[:-1]):
        batch = row[:-1]
        visible = np.flatnonzero(mask[row])
        powers = [
            np.exp(np.dot(query[row], key[(*batch, j)]) / query.shape[-1] ** 0.5)
            for j in visible
        ]
        for j, power in zip(visible, powers):
            weights[(*row, j)] = power / sum(powers)
            output[row] += weights[(*row, j)] * value[(*batch, j)]
    return output, weights


@st.composite
def cases(draw, ranks=(2, 3, 4), hidden=True):
    """무작위 모양과 값의 (query, key, value, mask)입니다."""
    rank = draw(st.sampled_from(ranks))
    batch = tuple(draw(st.integers(1, 3)) for _ in range(rank - 2))
    length_q, length_k, d_k, d_v = (draw(st.integers(1, 5)) for _ in range(4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    query = generator.normal(size=(*batch, length_q, d_k))
    key = generator.normal(size=(*batch, length_k, d_k))
    value = generator.normal(size=(*batch, length_k, d_v))
    mask = generator.random((*batch, length_q, length_k)) < draw(st.floats(0, 1))
    if not hidden:  # 행마다 볼 키를 하나는 남깁니다.
        mask[..., generator.integers(length_k)] = True
    return query, key, value, mask


def as_floats(*arrays, dtype="float32"):
    return [tf.cast(array, dtype) for array in arrays]


# --- 다른 구현과 같다 ---------------------------------------------------------------


@given(cases())
def test_equals_the_formula_computed_element_by_element(case):
    expected_output, expected_weights = by_loops(*case)
    output, weights = scaled_dot_product_attention(*case)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-13)
    np.testing.assert_allclose(output, expected_output, atol=1e-13)


@given(cases())
def test_no_mask_means_every_key_is_visible(case):
    query, key, value, mask = case
    plain = scaled_dot_product_attention(query, key, value)
    full = scaled_dot_product_attention(query, key, value, np.ones_like(mask))
    expected = by_loops(query, key, value, np.ones_like(mask))
    for given_, same, reference in zip(plain, full, expected):
        np.testing.assert_allclose(given_, reference, atol=1e-13)
        np.testing.assert_array_equal(given_, same)


@given(cases(ranks=[4], hidden=False))
def test_equals_keras_dot_product_attention(case):
    *tensors, mask = case
    query, key, value = as_floats(*tensors)
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    heads_third = [0, 2, 1, 3]  # Keras의 축은 (batch, length, heads, depth)입니다.
    expected = keras.ops.dot_product_attention(
        *(tf.transpose(t, heads_third) for t in (query, key, value)), mask=mask
    )
    np.testing.assert_allclose(
        output, tf.transpose(expected, heads_third), rtol=1e-5, atol=1e-5
    )


@pytest.mark.filterwarnings("ignore:.*softmax over axis.*has size 1")
@given(cases(ranks=[3]))
def test_equals_the_keras_attention_layer_once_the_query_is_scaled(case):
    query, key, value = as_floats(*case[:3])
    output, weights = scaled_dot_product_attention(query, key, value)
    layer = keras.layers.Attention(use_scale=False)
    expected_output, expected_weights = layer(
        [query / query.shape[-1] ** 0.5, value, key], return_attention_scores=True
    )
    np.testing.assert_allclose(weights, expected_weights, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(output, expected_output, rtol=1e-5, atol=1e-5)


# --- 가중 평균이다 ------------------------------------------------------------------


@given(cases())
def test_each_row_of_weights_sums_to_one_or_is_empty(case):
    *tensors, mask = case
    _, weights = scaled_dot_product_attention(*tensors, mask)
    assert np.all(weights.numpy() >= 0)
    assert np.all(weights.numpy()[~mask] == 0)
    np.testing.assert_allclose(
        weights.numpy().sum(-1), mask.any(-1).astype(float), atol=1e-12
    )


@given(cases(hidden=False))
def test_output_never_leaves_the_range_of_the_visible_values(case):
    query, key, value, mask = case
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    visible = mask[..., np.newaxis]  # (..., length_q, length_k, 1)
    spread = np.broadcast_to(
        value[..., np.newaxis, :, :], (*mask.shape, value.shape[-1])
    )
    low = np.where(visible, spread, np.inf).min(-2)
    high = np.where(visible, spread, -np.inf).max(-2)
    assert np.all(output.numpy() >= low - 1e-12)
    assert np.all(output.numpy() <= high + 1e-12)


@given(cases())
def test_repeating_all_keys_and_values_changes_nothing(case):
    query, key, value, _ = case
    once, _ = scaled_dot_product_attention(query, key, value)
    twice, _ = scaled_dot_product_attention(
        query, np.concatenate([key, key], -2), np.concatenate([value, value], -2)
    )
    np.testing.assert_allclose(twice, once, atol=1e-12)


# --- 순서를 모른다 ------------------------------------------------------------------


@given(cases(), st.randoms(use_true_random=False))
def test_reordering_keys_with_their_values_changes_nothing(case, random):
    query, key, value, mask = case
    order = random.sample(range(key.shape[-2]), key.shape[-2])
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    reordered_output, reordered_weights = scaled_dot_product_attention(
        query, key[..., order, :], value[..., order, :], mask[..., order]
    )
    np.testing.assert_allclose(reordered_output, output, atol=1e-12)
    np.testing.assert_allclose(
        reordered_weights, weights.numpy()[..., order], atol=1e-12
    )


@given(cases(), st.randoms(use_true_random=False))
def test_reordering_queries_reorders_outputs(case, random):
    query, key, value, mask = case
    order = random.sample(range(query.shape[-2]), query.shape[-2])
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    reordered, _ = scaled_dot_product_attention(
        query[..., order, :], key, value, mask[..., order, :]
    )
    np.testing.assert_allclose(reordered, output.numpy()[..., order, :], atol=1e-12)


# --- 가린 것은 보지 않는다 ----------------------------------------------------------


@given(cases())
def test_hidden_keys_and_values_never_matter(case):
    query, key, value, mask = case
    hidden = np.broadcast_to(
        ~mask.any(-2)[..., np.newaxis], key.shape
    )  # 아무도 못 본 키
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    changed_output, changed_weights = scaled_dot_product_attention(
        query,
        np.where(hidden, 1e30, key),
        np.where(hidden[..., :1], -1e30, value),
        mask,
    )
    np.testing.assert_array_equal(changed_output, output)
    np.testing.assert_array_equal(changed_weights, weights)


@given(cases())
def test_no_gradient_reaches_a_key_or_value_that_nobody_sees(case):
    query, key, value, mask = case
    tensors = [tf.constant(tensor) for tensor in (query, key, value)]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        output, _ = scaled_dot_product_attention(*tensors, mask)
        loss = tf.reduce_sum(tf.sin(output))
    _, key_gradient, value_gradient = tape.gradient(loss, tensors)
    unseen = ~mask.any(-2)
    assert np.all(key_gradient.numpy()[unseen] == 0)
    assert np.all(value_gradient.numpy()[unseen] == 0)


def test_a_memory_without_tokens_gives_zeros():
    output, weights = scaled_dot_product_attention(
        tf.ones((2, 3, 4)), tf.ones((2, 0, 4)), tf.ones((2, 0, 5))
    )
    assert weights.shape == (2, 3, 0)
    np.testing.assert_array_equal(output, np.zeros((2, 3, 5)))


# --- 모양과 자료형 ------------------------------------------------------------------


@every_mode
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_is_kept_and_results_are_close_also_where_nothing_is_seen(dtype, mode):
    generator = np.random.default_rng(2)
    # 입력을 먼저 dtype으로 반올림해, 함수가 보태는 오차만 잽니다.
    tensors = as_floats(*generator.normal(size=(3, 2, 6, 48)), dtype=dtype)
    mask = generator.random((2, 6, 6)) < 0.7
    mask[0, 1] = mask[1, 3] = False

    def run(query, key, value):
        with tf.GradientTape() as tape:
            tape.watch([query, key, value])
            found = scaled_dot_product_attention(query, key, value, mask)
            loss = tf.reduce_sum(tf.sin(tf.cast(found[0], tf.float32)))
        return found, tape.gradient(loss, [query, key, value])

    found, gradients = MODES[mode](run)(*tensors)
    expected = by_loops(*(tf.cast(t, tf.float64).numpy() for t in tensors), mask)
    hidden = ~mask.any(-1)
    for result, reference in zip(found, expected):
        assert result.dtype == dtype
        result = tf.cast(result, tf.float64).numpy()
        np.testing.assert_allclose(result, reference, atol=TOLERANCE[dtype])
        assert not np.any(result[hidden])
    gradients = [tf.cast(gradient, tf.float64).numpy() for gradient in gradients]
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    assert not np.any(gradients[0][hidden])
    assert np.any(gradients[0][~hidden], axis=-1).all()


def test_float16_scores_beyond_its_range_before_scaling_stay_finite():
    # 나누기 전의 내적 64 · 64 · 64 = 262,144는 float16의 65,504를 넘습니다.
    query = tf.fill((1, 64), tf.constant(64.0, tf.float16))
    output, weights = scaled_dot_product_attention(query, query, query)
    np.testing.assert_array_equal(weights, [[1.0]])
    np.testing.assert_array_equal(output, query)


def test_float16_rows_longer_than_its_largest_number_still_average():
    length_k = 70_000  # float16으로 더한 합은 65,504를 넘지 못합니다.
    key = tf.zeros((length_k, 1), tf.float16)
    _, weights = scaled_dot_product_attention(key[:1], key, key)
    np.testing.assert_array_equal(weights, np.float16(1 / length_k))


@pytest.mark.parametrize(
    ("query_batch", "key_batch", "value_batch"),
    [((2, 3), (1, 3), (2, 1)), ((3,), (2, 3), ()), ((), (2,), (2,))],
)
def test_leading_axes_broadcast(query_batch, key_batch, value_batch):
    generator = np.random.default_rng(3)
    query = generator.normal(size=(*query_batch, 4, 5))
    key = generator.normal(size=(*key_batch, 6, 5))
    value = generator.normal(size=(*value_batch, 6, 2))
    batch = np.broadcast_shapes(query_batch, key_batch, value_batch)
    mask = generator.random((4, 6)) < 0.5
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    expected, _ = by_loops(
        *(np.broadcast_to(t, (*batch, *t.shape[-2:])) for t in (query, key, value)),
        np.broadcast_to(mask, (*batch, 4, 6)),
    )
    np.testing.assert_allclose(output, expected, atol=1e-13)


@pytest.mark.parametrize(
    "mask_shape", [(), (6,), (4, 1), (1, 6), (3, 1, 6), (2, 1, 1, 6), (1, 3, 4, 1)]
)
def test_mask_broadcasts_to_the_scores(mask_shape):
    generator = np.random.default_rng(4)
    query = generator.normal(size=(2, 3, 4, 5))
    key = generator.normal(size=(2, 3, 6, 5))
    value = generator.normal(size=(2, 3, 6, 7))
    mask = generator.random(mask_shape) < 0.5
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    full = np.broadcast_to(mask, (2, 3, 4, 6))
    expected_output, expected_weights = by_loops(query, key, value, full)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-13)
    np.testing.assert_allclose(output, expected_output, atol=1e-13)


@pytest.mark.parametrize(
    "shapes",
    [
        [(None, None, 4), (None, None, 4), (None, None, 3), (None, None, None)],
        [(None, None, None)] * 4,
        [None] * 4,
        [(None, None, 4), None, (None, None, 3), None],
        [None, (None, None, 4), None, (None, None, None)],
    ],
    ids=[
        "lengths",
        "sizes",
        "ranks",
        "ranks of key and mask",
        "ranks of query and value",
    ],
)
def test_one_graph_serves_every_shape(shapes):
    dtypes = [tf.float64] * 3 + [tf.bool]
    signature = [tf.TensorSpec(*spec) for spec in zip(shapes, dtypes)]
    graph = tf.function(scaled_dot_product_attention, input_signature=signature)
    generator = np.random.default_rng(5)
    for batch, length_q, length_k in [(1, 2, 3), (4, 1, 6)]:
        case = (
            generator.normal(size=(batch, length_q, 4)),
            generator.normal(size=(batch, length_k, 4)),
            generator.normal(size=(batch, length_k, 3)),
            generator.random((batch, length_q, length_k)) < 0.5,
        )
        for result, expected in zip(graph(*case), by_loops(*case)):
            np.testing.assert_allclose(result, expected, atol=1e-13)


# --- 틀린 입력은 말로 알려 준다 -----------------------------------------------------


def test_masks_that_would_hide_something_else_are_refused():
    x = tf.ones((2, 3, 4))
    for mask, kind in (
        (np.ones((3, 3)), TypeError),
        (np.ones((3, 3), int), TypeError),
        (np.ones((4, 3), bool), ValueError),
        (np.ones((5, 2, 3, 3), bool), ValueError),  # 점수보다 큰 모양
    ):
        with pytest.raises(kind, match="mask"):
            scaled_dot_product_attention(x, x, x, mask=mask)
