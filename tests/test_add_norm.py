"""잔차 연결과 층 정규화가 지키는 약속."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import HALF, caught, every_policy, keeps_layer_promises, normal

from transformer_notes.add_norm import AddAndNorm
from transformer_notes.multi_head_attention import Attended

both_orders = pytest.mark.parametrize("norm_first", [False, True])


def built(d_model=6, **options):
    """감마와 베타까지 무작위인 층."""
    layer = AddAndNorm(**options)
    layer.build((None, None, d_model))
    generator = np.random.default_rng(0)
    layer.set_weights([generator.normal(size=w.shape) for w in layer.weights])
    return layer


def nothing(x):
    return tf.zeros_like(x)


def bend(x):
    """x와 같은 모양을 돌려주는 아무 함수."""
    return 0.7 * tf.sin(3 * x) + 0.1


def normalized(layer, x):
    """논문의 식을 자리마다 따로 셈합니다 (NumPy, float64)."""
    gamma, beta = (np.asarray(w, np.float64) for w in layer.get_weights())
    output = np.zeros(x.shape)
    for place in np.ndindex(x.shape[:2]):
        mean = sum(x[place]) / len(x[place])
        variance = sum((x[place] - mean) ** 2) / len(x[place])
        output[place] = (x[place] - mean) / (variance + layer.epsilon) ** 0.5
    return gamma * output + beta


def by_hand(layer, x, sublayer):
    if layer.norm_first:
        return x + sublayer(tf.constant(normalized(layer, x))).numpy()
    return normalized(layer, x + sublayer(tf.constant(x)).numpy())


@st.composite
def sentences(draw):
    shape = [draw(st.integers(0, 3)), draw(st.integers(0, 4)), draw(st.integers(1, 7))]
    scale = draw(st.sampled_from([1e-3, 1.0, 30.0]))
    return scale * normal(*shape, seed=draw(st.integers(0, 2**32 - 1)))


# --- 계산 --------------------------------------------------------------------------


@both_orders
@given(x=sentences())
def test_equals_the_formula_computed_one_position_at_a_time(norm_first, x):
    layer = built(x.shape[-1], norm_first=norm_first)
    expected = by_hand(layer, x.numpy().astype(np.float64), bend)
    np.testing.assert_allclose(layer(x, bend), expected, rtol=1e-3, atol=1e-3)


@given(sentences(), st.sampled_from([1e-6, 1e-5, 1e-3]))
def test_equals_the_keras_normalization_forward_and_backward(x, epsilon):
    layer = built(x.shape[-1], epsilon=epsilon)
    twin = keras.layers.LayerNormalization(epsilon=epsilon)
    twin.build(x.shape)
    twin.set_weights(layer.get_weights())
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        ours, theirs = layer(x, bend), twin(x + bend(x))
        losses = [tf.reduce_sum(tf.sin(output)) for output in (ours, theirs)]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    our_gradients = tape.gradient(losses[0], [x, *layer.trainable_variables])
    their_gradients = tape.gradient(losses[1], [x, *twin.trainable_variables])
    for our, their in zip(our_gradients, their_gradients, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-4, atol=1e-4)


def test_variance_is_the_biased_one_with_epsilon_inside_the_root():
    x = tf.constant([[[1.0, 0.0, 0.0, 0.0]]])
    found = AddAndNorm(epsilon=1e-12)(x, nothing)[0, 0]
    np.testing.assert_allclose(found, [3**0.5] + [-(3**-0.5)] * 3, rtol=1e-6)
    found = AddAndNorm(epsilon=0.0625)(x, nothing)[0, 0, 0]  # 0.1875 + 0.0625 = 0.25
    np.testing.assert_allclose(found, 0.75 / 0.5, rtol=1e-6)


def test_default_epsilon_is_that_of_the_book_and_not_of_keras():
    layer = AddAndNorm()
    assert layer.epsilon == layer.norm.epsilon == 1e-5


def test_equal_entries_give_zero_and_never_nan():
    assert not np.any(AddAndNorm()(tf.fill((1, 2, 4), 7.0), nothing))


@given(st.floats(0.5, 50), st.floats(-20, 20))
def test_scale_and_shift_of_the_sum_are_forgotten(scale, shift):
    layer, x = AddAndNorm(epsilon=1e-9), normal(1, 3, 16)
    expected = layer(x, nothing)
    np.testing.assert_allclose(layer(scale * x + shift, nothing), expected, atol=2e-4)


def test_fresh_layer_gives_mean_zero_and_variance_one():
    output = AddAndNorm()(30 * normal(2, 5, 64) + 4, bend).numpy()
    np.testing.assert_allclose(output.mean(-1), 0, atol=1e-5)
    np.testing.assert_allclose(output.var(-1), 1, atol=1e-3)


def test_pre_norm_leaves_a_straight_path_for_values_and_gradients():
    layer, x = AddAndNorm(norm_first=True), 30 * normal(2, 3, 6)
    with tf.GradientTape() as tape:
        tape.watch(x)
        output = layer(x, nothing)
    np.testing.assert_array_equal(output, x)
    np.testing.assert_array_equal(tape.gradient(output, x), np.ones(x.shape))


@both_orders
def test_sublayer_and_residual_get_what_the_paper_gives_them(norm_first):
    layer, x = built(norm_first=norm_first), 8 * normal(2, 3, 6)
    received = []

    def spy(x):
        received.append(x)
        return tf.ones_like(x)

    output = layer(x, spy)
    if norm_first:
        expected = normalized(layer, x.numpy())
        np.testing.assert_allclose(received[0], expected, atol=1e-5)
        np.testing.assert_allclose(output, x + 1, atol=1e-5)
    else:
        np.testing.assert_array_equal(received[0], x)
        expected = normalized(layer, x.numpy() + 1)
        np.testing.assert_allclose(output, expected, atol=1e-5)
    assert len(received) == 1


@both_orders
def test_neighbours_padding_and_the_future_never_matter(norm_first):
    layer, x = built(norm_first=norm_first), normal(2, 4, 6)
    whole = layer(x, bend)
    padded = tf.concat([x, 1e3 * normal(2, 3, 6, seed=1)], axis=1)
    for part, expected in [
        (layer(x[:1], bend), whole[:1]),
        (layer(x[:, :2], bend), whole[:, :2]),
        (layer(padded, bend)[:, :4], whole),
    ]:
        np.testing.assert_allclose(part, expected, atol=1e-5)


# --- 드롭아웃 -----------------------------------------------------------------------


@both_orders
@every_policy
def test_dropout_acts_in_training_only(policy, norm_first):
    options = {"norm_first": norm_first, "dtype": policy}
    layer, x = built(dropout=0.5, **options), normal(2, 6, 6)
    plain = built(**options)(x, bend)
    for training in (None, False):
        np.testing.assert_array_equal(layer(x, bend, training=training), plain)
    first, second = (layer(x, bend, training=True) for _ in range(2))
    assert not np.array_equal(first, plain)
    assert not np.array_equal(first, second)


def test_dropout_falls_on_the_sublayer_and_never_on_the_residual():
    x = tf.fill((1, 50, 40), 3.0)
    layer = AddAndNorm(dropout=0.25, norm_first=True)
    output = layer(x, tf.ones_like, training=True).numpy()
    np.testing.assert_allclose(np.unique(output), [3, 3 + 1 / 0.75], rtol=1e-6)
    assert abs(output.mean() - 4) < 0.1
    np.testing.assert_array_equal(layer(x, nothing, training=True), x)


def test_dropout_comes_before_the_norm():
    layer, x = AddAndNorm(dropout=0.5), normal(1, 20, 16)
    output = layer(x, bend, training=True).numpy()
    np.testing.assert_allclose(output.mean(-1), 0, atol=1e-5)
    np.testing.assert_allclose(output.var(-1), 1, atol=1e-3)
    assert not np.any(output == 0)


# --- 층을 가진 층 -------------------------------------------------------------------


@keras.saving.register_keras_serializable(package="test_add_norm")
class Block(keras.layers.Layer):
    """하위 층과 그것을 감싸는 층을 가진 층. 실제로 쓰는 모습입니다."""

    def __init__(self, dropout=0.0, norm_first=False, **kwargs):
        super().__init__(**kwargs)
        self.options = {"dropout": dropout, "norm_first": norm_first}
        self.inner = keras.layers.Dense(6, "tanh", dtype=self.dtype_policy)
        self.wrap = AddAndNorm(**self.options, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.inner.build(input_shape)
        self.wrap.build(input_shape)

    def call(self, x):
        return self.wrap(x, self.inner)

    def get_config(self):
        return {**super().get_config(), **self.options}


def model_of(**options):
    x = keras.Input((None, 6))
    return keras.Model(x, Block(**options)(x))


def test_sublayer_weights_stay_with_the_layer_that_made_them():
    block = Block()
    block(normal(1, 2, 6))
    ours = {id(w) for w in block.weights}
    assert ours == {id(w) for w in (*block.inner.weights, *block.wrap.weights)}
    assert len(block.wrap.weights) == 2
    assert block.wrap.count_params() == 12


@both_orders
def test_model_file_gives_back_the_same_model(tmp_path, norm_first):
    model, x = model_of(dropout=0.2, norm_first=norm_first), normal(2, 3, 6)
    weights = [normal(*w.shape, seed=i).numpy() for i, w in enumerate(model.weights)]
    model.set_weights(weights)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(x), model(x))
    loaded.save_weights(tmp_path / "model.weights.h5")
    other = model_of(dropout=0.2, norm_first=norm_first)
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(other(x), model(x))


def test_training_is_inherited_from_the_layer_outside():
    block, x = Block(dropout=0.5), normal(2, 5, 6)
    assert not np.array_equal(block(x, training=True), block(x, training=True))
    np.testing.assert_array_equal(block(x, training=False), block(x))


def test_layers_called_after_it_still_inherit_training():
    class Pair(Block):
        def call(self, x):
            return keras.ops.sum(self.after(super().call(x)) == 0)

    pair, x = Pair(), normal(2, 5, 6)
    pair.after = keras.layers.Dropout(0.5)
    assert pair(x, training=True) > 0 == pair(x, training=False)


def test_every_weight_is_trained_by_fit():
    model, x = model_of(), normal(8, 3, 6).numpy()
    before = model.get_weights()
    model.compile("adam", "mse", jit_compile=False)
    model.fit(x, np.cos(x), verbose=0)
    for old, new in zip(before, model.get_weights(), strict=True):
        assert np.any(old != new)


def test_saved_models_know_the_layer_by_its_name():
    assert (
        keras.saving.get_registered_name(AddAndNorm) == "transformer_notes>AddAndNorm"
    )
    saved = keras.saving.serialize_keras_object(AddAndNorm(0.3))
    assert keras.saving.deserialize_keras_object(saved).dropout == 0.3


# --- 그래프와 정밀도 ----------------------------------------------------------------


@pytest.mark.parametrize("policy", HALF)
def test_the_norm_is_computed_in_float32_where_half_would_overflow_or_vanish(policy):
    layer = AddAndNorm(epsilon=1e-12, dtype=policy)
    for scale in (3e4, 1e-3):  # 제곱하면 float16에서 무한대와 0이 되는 크기
        x = scale * tf.constant([[[1.0, 0.0, 0.0, 0.0]]])
        output = tf.cast(layer(x, nothing), tf.float32)[0, 0]
        np.testing.assert_allclose(output, [1.732] + [-0.577] * 3, atol=0.01)


def test_announced_shape_is_the_one_returned():
    assert built().compute_output_shape((2, 3, 6)) == (2, 3, 6)
    announced = model_of().outputs[0]
    assert announced.shape == (None, None, 6)


# --- 틀린 입력은 말로 알려 준다 -----------------------------------------------------


@both_orders
def test_results_that_cannot_be_added_are_refused(norm_first):
    layer = built(norm_first=norm_first)
    for sublayer, returned in (
        (lambda x: x[:, :1], "float32 (2, 1, 6)"),
        (lambda x: x[..., :1], "float32 (2, 3, 1)"),
        (lambda x: x[0], "float32 (3, 6)"),
        (lambda x: tf.cast(x, tf.float64), "float64 (2, 3, 6)"),
        (lambda x: [x, x], "list"),
        (lambda x: (x, x), "tuple"),
        (lambda x: Attended(None, x, []), "NoneType"),
        (lambda x: None, "NoneType"),
    ):
        message = caught(ValueError, lambda one=sublayer: layer(normal(2, 3, 6), one))
        assert "sublayer" in message and "float32 (2, 3, 6)" in message
        assert f"돌려준 것: {returned}" in message


@both_orders
def test_what_a_sublayer_returns_beside_its_output_comes_out_untouched(norm_first):
    layer, x = built(norm_first=norm_first), normal(2, 3, 6)
    weights, cache = object(), {"slot": 1}
    found = layer(x, lambda x: Attended(2 * x, weights, cache))
    np.testing.assert_array_equal(found.output, layer(x, lambda x: 2 * x))
    assert found.weights is weights and found.cache is cache


def test_a_keras_input_is_refused_because_the_sublayer_would_be_lost():
    x, inner = keras.Input((None, 6)), keras.layers.Dense(6)
    message = caught(TypeError, lambda: AddAndNorm()(x, inner))
    assert "keras.Input이 아니라 텐서가 필요합니다" in message
    assert "그 call 안에서 불러 주세요" in message


@both_orders
def test_it_keeps_the_promises_of_a_layer(norm_first):
    keeps_layer_promises(
        functools.partial(AddAndNorm, norm_first=norm_first),
        normal(2, 3, 6),
        call=lambda layer, x: layer(x, bend),
        symbolic=False,  # Block이 대신합니다
    )
