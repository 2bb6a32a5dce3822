"""인코더의 층과 스택이 지키는 약속."""

import dataclasses
import functools
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import caught, keeps_layer_promises, normal

from transformer_notes.encoder import Encoder, EncoderLayer
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.transformer import TransformerConfig

CONFIG = TransformerConfig(
    vocab_size=9, d_model=8, num_heads=2, num_layers=2, d_ff=12, dropout=0.0
)
every_block = pytest.mark.parametrize("kind", [EncoderLayer, Encoder])
both_norms = pytest.mark.parametrize("norm_first", [False, True])


@functools.cache  # 시험은 가중치를 고치지 않으므로 한 번만 만듭니다
def built(kind=Encoder, seed=0, **changes):
    """가중치를 모두 0이 아닌 값으로 채운 층이나 스택입니다."""
    dtype = changes.pop("dtype", None)
    block = kind(replace(CONFIG, **changes), dtype=dtype)
    block.build((None, None, CONFIG.d_model))
    generator = np.random.default_rng(seed)
    block.set_weights(
        [generator.normal(w.name == "gamma", 0.4, w.shape) for w in block.weights]
    )
    return block


def by_numpy(encoder, x, mask, norm_first):
    """논문의 식을 float64의 NumPy로 다시 셈합니다."""
    norm_weights = []
    for layer in encoder.layers:
        wq, wk, wv, wo, *rest = (np.float64(w) for w in layer.get_weights())
        gamma1, beta1, w1, b1, w2, b2, gamma2, beta2 = rest

        def attend(x, wq=wq, wk=wk, wv=wv, wo=wo):
            heads = []
            for columns in np.split(np.arange(CONFIG.d_model), CONFIG.num_heads):
                q, k, v = (x @ w[:, columns] for w in (wq, wk, wv))
                scores = q @ k.swapaxes(1, 2) / np.sqrt(len(columns))
                powers = np.exp(scores) * mask[:, 0]
                heads.append(powers / powers.sum(-1, keepdims=True) @ v)
            return np.concatenate(heads, -1) @ wo

        def feed(x, w1=w1, b1=b1, w2=w2, b2=b2):
            return np.maximum(0, x @ w1 + b1) @ w2 + b2

        for f, gamma, beta in [(attend, gamma1, beta1), (feed, gamma2, beta2)]:
            if norm_first:
                x = x + f(normalized(x, gamma, beta))
            else:
                x = normalized(x + f(x), gamma, beta)
    if norm_first:
        norm_weights = [np.float64(w) for w in encoder.norm.get_weights()]
    return normalized(x, *norm_weights) if norm_first else x


def normalized(x, gamma, beta):
    deviation = x - x.mean(-1, keepdims=True)
    variance = (deviation**2).mean(-1, keepdims=True)
    return deviation / np.sqrt(variance + 1e-5) * gamma + beta


# --- 식과 같다 ----------------------------------------------------------------------


@both_norms
@given(st.integers(1, 3), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_equals_the_formula_computed_in_numpy(norm_first, batch, length, seed):
    encoder = built(norm_first=norm_first)
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(batch, length, 8))
    mask = generator.random((batch, 1, 1, length)) < 0.7
    mask[..., 0] = True
    expected = by_numpy(encoder, x, mask, norm_first)
    output = encoder(x.astype("float32"), attention_mask=mask)
    np.testing.assert_allclose(output, expected, atol=1e-4)


def test_stack_is_its_layers_one_after_another_with_the_same_mask():
    encoder, x = built(), normal(2, 5, 8)
    mask = padding_mask([[1, 2, 3, 0, 0], [1, 2, 3, 4, 5]])
    expected = x
    for layer in encoder.layers:
        expected = layer(expected, attention_mask=mask)
    np.testing.assert_array_equal(encoder(x, attention_mask=mask), expected)


def test_only_the_pre_norm_stack_has_a_final_norm():
    assert built(norm_first=False).norm is None
    encoder, x = built(norm_first=True), normal(2, 5, 8)
    y = x
    for layer in encoder.layers:
        y = layer(y)
    np.testing.assert_array_equal(encoder(x), encoder.norm(y))
    assert encoder.norm.epsilon == encoder.layers[0].self_attention_norm.epsilon == 1e-5


# --- 성질 ---------------------------------------------------------------------------


