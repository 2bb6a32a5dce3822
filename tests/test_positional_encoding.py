"""위치 인코딩이 지키는 약속."""

import functools
import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import caught, keeps_layer_promises, normal

from transformer_notes.config import TransformerConfig
from transformer_notes.positional_encoding import (
    SCHEMES,
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    sinusoidal_encoding,
)

MAX_LENGTH, D_MODEL = 12, 6
PLACES = [5, 0, 5, 11]  # 차례대로가 아니어도, 겹쳐도 됩니다
POLICIES = {
    "float32": "float32",
    "float64": "float64",
    "mixed_float16": "float16",
    "mixed_bfloat16": "bfloat16",
}
even_widths = st.integers(1, 32).map(lambda pairs: 2 * pairs)
lengths = st.integers(1, 60)


def reference(positions, d_model):
    """복소 지수로 따로 계산한 표."""
    frequency = np.exp(-np.log(10000) * np.arange(0, d_model, 2) / d_model)
    spiral = np.exp(1j * np.outer(positions, frequency))
    return np.stack([spiral.imag, spiral.real], axis=-1).reshape(
        len(positions), d_model
    )


def sinusoidal(dtype="float32"):
    layer = SinusoidalPositionalEncoding(dtype=dtype)
    layer.build((None, None, D_MODEL))
    return layer


def learned(dtype="float32", max_length=MAX_LENGTH):
    layer = LearnedPositionalEncoding(max_length, dtype=dtype)
    layer.build((None, None, D_MODEL))
    return layer


def rows(layer, positions):
    if isinstance(layer, LearnedPositionalEncoding):
        return layer.positions.numpy()[positions]
    return reference(positions, D_MODEL)


def inputs(batch=2, length=4, d_model=D_MODEL, dtype="float32"):
    values = np.random.default_rng(0).normal(size=(batch, length, d_model))
    return tf.constant(values, dtype)


both = pytest.mark.parametrize("make", [sinusoidal, learned])
every_policy = pytest.mark.parametrize("policy", POLICIES)


# --- 사인파 표 -----------------------------------------------------------------------


@given(length=lengths, d_model=even_widths)
def test_table_is_the_complex_exponential_with_sine_and_cosine_in_turn(length, d_model):
    table = sinusoidal_encoding(length, d_model)
    assert table.dtype == tf.float32
    assert table.shape == (length, d_model)
    np.testing.assert_allclose(table, reference(range(length), d_model), atol=1e-6)


@given(length=lengths, d_model=even_widths)
def test_every_position_has_the_same_norm(length, d_model):
    norms = np.linalg.norm(sinusoidal_encoding(length, d_model), axis=1)
    np.testing.assert_allclose(norms, math.sqrt(d_model / 2), rtol=1e-5)


@given(d_model=even_widths, offset=st.integers(0, 30))
def test_dot_product_depends_on_the_offset_alone(d_model, offset):
    table = sinusoidal_encoding(60, d_model).numpy().astype(np.float64)
    products = np.diagonal(table @ table.T, offset)
    np.testing.assert_allclose(products, products[0], atol=1e-5 * d_model)


@given(d_model=even_widths, offset=st.integers(-30, 30))
def test_moving_by_an_offset_is_one_rotation_for_all_positions(d_model, offset):
    table = sinusoidal_encoding(90, d_model).numpy()
    spiral = table[:, 1::2] + 1j * table[:, 0::2]
    turn = np.exp(1j * offset * 10000.0 ** (-np.arange(0, d_model, 2) / d_model))
    moved = spiral[30:60] * turn
    np.testing.assert_allclose(moved, spiral[30 + offset : 60 + offset], atol=1e-5)


@given(short=lengths, more=st.integers(0, 30), d_model=even_widths)
def test_longer_table_begins_with_the_shorter_one(short, more, d_model):
    long = sinusoidal_encoding(short + more, d_model)[:short]
    np.testing.assert_array_equal(long, sinusoidal_encoding(short, d_model))


def test_position_zero_is_zero_and_one_in_turn():
    np.testing.assert_array_equal(sinusoidal_encoding(1, 8)[0], [0, 1] * 4)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_global_policy_does_not_change_the_table(policy):
    expected = sinusoidal_encoding(50, 8)
    keras.config.set_dtype_policy(policy)
    try:
        table = sinusoidal_encoding(50, 8)
    finally:
        keras.config.set_dtype_policy("float32")
    assert table.dtype == tf.float32
    np.testing.assert_array_equal(table, expected)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_length_of_a_tensor_in_a_graph_gives_the_same_table(jit_compile):
    table = tf.function(
        lambda x: sinusoidal_encoding(tf.shape(x)[0], 8), jit_compile=jit_compile
    )
    for length in (1, 7):
        expected = sinusoidal_encoding(length, 8)
        np.testing.assert_allclose(table(tf.zeros(length)), expected, atol=1e-6)


