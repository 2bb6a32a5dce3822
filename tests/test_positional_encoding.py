"""위치 인코딩이 지키는 약속."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import caught

from transformer_notes.positional_encoding import (
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


@pytest.mark.parametrize(
    "length", [5, np.int64(5), np.array(5), tf.constant(5), tf.constant(5, tf.uint8)]
)
def test_length_may_be_any_integer_scalar(length):
    np.testing.assert_array_equal(
        sinusoidal_encoding(length, 4), sinusoidal_encoding(5, 4)
    )


def test_length_unknown_to_the_graph_leaves_the_shape_open():
    spec = [tf.TensorSpec((), tf.int32)]
    table = tf.function(lambda n: sinusoidal_encoding(n, 8), input_signature=spec)
    assert table.get_concrete_function().output_shapes.as_list() == [None, 8]
    assert table(9).shape == (9, 8)


@pytest.mark.parametrize(
    ("length", "d_model", "kind", "parts"),
    [
        (4, 5, ValueError, ["d_model에는 짝수", "받은 것: 5.", "6처럼"]),
        (4, 0, ValueError, ["d_model에는 1 이상", "받은 것: 0"]),
        (4, 6.0, TypeError, ["d_model에는 1 이상의 정수", "float 6.0"]),
        (0, 4, ValueError, ["length에는 1 이상", "받은 것: 0."]),
        (-3, 4, ValueError, ["length에는 1 이상", "받은 것: -3."]),
        (2.5, 4, TypeError, ["length에는 1 이상의 정수", "float 2.5"]),
        (True, 4, TypeError, ["length에는 1 이상의 정수", "bool True"]),
        (None, 4, TypeError, ["length에는 1 이상의 정수", "NoneType"]),
        (tf.constant(2.0), 4, TypeError, ["length에는 정수", "float32", "tf.cast"]),
        (tf.constant([2]), 4, ValueError, ["length에는 스칼라", "(1,)"]),
    ],
)
def test_wrong_sizes_are_refused_with_the_reason(length, d_model, kind, parts):
    message = caught(kind, lambda: sinusoidal_encoding(length, d_model))
    for part in parts:
        assert part in message


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
@pytest.mark.parametrize("jit_compile", [False, True])
@every_policy
def test_graph_and_xla_agree_with_eager(make, jit_compile, policy):
    layer, x = make(policy), inputs()
    compiled = tf.function(
        lambda x, position: layer(x, position=position), jit_compile=jit_compile
    )
    expected = layer(x, position=PLACES)
    assert expected.dtype == POLICIES[policy]
    expected = tf.cast(expected, tf.float64)
    for kind in (list, tf.constant, lambda p: tf.constant(p, tf.int64)):
        output = compiled(x, kind(PLACES))
        assert output.dtype == POLICIES[policy]
        # XLA는 중간 반올림을 줄일 수 있습니다. 반정밀도에서는 마지막 자리를 봐줍니다.
        atol = {"float16": 2e-3, "bfloat16": 2e-2}.get(POLICIES[policy], 1e-6)
        np.testing.assert_allclose(tf.cast(output, tf.float64), expected, atol=atol)


@both
def test_batch_and_length_may_be_unknown(make):
    layer = make()
    spec = [tf.TensorSpec((None, None, D_MODEL)), tf.TensorSpec((None,), tf.int32)]
    traced = tf.function(lambda x, p: layer(x, position=p), input_signature=spec)
    counted = tf.function(layer, input_signature=spec[:1])
    for batch, length, start in ((1, 1, 0), (3, 5, 4), (2, MAX_LENGTH, 0)):
        x, places = inputs(batch, length), np.arange(start, start + length)
        expected = layer(x, position=places)
        np.testing.assert_allclose(traced(x, places), expected, atol=1e-6)
        np.testing.assert_allclose(counted(x), layer(x), atol=1e-6)


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
@pytest.mark.parametrize("kind", [tuple, np.uint8, np.int64, tf.constant, tf.Variable])
def test_positions_may_be_any_integers(make, kind):
    layer, x = make(), inputs()
    np.testing.assert_array_equal(
        layer(x, position=kind(PLACES)), layer(x, position=PLACES)
    )


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
def test_keras_mask_is_taken_silently_and_not_passed_on(make):
    embedding = keras.layers.Embedding(9, D_MODEL, mask_zero=True)
    embedded = embedding(np.array([[3, 5, 0, 0]]))
    assert keras.src.backend.get_keras_mask(embedded) is not None
    assert keras.src.backend.get_keras_mask(make()(embedded)) is None

    ids = keras.Input((None,), dtype="int32")
    assert keras.src.backend.get_keras_mask(make()(embedding(ids))) is None


@both
@every_policy
def test_symbolic_call_knows_shape_and_dtype(make, policy):
    output = make(policy)(keras.Input((None, D_MODEL)))
    assert output.shape == (None, None, D_MODEL)
    assert output.dtype == POLICIES[policy]


@both
@every_policy
def test_saved_model_loads_with_the_same_answers(make, policy, tmp_path):
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, D_MODEL, mask_zero=True)(ids)
    model = keras.Model(ids, keras.layers.Dense(3)(make(policy)(x)))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    sentence = np.array([[1, 2, 3, 4, 0]])
    assert loaded.layers[2].dtype_policy.name == policy
    np.testing.assert_array_equal(loaded(sentence), model(sentence))


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


@both
def test_layer_can_be_rebuilt_from_its_config(make):
    layer = make()
    copy = type(layer).from_config(layer.get_config())
    copy.build((None, None, D_MODEL))
    copy.set_weights(layer.get_weights())
    np.testing.assert_array_equal(
        copy(inputs(), position=PLACES), layer(inputs(), position=PLACES)
    )


@both
def test_registered_under_the_package_name(make):
    kind = type(make())
    assert (
        keras.saving.get_registered_name(kind) == f"transformer_notes>{kind.__name__}"
    )


@both
@pytest.mark.parametrize(
    ("position", "kind", "parts"),
    [
        ([0, 1, -1, 3], ValueError, ["position에는 0", "받은 위치: -1부터 3까지"]),
        ([0.0, 1.0, 2.0, 3.0], TypeError, ["position에는 정수", "float32"]),
        ([True] * 4, TypeError, ["position에는 정수", "bool"]),
        (3, ValueError, ["모양 (4,)", "받은 모양: ()", "[position]"]),
        ([1], ValueError, ["모양 (4,)", "받은 모양: (1,)"]),
        ([[0, 1, 2, 3]], ValueError, ["모양 (4,)", "받은 모양: (1, 4)"]),
    ],
)
@pytest.mark.parametrize("run", ["eager", "graph"])
def test_wrong_positions_are_refused_with_the_reason(make, position, kind, parts, run):
    layer = make()

    def call():
        return layer(inputs(), position=position)

    message = caught(
        kind, call if run == "eager" else tf.function(call, autograph=False)
    )
    for part in parts:
        assert part in message


@both
def test_a_negative_position_is_refused_when_the_graph_runs(make):
    layer = make()
    step = tf.function(lambda t: layer(inputs(length=1), position=[t]))
    message = caught(tf.errors.InvalidArgumentError, lambda: step(tf.constant(-2)))
    assert "[-2]" in message and layer.name in message


@both
def test_a_negative_position_gives_nan_where_xla_drops_the_assertion(make):
    layer, x = make(), inputs(length=1)
    step = tf.function(lambda t: layer(x, position=[t]), jit_compile=True)
    assert np.isnan(step(tf.constant(-1))).all()
    assert not np.isnan(step(tf.constant(0))).any()


@pytest.mark.parametrize(
    "make", [SinusoidalPositionalEncoding, lambda: LearnedPositionalEncoding(4)]
)
@pytest.mark.parametrize("shape", [(4, D_MODEL), (1, 2, 3, D_MODEL), (2, 3, None)])
def test_wrong_rank_or_open_width_is_refused_at_build(make, shape):
    message = caught(ValueError, lambda: make().build(shape))
    assert "(batch, length, depth)" in message and str(shape) in message


@both
@pytest.mark.parametrize(
    "width", [1, D_MODEL + 2]
)  # 1은 조용히 브로드캐스트될 폭입니다.
def test_width_may_not_change_after_build(make, width):
    assert "axis -1" in caught(ValueError, lambda: make()(inputs(d_model=width)))


@both
def test_token_ids_in_place_of_embeddings_are_refused(make):
    ids = tf.ones((1, 4, D_MODEL), tf.int32)
    message = caught(TypeError, lambda: make()(ids))
    assert "x에는 실수" in message and "int32" in message


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


def test_sinusoidal_layer_refuses_an_odd_width():
    layer = SinusoidalPositionalEncoding()
    assert "받은 것: 7." in caught(ValueError, lambda: layer(inputs(d_model=7)))
    symbolic = keras.Input((None, 7))
    assert "짝수" in caught(
        ValueError, lambda: SinusoidalPositionalEncoding()(symbolic)
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


@pytest.mark.parametrize("wrap", [lambda call: call, tf.function])
@pytest.mark.parametrize("position", [[0, 12], [9, 10], [2**40, 0]])
@pytest.mark.parametrize("kind", [list, tf.constant])
def test_known_positions_beyond_the_table_are_refused_at_once(wrap, position, kind):
    layer, x, given_position = learned(), inputs(length=2), kind(position)
    call = wrap(lambda: layer(x, position=given_position))
    if max(position) < MAX_LENGTH:
        assert call().shape == x.shape
        return
    message = caught(ValueError, call)
    assert f"받은 위치: {min(position)}부터 {max(position)}까지" in message
    assert "0부터 11까지" in message and "max_length를 늘려" in message


@pytest.mark.parametrize("wrap", [lambda call: call, tf.function])
def test_a_sentence_longer_than_the_table_is_refused_at_once(wrap):
    layer, x = learned(), inputs(length=MAX_LENGTH + 1)
    assert "받은 위치: 0부터 12까지" in caught(ValueError, wrap(lambda: layer(x)))


def test_known_length_beyond_the_table_is_refused_when_the_model_is_made():
    x = keras.Input((MAX_LENGTH + 1, D_MODEL))
    assert "받은 위치: 0부터 12까지" in caught(ValueError, lambda: learned()(x))


@pytest.mark.parametrize("position", [[0, 12], [-1, 3], [2**40, 0]])
def test_positions_beyond_the_table_are_refused_when_the_graph_runs(position):
    layer = learned()
    spec = [tf.TensorSpec((None, None, D_MODEL)), tf.TensorSpec((None,), tf.int64)]
    traced = tf.function(lambda x, p: layer(x, position=p), input_signature=spec)
    message = caught(
        tf.errors.InvalidArgumentError, lambda: traced(inputs(length=2), position)
    )
    for part in (layer.name, f"[{position[0]} {position[1]}]", "위치: 11"):
        assert part in message


def test_a_sentence_longer_than_the_table_is_refused_when_the_graph_runs():
    layer = learned()
    spec = [tf.TensorSpec((None, None, D_MODEL))]
    traced = tf.function(layer, input_signature=spec)
    caught(tf.errors.InvalidArgumentError, lambda: traced(inputs(length=13)))
    assert traced(inputs(length=12)).shape == (2, 12, D_MODEL)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
@pytest.mark.parametrize("position", [12, 1000, -1])
def test_positions_beyond_the_table_give_nan_where_xla_drops_assertions(
    policy, position
):
    layer, x = learned(policy), inputs(length=1)
    compiled = tf.function(lambda t: layer(x, position=[t]), jit_compile=True)
    assert np.isnan(compiled(tf.constant(position)).numpy().astype("float32")).all()
    assert not np.isnan(compiled(tf.constant(11)).numpy().astype("float32")).any()


@pytest.mark.parametrize(
    ("max_length", "kind"),
    [(0, ValueError), (-1, ValueError), (2.0, TypeError), (True, TypeError)],
)
def test_wrong_max_length_is_refused(max_length, kind):
    message = caught(kind, lambda: LearnedPositionalEncoding(max_length))
    assert "max_length" in message and str(max_length) in message