@every_block
@both_norms
@given(length=st.integers(1, 5), padding=st.integers(0, 4), seed=st.integers(0, 99))
def test_padding_never_changes_other_positions(kind, norm_first, length, padding, seed):
    block, x = built(kind, norm_first=norm_first), normal(2, length, 8, seed=seed)
    padded = tf.concat([x, 1e2 * normal(2, padding, 8, seed=seed + 1)], axis=1)
    ids = np.repeat([[1] * length + [0] * padding], 2, axis=0)
    output = block(padded, attention_mask=padding_mask(ids))[:, :length]
    np.testing.assert_allclose(output, block(x), atol=1e-4)


@given(st.permutations(range(5)))
def test_without_positions_reordering_the_input_reorders_the_output(order):
    encoder, x = built(), normal(2, 5, 8)
    shuffled = encoder(tf.gather(x, order, axis=1))
    np.testing.assert_allclose(shuffled, encoder(x).numpy()[:, order], atol=1e-4)


@given(st.integers(2, 4), st.integers(1, 5))
def test_sentences_in_a_batch_do_not_touch_each_other(batch, length):
    encoder, x = built(), normal(batch, length, 8)
    together = encoder(x)
    for i in range(batch):
        alone = encoder(x[i : i + 1])
        np.testing.assert_allclose(together[i : i + 1], alone, atol=1e-4)


def test_a_look_ahead_mask_makes_every_layer_causal():
    encoder, x = built(), normal(1, 5, 8)
    changed = tf.concat([x[:, :2], normal(1, 3, 8, seed=1)], axis=1)
    mask = look_ahead_mask(5)
    before, after = (encoder(v, attention_mask=mask) for v in (x, changed))
    np.testing.assert_array_equal(before[:, :2], after[:, :2])
    assert not np.allclose(before[:, 2:], after[:, 2:])


# --- 가중치 -------------------------------------------------------------------------


@pytest.mark.parametrize("num_layers", [1, 2, 6])
@both_norms
def test_parameters_of_the_stack_are_those_of_its_layers(num_layers, norm_first):
    layer = built(EncoderLayer).count_params()
    encoder = built(num_layers=num_layers, norm_first=norm_first)
    assert encoder.count_params() == num_layers * layer + (16 if norm_first else 0)
    assert len({id(w) for w in encoder.weights}) == len(encoder.weights)


def test_layers_start_different_and_names_tell_them_apart():
    encoder = Encoder(CONFIG)
    encoder.build((None, None, 8))
    first, second = (layer.get_weights()[0] for layer in encoder.layers)
    assert not np.allclose(first, second)
    assert [layer.name for layer in encoder.layers] == ["layer_0", "layer_1"]
    assert len({w.path for w in encoder.weights}) == len(encoder.weights)


def test_parameters_do_not_depend_on_the_length():
    counts = set()
    for length in (1, 7, 30):
        encoder = Encoder(CONFIG)
        encoder(normal(1, length, 8))
        counts.add(encoder.count_params())
    assert len(counts) == 1


def test_every_weight_of_every_layer_learns():
    encoder, x = built(), normal(2, 5, 8)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(encoder(x)))
    for gradient in tape.gradient(loss, encoder.trainable_variables):
        assert np.isfinite(gradient).all()
        assert np.any(gradient != 0)


def test_attention_bias_key_and_value_dims_come_from_the_config():
    layer = built(EncoderLayer, attention_bias=True, key_dim=3, value_dim=5)
    shapes = [tuple(w.shape) for w in layer.self_attention.weights]
    assert shapes == [(8, 6), (6,), (8, 6), (6,), (8, 10), (10,), (10, 8), (8,)]
    assert layer(normal(2, 3, 8)).shape == (2, 3, 8)


def test_dropout_acts_in_training_only():
    encoder, x = built(dropout=0.5), normal(2, 5, 8)
    plain = built(dropout=0.0)(x)
    np.testing.assert_array_equal(encoder(x), plain)
    np.testing.assert_array_equal(encoder(x, training=False), plain)
    assert not np.allclose(encoder(x, training=True), plain)
    assert not np.allclose(encoder(x, training=True), encoder(x, training=True))


# --- 저장, 그래프, 정밀도, 오류 -----------------------------------------------------


@pytest.mark.parametrize("kind, norm_first", [(Encoder, False), (EncoderLayer, True)])
def test_it_keeps_the_promises_of_a_layer(kind, norm_first):
    config = dataclasses.replace(CONFIG, norm_first=norm_first, num_layers=1)
    keeps_layer_promises(functools.partial(kind, config), normal(2, 3, 8))


def test_a_mask_that_is_not_boolean_is_refused():
    x, mask = normal(2, 3, 8), np.ones((3, 3))
    assert "mask" in caught(TypeError, built(), x, attention_mask=mask)
