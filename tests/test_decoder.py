"""디코더의 층과 스택이 지키는 약속."""

import dataclasses
import functools
from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import HALF, MODES, caught, keeps_layer_promises, normal

from transformer_notes.decoder import Decoder, DecoderLayer
from transformer_notes.encoder import EncoderLayer
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.transformer import TransformerConfig

CONFIG = TransformerConfig(
    vocab_size=9, d_model=8, num_heads=2, num_layers=2, d_ff=12, dropout=0.0
)
SOURCE = [[5, 6, 7, 0], [5, 0, 0, 0]]
every_block = pytest.mark.parametrize("kind", [DecoderLayer, Decoder])
both_norms = pytest.mark.parametrize("norm_first", [False, True])


def built(kind=Decoder, seed=0, **changes):
    """가중치를 모두 0이 아닌 값으로 채운 층이나 스택입니다."""
    dtype = changes.pop("dtype", None)
    block = kind(replace(CONFIG, **changes), dtype=dtype)
    block.build((None, None, CONFIG.d_model), (None, None, CONFIG.d_model))
    generator = np.random.default_rng(seed)
    block.set_weights(
        [generator.normal(w.name == "gamma", 0.4, w.shape) for w in block.weights]
    )
    return block


@functools.cache
def shared(kind=Decoder):
    """읽기만 하는 시험이 함께 쓰는 층이나 스택입니다."""
    return built(kind)


def inputs(batch=2, length=5, length_memory=4):
    return normal(batch, length, 8), normal(batch, length_memory, 8, seed=1)


def empty_caches(block, memory, max_length):
    return block.start_cache(tf.cast(memory, block.compute_dtype), max_length)


def by_parts(layer, x, memory, mask, memory_mask, norm_first):
    """논문의 세 하위 층을 AddAndNorm 없이 차례로 적습니다."""
    for norm, f in [
        (
            layer.self_attention_norm.norm,
            lambda x: layer.self_attention(x, x, x, attention_mask=mask),
        ),
        (
            layer.cross_attention_norm.norm,
            lambda x: layer.cross_attention(
                x, memory, memory, attention_mask=memory_mask
            ),
        ),
        (layer.feed_forward_norm.norm, layer.feed_forward),
    ]:
        x = x + f(norm(x)) if norm_first else norm(x + f(x))
    return x


# --- 식과 같다 ----------------------------------------------------------------------


@both_norms
def test_stack_is_three_sublayers_a_layer_reading_the_same_memory(norm_first):
    decoder, (x, memory) = built(norm_first=norm_first), inputs()
    masks = look_ahead_mask(5), padding_mask(SOURCE)
    expected = x
    for layer in decoder.layers:
        after = layer(expected, memory, *masks)
        expected = by_parts(layer, expected, memory, *masks, norm_first)
        np.testing.assert_allclose(after, expected, atol=1e-5)
    if norm_first:
        expected = decoder.norm(expected)
    np.testing.assert_allclose(decoder(x, memory, *masks), expected, atol=1e-5)


def test_only_the_pre_norm_stack_has_a_final_norm():
    assert built(norm_first=False).norm is None
    assert built(norm_first=True).norm.epsilon == 1e-5


def test_without_cross_attention_a_layer_is_a_masked_encoder_layer():
    layer, (x, memory) = DecoderLayer(CONFIG), inputs()
    layer(x, memory)
    layer.cross_attention.set_weights(
        [0 * w for w in layer.cross_attention.get_weights()]
    )
    plain = EncoderLayer(CONFIG)
    plain.build(x.shape)
    weights = layer.get_weights()
    plain.set_weights(weights[:6] + weights[12:])
    mask = look_ahead_mask(5)
    output = layer(x, memory, attention_mask=mask)
    np.testing.assert_allclose(output, plain(x, attention_mask=mask), atol=1e-4)


# --- 성질 ---------------------------------------------------------------------------


@every_block
@given(length=st.integers(2, 6), split=st.integers(1, 5), seed=st.integers(0, 99))
def test_the_future_never_changes_the_past(kind, length, split, seed):
    split = min(split, length - 1)
    decoder, (x, memory) = shared(kind), inputs(length=length)
    changed = tf.concat([x[:, :split], normal(2, length - split, 8, seed=seed)], 1)
    before, after = (decoder(v, memory, look_ahead_mask(length)) for v in (x, changed))
    np.testing.assert_array_equal(before[:, :split], after[:, :split])
    assert not np.allclose(before[:, split:], after[:, split:])