def test_length_unknown_to_the_graph_leaves_the_shape_open():
    spec = [tf.TensorSpec((), tf.int32)]
    table = tf.function(lambda n: sinusoidal_encoding(n, 8), input_signature=spec)
    assert table.get_concrete_function().output_shapes.as_list() == [None, 8]
    assert table(9).shape == (9, 8)


# --- 두 층이 함께 지키는 것 ----------------------------------------------------------


@pytest.mark.parametrize("make", [sinusoidal, learned])
@given(data=st.data())
def test_layer_adds_to_each_token_the_row_of_its_position(make, data):
    places = st.lists(st.integers(0, MAX_LENGTH - 1), min_size=1, max_size=MAX_LENGTH)
    position = data.draw(places)
    layer, x = make(), inputs(length=len(position))
    expected = x + rows(layer, np.array(position))
    np.testing.assert_allclose(layer(x, position=position), expected, atol=1e-6)


@both
def test_without_positions_tokens_are_counted_from_zero(make):
    layer, x = make(), inputs(length=5)
    np.testing.assert_array_equal(layer(x), layer(x, position=range(5)))


@both
def test_one_token_at_a_time_equals_the_whole_sentence(make):
    layer, x = make(), inputs(length=7)
    step = tf.function(lambda token, t: layer(token, position=[t]))
    steps = [step(x[:, t : t + 1], tf.constant(t)) for t in range(7)]
    np.testing.assert_allclose(tf.concat(steps, 1), layer(x), atol=1e-6)


@both
def test_sentences_in_a_batch_do_not_touch_each_other(make):
    layer, x = make(), inputs(batch=3)
    alone = tf.concat([layer(x[i : i + 1]) for i in range(3)], 0)
    np.testing.assert_array_equal(alone, layer(x))


@both
@every_policy
def test_positions_are_rounded_once_to_the_compute_dtype(make, policy):
    layer, dtype = make(policy), POLICIES[policy]
    output = layer(tf.zeros((1, 4, D_MODEL)), position=range(8, 12))
    expected = tf.cast(rows(layer, np.arange(8, 12)), dtype)
    assert output.dtype == dtype
    np.testing.assert_array_equal(
        tf.cast(output[0], tf.float32), tf.cast(expected, tf.float32)
    )


@both
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_far_neighbours_stay_apart_in_half_precision(make, policy):
    keras.utils.set_random_seed(0)
    layer = make(policy) if make is sinusoidal else make(policy, 5000)
    output = tf.cast(layer(tf.zeros((1, 5000, D_MODEL)))[0], tf.float64).numpy()
    assert (output[1:] != output[:-1]).any(axis=1).all()


@both
def test_positions_may_be_any_integers(make):
    layer, x = make(), inputs()
    expected = layer(x, position=PLACES)
    for kind in (tuple, np.uint8, np.int64, tf.constant, tf.Variable):
        given = layer(x, position=kind(PLACES))
        np.testing.assert_array_equal(given, expected, err_msg=str(kind))


@both
def test_positions_may_change_between_calls_of_one_graph(make):
    layer, x, traces = make(), inputs(length=1), []

    @tf.function
    def step(x, t):
        traces.append(t)
        return layer(x, position=[t])

    for t in range(4):
        np.testing.assert_allclose(
            step(x, tf.constant(t)), layer(x, position=[t]), atol=1e-6
        )
    assert len(traces) == 1


@both
def test_tokens_may_share_a_position(make):
    layer, x = make(), inputs(length=3)
    moved = layer(x, position=[2, 2, 2]) - x
    np.testing.assert_allclose(moved[:, 0], moved[:, 2], atol=1e-6)


