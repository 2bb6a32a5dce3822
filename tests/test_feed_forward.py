"""위치별 피드포워드 신경망이 지키는 약속."""

import functools

import keras
import numpy as np
import tensorflow as tf
from hypothesis import assume, given
from hypothesis import strategies as st
from layers import (
    keeps_layer_promises,
    normal,
    random_weights,
)

from transformer_notes.feed_forward import PositionwiseFeedForward


def built(d_model=6, d_ff=10, **options):
    layer = PositionwiseFeedForward(d_model, d_ff, **options)
    layer.build((None, None, d_model))
    return random_weights(layer)


def by_units(layer, x):
    """논문의 식을 자리마다, 은닉 유닛마다 따로 셈합니다 (NumPy, float64)."""
    w1, b1, w2, b2 = (np.asarray(w, np.float64) for w in layer.get_weights())
    output = np.zeros((*x.shape[:2], layer.d_model)) + b2
    for place in np.ndindex(x.shape[:2]):
        for unit in range(layer.d_ff):
            seen = np.dot(x[place], w1[:, unit]) + b1[unit]
            output[place] += max(0.0, seen) * w2[unit]
    return output


@st.composite
def cases(draw):
    """층의 크기와 입력. 모두 무작위입니다."""
    d_model, d_ff = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    batch, length = draw(st.integers(0, 3)), draw(st.integers(0, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    return (d_model, d_ff), normal(batch, length, d_model, seed=seed)


# --- 다른 구현과 같다 ---------------------------------------------------------------


@given(cases())
def test_equals_the_formula_computed_one_hidden_unit_at_a_time(case):
    sizes, x = case
    layer = built(*sizes)
    np.testing.assert_allclose(layer(x), by_units(layer, x.numpy()), atol=1e-5)


@given(cases())
def test_equals_two_dense_layers_forward_and_backward(case):
    sizes, x = case
    layer = built(*sizes)
    widen = keras.layers.Dense(layer.d_ff, "relu")
    narrow = keras.layers.Dense(layer.d_model)
    widen.build(x.shape)
    narrow.build((None, None, layer.d_ff))
    widen.set_weights(layer.get_weights()[:2])
    narrow.set_weights(layer.get_weights()[2:])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        ours, theirs = layer(x), narrow(widen(x))
        losses = [tf.reduce_sum(tf.sin(output)) for output in (ours, theirs)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    dense = [*widen.trainable_variables, *narrow.trainable_variables]
    our_gradients = tape.gradient(losses[0], [x, *layer.trainable_variables])
    their_gradients = tape.gradient(losses[1], [x, *dense])
    for our, their in zip(our_gradients, their_gradients, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-4, atol=1e-4)


@given(cases())
def test_equals_two_convolutions_with_kernel_size_one(case):
    sizes, x = case
    assume(0 not in x.shape)  # 합성곱은 빈 입력을 받지 않습니다
    layer = built(*sizes)
    w1, b1, w2, b2 = layer.get_weights()
    hidden = tf.nn.relu(tf.nn.conv1d(x, w1[np.newaxis], 1, "VALID") + b1)
    expected = tf.nn.conv1d(hidden, w2[np.newaxis], 1, "VALID") + b2
    np.testing.assert_allclose(layer(x), expected, atol=1e-5)


# --- 자리마다 따로 -----------------------------------------------------------------


@given(st.permutations(range(5)))
def test_reordering_a_sentence_reorders_the_output(order):
    layer, x = built(), normal(2, 5, 6)
    expected = tf.gather(layer(x), order, axis=1)
    np.testing.assert_allclose(layer(tf.gather(x, order, axis=1)), expected, atol=1e-6)


@given(st.integers(0, 1), st.integers(0, 4))
def test_changing_one_position_never_changes_another(sentence, position):
    layer, x = built(), normal(2, 5, 6).numpy()
    before = layer(x).numpy()
    x[sentence, position] += 1.0
    moved = np.any(np.abs(layer(x) - before) > 1e-6, axis=-1)
    assert np.argwhere(moved).tolist() == [[sentence, position]]


@given(st.integers(1, 4), st.integers(0, 3))
def test_neighbours_and_padding_never_matter(length, padding):
    layer, x = built(), normal(2, length, 6)
    padded = tf.concat([x, 1e3 * normal(2, padding, 6, seed=1)], axis=1)
    np.testing.assert_allclose(layer(padded)[:, :length], layer(x), atol=1e-5)
    for t in range(length):
        one = slice(t, t + 1)
        np.testing.assert_allclose(layer(x[:, one]), layer(x)[:, one], atol=1e-5)


def test_every_position_uses_the_same_weights():
    same = tf.tile(normal(1, 1, 6), (3, 4, 1))
    output = built()(same).numpy()
    np.testing.assert_allclose(output, np.broadcast_to(output[:1, :1], (3, 4, 6)))


# --- ReLU는 한 번, 가운데에 -----------------------------------------------------------


def test_it_does_not_collapse_into_one_linear_map():
    layer, x = built(), normal(1, 50, 6)
    w1, b1, w2, b2 = layer.get_weights()
    folded = x.numpy() @ (w1 @ w2) + (b1 @ w2 + b2)
    assert np.abs(layer(x) - folded).max() > 0.1


def test_it_can_add_negative_numbers():
    output = built()(normal(1, 50, 6)).numpy()
    assert 0.1 < np.mean(output < 0) < 0.9


@given(st.integers(0, 2**32 - 1))
def test_output_never_moves_while_every_unit_is_off(seed):
    layer = built()
    layer.b1.assign(np.full(10, -1e3))
    output = layer(normal(1, 4, 6, seed=seed))
    np.testing.assert_array_equal(output, np.broadcast_to(layer.b2, (1, 4, 6)))


# --- 가중치의 차례와 모양 -----------------------------------------------------------


def test_weights_are_those_of_the_paper_in_its_order():
    layer = built(3, 5)
    assert [weight.name for weight in layer.weights] == ["w1", "b1", "w2", "b2"]
    shapes = [tuple(weight.shape) for weight in layer.weights]
    assert shapes == [(3, 5), (5,), (5, 3), (3,)]
    assert layer.trainable_weights == layer.weights


def test_the_papers_layer_has_two_million_parameters():
    layer = PositionwiseFeedForward(512, 2048)
    layer.build((None, None, 512))
    assert layer.count_params() == 2 * 512 * 2048 + 2048 + 512


def test_biases_start_at_zero_and_units_start_different():
    layer = PositionwiseFeedForward(4, 8)
    layer.build((None, None, 4))
    assert not np.any(layer.b1) and not np.any(layer.b2)
    assert len(np.unique(np.asarray(layer.w1).T, axis=0)) == 8


def test_two_layers_made_alike_start_different():
    x = normal(1, 2, 6)
    first, second = PositionwiseFeedForward(6, 8), PositionwiseFeedForward(6, 8)
    assert not np.allclose(first(x), second(x))


# --- 저장, 그래프, 정밀도 -----------------------------------------------------------


def test_the_graph_may_even_forget_the_rank():
    layer, x = built(), normal(2, 3, 6)
    run = tf.function(layer, input_signature=[tf.TensorSpec(None)])
    np.testing.assert_allclose(run(x), layer(x), atol=1e-6)


def test_sizes_known_to_the_graph_stay_known():
    run = tf.function(built())
    outputs = run.get_concrete_function(tf.TensorSpec((None, 5, 6))).structured_outputs
    assert outputs.shape.as_list() == [None, 5, 6]


def test_it_keeps_the_promises_of_a_layer():
    make = functools.partial(PositionwiseFeedForward, 6, 10)
    keeps_layer_promises(make, normal(2, 3, 6))