@every_block
@given(length=st.integers(1, 4), padding=st.integers(0, 4), seed=st.integers(0, 99))
def test_source_padding_never_changes_the_output(kind, length, padding, seed):
    decoder, (x, memory) = shared(kind), inputs(length_memory=length)
    longer = tf.concat([memory, 1e2 * normal(2, padding, 8, seed=seed)], axis=1)
    mask = padding_mask([[1] * length + [0] * padding] * 2)
    output = decoder(x, longer, memory_mask=mask)
    np.testing.assert_allclose(output, decoder(x, memory), atol=1e-4)


@given(length=st.integers(1, 4), padding=st.integers(0, 4))
def test_target_padding_never_changes_other_positions(length, padding):
    decoder, (x, memory) = shared(), inputs(length=length)
    longer = tf.concat(
        [1e2 * normal(2, padding, 8, seed=3), x], axis=1
    )  # 앞에 붙입니다
    mask = padding_mask([[0] * padding + [1] * length] * 2)
    output = decoder(longer, memory, attention_mask=mask)[:, padding:]
    np.testing.assert_allclose(output, decoder(x, memory), atol=1e-4)


@given(st.permutations(range(4)))
def test_reordering_the_memory_with_its_mask_changes_nothing(order):
    decoder, (x, memory) = shared(), inputs()
    mask = padding_mask(SOURCE)
    mixed = tf.gather(memory, order, axis=1), tf.gather(mask, order, axis=3)
    output = decoder(x, mixed[0], memory_mask=mixed[1])
    np.testing.assert_allclose(output, decoder(x, memory, memory_mask=mask), atol=1e-4)


def test_sentences_in_a_batch_do_not_touch_each_other():
    decoder, (x, memory) = shared(), inputs(batch=3)
    together = decoder(x, memory, look_ahead_mask(5))
    for i in range(3):
        alone = decoder(x[i : i + 1], memory[i : i + 1], look_ahead_mask(5))
        np.testing.assert_allclose(together[i : i + 1], alone, atol=1e-4)


# --- 메모리의 마스크 ----------------------------------------------------------------


@every_block
def test_memory_mask_of_two_axes_equals_that_of_four(kind):
    decoder, (x, memory) = shared(kind), inputs()
    four = padding_mask(SOURCE)
    two = np.array(SOURCE) != 0
    expected = decoder(x, memory, memory_mask=four)
    np.testing.assert_array_equal(decoder(x, memory, memory_mask=two), expected)
    assert not np.allclose(decoder(x, memory), expected)


@every_block
def test_memory_mask_that_keras_fills_in_is_obeyed(kind):
    decoder, (x, _) = shared(kind), inputs()
    memory = keras.layers.Embedding(9, 8, mask_zero=True)(np.array(SOURCE))
    assert memory._keras_mask is not None
    output = decoder(x, memory)
    plain = tf.identity(memory)
    expected = decoder(x, plain, memory_mask=padding_mask(SOURCE))
    np.testing.assert_array_equal(output, expected)
    everything = decoder(x, memory, memory_mask=tf.ones((1, 1, 1, 4), tf.bool))
    np.testing.assert_array_equal(everything, decoder(x, plain))  # 준 것이 먼저입니다


# --- 캐시 ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "kind", "norm_first"),
    [
        ("eager", DecoderLayer, False),
        ("eager", DecoderLayer, True),
        ("eager", Decoder, False),
        ("graph", Decoder, True),
        ("xla", Decoder, False),
    ],
)
def test_step_by_step_equals_all_at_once(kind, mode, norm_first):
    decoder, (x, memory) = built(kind, norm_first=norm_first), inputs()
    mask = padding_mask(SOURCE)
    whole = decoder(x, memory, look_ahead_mask(5), mask)

    def step(token, cache, slot):
        whole = decoder(token, memory, memory_mask=mask, cache=cache, slot=slot)
        return whole.output, whole.cache

    step, cache, at = MODES[mode](step), empty_caches(decoder, memory, 7), 0
    for size in (2, 1, 1, 1):
        output, cache = step(x[:, at : at + size], cache, tf.constant(at))
        np.testing.assert_allclose(output, whole[:, at : at + size], atol=1e-5)
        at += size