@both
def test_gradient_reaches_the_embedding_unchanged(make):
    layer, x = make(), inputs()
    upstream = tf.constant(np.random.default_rng(1).normal(size=x.shape), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(layer(x, position=PLACES) * upstream)
    np.testing.assert_array_equal(tape.gradient(loss, x), upstream)


@both
def test_positions_can_be_an_input_of_a_saved_model(make, tmp_path):
    x = keras.Input((None, D_MODEL))
    position = keras.Input(batch_shape=(None,), dtype="int32")
    layer = make()
    model = keras.Model([x, position], layer(x, position=position))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    answer = loaded([inputs(), tf.constant(PLACES)])
    np.testing.assert_allclose(answer, layer(inputs(), position=PLACES), atol=1e-6)


# --- 사인파 층 -----------------------------------------------------------------------


def test_sinusoidal_layer_has_no_weights():
    assert sinusoidal().weights == []


def test_sinusoidal_layer_adds_exactly_the_table():
    output = sinusoidal()(tf.zeros((1, 50, D_MODEL)))
    np.testing.assert_array_equal(output[0], sinusoidal_encoding(50, D_MODEL))


@pytest.mark.parametrize("position", [100_000, 10_000_000])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_sinusoidal_layer_is_exact_at_far_positions(position, policy):
    layer = sinusoidal(policy)
    output = layer(tf.zeros((1, 1, D_MODEL)), position=[position])
    angles = [position / 10000 ** (2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    expected = [f(angle) for angle in angles for f in (math.sin, math.cos)]
    expected = tf.cast(tf.constant(expected, tf.float64), output.dtype)
    np.testing.assert_allclose(
        tf.cast(output[0, 0], tf.float32), tf.cast(expected, tf.float32), atol=1e-6
    )


# --- 학습되는 층 ---------------------------------------------------------------------


def test_learned_table_is_the_only_weight():
    layer = learned()
    assert [weight.shape for weight in layer.weights] == [(MAX_LENGTH, D_MODEL)]
    assert layer.trainable_weights == [layer.positions]


@every_policy
def test_learned_table_is_kept_in_the_variable_dtype(policy):
    expected = "float64" if policy == "float64" else "float32"
    assert learned(policy).positions.dtype == expected


def test_learned_table_starts_with_variance_one_over_d_model():
    keras.utils.set_random_seed(0)
    layer = LearnedPositionalEncoding(2000)
    layer.build((None, None, 64))
    table = layer.positions.numpy()
    assert table.mean() == pytest.approx(0.0, abs=0.002)
    assert table.var() == pytest.approx(1 / 64, rel=0.03)


def test_learned_layer_may_have_an_odd_width():
    assert LearnedPositionalEncoding(4)(tf.zeros((1, 3, 5))).shape == (1, 3, 5)


@given(start=st.integers(0, 8), length=st.integers(1, 4))
def test_gradient_reaches_the_used_rows_and_no_others(start, length):
    layer, x = learned(), inputs(batch=3, length=length)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(x, position=range(start, start + length)))
    gradient = tf.convert_to_tensor(tape.gradient(loss, layer.positions.value)).numpy()
    expected = np.zeros((MAX_LENGTH, D_MODEL))
    expected[start : start + length] = 3  # 배치의 세 문장이 같은 행을 씁니다.
    np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_gradient_of_the_table_stays_sparse(policy):
    layer = learned(policy)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(inputs()))
    gradient = tape.gradient(loss, layer.positions.value)
    assert isinstance(gradient, tf.IndexedSlices)


def test_rows_not_met_in_training_keep_their_first_values():
    layer = learned()
    model = keras.Sequential([layer, keras.layers.Dense(1)])
    model.compile("adam", "mse")
    x = inputs(batch=8, length=5)
    before = layer.positions.numpy()
    model.fit(x, tf.ones((8, 5, 1)), epochs=2, verbose=0)
    after = layer.positions.numpy()
    np.testing.assert_array_equal(after[5:], before[5:])
    assert (after[:5] != before[:5]).any(axis=1).all()


def test_last_row_of_the_table_can_be_used():
    layer = learned()
    layer(inputs(length=MAX_LENGTH))
    layer(inputs(length=1), position=[MAX_LENGTH - 1])


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_every_scheme_keeps_the_promises_of_a_layer(scheme):
    make = functools.partial(scheme, TransformerConfig(9, max_length=MAX_LENGTH))
    keeps_layer_promises(make, normal(2, 3, D_MODEL))


def test_positions_that_no_table_or_wave_has_are_refused():
    with pytest.raises(ValueError, match="d_model"):
        sinusoidal_encoding(4, 7)
    with pytest.raises(ValueError, match="d_model"):
        SinusoidalPositionalEncoding()(tf.zeros((1, 2, 7)))
    layer, x = learned(), inputs(length=2)
    for call in (layer, tf.function(layer)):
        for position, kind in (
            ([0, MAX_LENGTH], tf.errors.InvalidArgumentError),
            ([-1, 0], tf.errors.InvalidArgumentError),
            ([0.0, 1.0], TypeError),
            ([0], ValueError),
        ):
            given_ = tf.constant(position)
            assert "position에는" in caught(kind, call, x, position=given_), position
    with pytest.raises(ValueError, match="max_length"):
        layer(inputs(length=MAX_LENGTH + 1))