def test_the_callers_cache_is_not_written_to():
    decoder, (x, memory) = shared(), inputs()
    cache = empty_caches(decoder, memory, 5)
    new = decoder(x, memory, cache=cache).cache
    assert isinstance(new, list)
    assert not any(np.any(tensor) for layer in cache for tensor in layer.own)
    assert all(np.any(tensor) for layer in new for tensor in layer.own)
    for old, grown in zip(cache, new):
        np.testing.assert_array_equal(grown.memory.keys, old.memory.keys)
        np.testing.assert_array_equal(grown.memory.values, old.memory.values)


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3), spare=st.integers(0, 2)
)
def test_any_split_of_the_answer_gives_the_same_output(sizes, spare):
    length, at, steps = sum(sizes), 0, []
    decoder, (x, memory) = shared(), inputs(length=length)
    cache = empty_caches(decoder, memory, length + spare)
    for size in sizes:
        step, _, cache = decoder(x[:, at : at + size], memory, cache=cache, slot=at)
        steps.append(step)
        at += size
    whole = decoder(x, memory, look_ahead_mask(length))
    np.testing.assert_allclose(tf.concat(steps, axis=1), whole, atol=1e-5)


@every_block
def test_a_functional_model_may_carry_the_cache(kind):
    block, (x, memory) = shared(kind), inputs()
    cache = empty_caches(block, memory, 6)
    ports = keras.tree.map_structure(
        lambda tensor: keras.Input(batch_shape=tensor.shape), [x, memory, cache]
    )
    model = keras.Model(ports, block(ports[0], ports[1], cache=ports[2]))
    given, expected = model([x, memory, cache]), block(x, memory, cache=cache)
    pairs = zip(keras.tree.flatten(given), keras.tree.flatten(expected), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, atol=1e-5)


@every_block
def test_the_cache_starts_empty_and_holds_the_memory(kind):
    block = built(kind, key_dim=3, value_dim=5, num_heads=4)
    _, memory = inputs(batch=3)
    cache = empty_caches(block, memory, 7)
    for layer, kept in zip(
        getattr(block, "layers", [block]), cache if kind is Decoder else [cache]
    ):
        assert [t.shape for t in kept.own] == [(3, 4, 7, 3), (3, 4, 7, 5)]
        assert not any(np.any(tensor) for tensor in kept.own)
        expected = layer.cross_attention.keys_and_values(memory, memory)
        for found, wanted in zip(kept.memory, expected):
            np.testing.assert_array_equal(found, wanted)


def test_a_cache_may_be_started_before_the_first_call():
    _, memory = inputs()
    cache = Decoder(CONFIG).start_cache(memory, 4)
    assert [layer.own.keys.shape for layer in cache] == [(2, 2, 4, 4)] * 2


@every_block
@pytest.mark.parametrize("cached", [False, True])
def test_weights_are_those_of_each_attention_and_rows_sum_to_one(kind, cached):
    block, (x, memory) = shared(kind), inputs()
    masks = {"attention_mask": look_ahead_mask(5), "memory_mask": padding_mask(SOURCE)}
    options = {"cache": empty_caches(block, memory, 5)} if cached else {}
    plain = block(x, memory, **masks)
    output, weights, _ = block(x, memory, **masks, **options, return_weights=True)
    np.testing.assert_allclose(output, plain, atol=1e-5)
    every = weights if kind is Decoder else [weights]
    assert len(every) == (2 if kind is Decoder else 1)
    for layer in every:
        assert layer.self_attention.shape == (2, 2, 5, 5)
        assert layer.cross_attention.shape == (2, 2, 5, 4)
        np.testing.assert_allclose(
            tf.reduce_sum(layer.self_attention, -1), 1, atol=1e-5
        )
        assert not np.any(np.triu(layer.self_attention[0, 0], 1))
        assert not np.any(layer.cross_attention[0, ..., 3])  # 입력의 패딩
    if not cached:
        first = block.layers[0] if kind is Decoder else block
        expected = first.self_attention(
            x, x, x, look_ahead_mask(5), return_weights=True
        ).weights
        np.testing.assert_allclose(every[0].self_attention, expected, atol=1e-6)


# --- 가중치 -------------------------------------------------------------------------


@pytest.mark.parametrize("num_layers", [1, 2, 6])
@both_norms
def test_parameters_of_the_stack_are_those_of_its_layers(num_layers, norm_first):
    layer = built(DecoderLayer).count_params()
    decoder = built(num_layers=num_layers, norm_first=norm_first)
    assert decoder.count_params() == num_layers * layer + (16 if norm_first else 0)
    assert len({id(w) for w in decoder.weights}) == len(decoder.weights)
    assert len({w.path for w in decoder.weights}) == len(decoder.weights)


def test_layers_share_no_weights_and_read_the_same_memory():
    decoder, (x, memory) = built(num_layers=3), inputs()
    assert len({id(layer) for layer in decoder.layers}) == 3
    silent = decoder.layers[1:]  # 첫 층만 memory를 보게 합니다
    for layer in silent:
        weights = layer.cross_attention.get_weights()
        layer.cross_attention.set_weights([0 * w for w in weights])
    first = decoder.layers[0](x, memory)
    expected = first
    for layer in silent:
        expected = layer(expected, 5 + memory)  # 보지 않으니 무엇이든 같습니다
    np.testing.assert_allclose(decoder(x, memory), expected, atol=1e-5)


def test_every_weight_learns_and_the_memory_receives_a_gradient():
    decoder, (x, memory) = shared(), inputs()
    with tf.GradientTape() as tape:
        tape.watch(memory)
        output = decoder(x, memory, look_ahead_mask(5), padding_mask(SOURCE))
        loss = tf.reduce_sum(tf.sin(output))
    weights = decoder.trainable_variables
    to_memory, *gradients = tape.gradient(loss, [memory, *weights])
    assert all(np.isfinite(g).all() and np.any(g != 0) for g in gradients)
    seen = np.any(to_memory != 0, axis=-1)
    np.testing.assert_array_equal(seen, np.array(SOURCE) != 0)


def test_dropout_acts_in_training_only():
    decoder, (x, memory) = built(dropout=0.5), inputs()
    plain = built(dropout=0.0)(x, memory)
    np.testing.assert_array_equal(decoder(x, memory), plain)
    assert not np.allclose(decoder(x, memory, training=True), plain)


# --- 저장, 그래프, 정밀도 -----------------------------------------------------------


@every_block
@pytest.mark.parametrize("policy", ["float64", *HALF])
def test_the_dtype_policy_reaches_every_sublayer(kind, policy):
    block = kind(replace(CONFIG, norm_first=True, dropout=0.1), dtype=policy)
    block.build((None, None, 8))
    assert {layer.dtype_policy.name for layer in block._flatten_layers()} == {policy}


@every_block
def test_announced_outputs_are_those_returned(kind):
    for policy in ("float32", *HALF):
        decoder, (x, memory) = built(kind, dtype=policy), inputs()
        cache = empty_caches(decoder, memory, 5)
        for options in (
            {},
            {"cache": cache},
            {"return_weights": True},
            {"cache": cache, "return_weights": True},
        ):
            announced = decoder.compute_output_spec(x, memory, **options)
            real = decoder(x, memory, **options)
            keras.tree.assert_same_structure(announced, real)
            for a, b in zip(keras.tree.flatten(announced), keras.tree.flatten(real)):
                assert tuple(a.shape) == tuple(b.shape)
                assert tf.as_dtype(a.dtype) == b.dtype == decoder.compute_dtype


@pytest.mark.parametrize("kind, norm_first", [(Decoder, False), (DecoderLayer, True)])
def test_it_keeps_the_promises_of_a_layer(kind, norm_first):
    config = dataclasses.replace(CONFIG, norm_first=norm_first, num_layers=1)
    x, memory = normal(2, 3, 8), normal(2, 3, 8, seed=1)
    keeps_layer_promises(functools.partial(kind, config), x, memory)


def test_what_would_be_a_plausible_answer_is_refused():
    decoder, (x, memory) = shared(), inputs()
    for changed, kind, name in (
        ({"memory": memory[:1]}, ValueError, "memory"),
        ({"memory": tf.repeat(memory, 2, axis=0)}, ValueError, "memory"),
        ({"attention_mask": np.ones((5, 5))}, TypeError, "mask"),
        ({"memory_mask": np.ones((2, 4))}, TypeError, "mask"),
    ):
        message = caught(kind, decoder, x, **{"memory": memory} | changed)
        assert name in message, changed
    cache = empty_caches(decoder, memory, 5)
    short = empty_caches(decoder, memory, 4)
    for wrong in ([], cache[:1], cache * 2, [cache[0], None], 3, cache[0], short):
        assert "cache" in caught(ValueError, decoder, x, memory, cache=wrong)
