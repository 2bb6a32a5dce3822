"""멀티 헤드 어텐션이 지키는 약속."""

import functools
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import (
    HALF,
    MODES,
    caught,
    every_mode,
    keeps_layer_promises,
    normal,
    random_weights,
)

from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.multi_head_attention import (
    Attended,
    KeysValues,
    MultiHeadAttention,
)

# 층을 예마다 새로 만들지 않도록 모양을 정해 둡니다. 차례로 층의 인자
# (d_model, num_heads, key_dim, value_dim, use_bias), 쿼리와 키와 값의 depth,
# (batch, length_q, length_k)입니다.
SHAPES = [
    ((1, 1, 1, 1, False), (1, 1, 1), (1, 1, 1)),
    ((4, 2, 2, 2, True), (4, 4, 4), (2, 3, 3)),
    ((6, 3, 2, 5, True), (6, 2, 3), (2, 4, 3)),
    ((5, 4, 3, 2, True), (2, 6, 1), (3, 1, 5)),
    ((2, 1, 4, 3, False), (3, 1, 5), (1, 5, 2)),
    ((6, 4, 5, 1, False), (1, 5, 2), (2, 5, 1)),
    ((1, 2, 3, 3, True), (6, 4, 4), (5, 3, 4)),
    ((3, 3, 1, 4, True), (5, 3, 6), (4, 2, 4)),
]


@functools.cache
def built(d_model=8, num_heads=2, depth=8, **options):
    """고정된 가중치의 층. 여러 시험이 함께 쓰므로 가중치를 바꾸지 않습니다."""
    layer = MultiHeadAttention(d_model, num_heads, **options)
    layer.build(*[(None, None, depth)] * 3)
    return random_weights(layer)


def empty_cache(layer, batch, max_length):
    return KeysValues(
        *(
            tf.zeros((batch, layer.num_heads, max_length, depth), layer.compute_dtype)
            for depth in (layer.key_dim, layer.value_dim)
        )
    )


def by_loops(layer, query, key, value, mask):
    """논문의 식대로 헤드를 하나씩 따로 셈합니다 (NumPy, float64)."""
    weights = [np.asarray(w, np.float64) for w in layer.get_weights()]
    if not layer.use_bias:
        weights = list(itertools.chain(*((w, np.zeros(w.shape[1])) for w in weights)))
    wq, bq, wk, bk, wv, bv, wo, bo = weights
    output = np.zeros((*query.shape[:2], layer.d_model)) + bo
    attention = []
    for head in range(layer.num_heads):
        k = slice(head * layer.key_dim, (head + 1) * layer.key_dim)
        v = slice(head * layer.value_dim, (head + 1) * layer.value_dim)
        scores = (query @ wq[:, k] + bq[k]) @ (key @ wk[:, k] + bk[k]).swapaxes(1, 2)
        seen = np.broadcast_to(mask, (len(query), layer.num_heads, *scores.shape[1:]))
        powers = np.exp(scores / layer.key_dim**0.5) * seen[:, head]
        total = powers.sum(-1, keepdims=True)
        attention.append(powers / np.where(total, total, 1))
        output += attention[-1] @ (value @ wv[:, v] + bv[v]) @ wo[v]
    return output, np.stack(attention, 1)


@st.composite
def cases(draw, shapes=SHAPES, hidden=True):
    """층의 인자, (query, key, value), 4차원 마스크. 값과 마스크는 무작위입니다."""
    options, depths, (batch, length_q, length_k) = draw(st.sampled_from(shapes))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inputs = [
        generator.normal(size=(batch, length, depth)).astype("float32")
        for length, depth in zip((length_q, length_k, length_k), depths)
    ]
    mask = generator.random((batch, 1, length_q, length_k)) < draw(st.floats(0, 1))
    if not hidden:  # 행마다 볼 키를 하나는 남깁니다.
        mask[..., generator.integers(length_k)] = True
    return options, inputs, mask


def layer_for(options, inputs):
    return _layer_for(options, tuple(x.shape[-1] for x in inputs))


@functools.cache
def _layer_for(options, depths):
    layer = MultiHeadAttention(*options)
    layer.build(*((None, None, depth) for depth in depths))
    return random_weights(layer)


@functools.cache
def keras_twin(layer):
    """같은 가중치를 담은 Keras의 층. 행렬이 (depth, num_heads, head_dim)입니다."""
    twin = keras.layers.MultiHeadAttention(
        layer.num_heads,
        layer.key_dim,
        layer.value_dim,
        use_bias=layer.use_bias,
        output_shape=layer.d_model,
    )
    maps = layer.query_map, layer.key_map, layer.value_map
    query, key, value = ((None, None, kernel.shape[0]) for kernel, *_ in maps)
    twin.build(query, value, key)  # Keras의 순서
    pairs = zip(layer.get_weights(), twin.weights, strict=True)
    twin.set_weights([weight.reshape(theirs.shape) for weight, theirs in pairs])
    return twin


# --- 다른 구현과 같다 ---------------------------------------------------------------


@given(cases())
def test_equals_the_formula_computed_one_head_at_a_time(case):
    options, inputs, mask = case
    layer = layer_for(options, inputs)
    output, weights, _ = layer(*inputs, attention_mask=mask, return_weights=True)
    expected_output, expected_weights = by_loops(layer, *inputs, mask)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    np.testing.assert_allclose(output, expected_output, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*softmax over axis.*has size 1")
# Keras 3.15의 ops.add는 모양이 (num_heads, 1)인 편향을 길이의 축에 더합니다.
# 그래서 key_dim이 1이면서 편향이 있는 마지막 모양은 뺍니다.
@given(cases(SHAPES[:-1], hidden=False))
def test_equals_the_keras_layer_forward_and_backward(case):
    options, inputs, mask = case
    layer = layer_for(options, inputs)
    twin = keras_twin(layer)
    query, key, value = inputs = [tf.constant(x) for x in inputs]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        ours, weights, _ = layer(*inputs, attention_mask=mask, return_weights=True)
        theirs, scores = twin(
            query, value, key, attention_mask=mask, return_attention_scores=True
        )
        losses = [tf.reduce_sum(tf.sin(output)) for output in (ours, theirs)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(weights, scores, rtol=1e-5, atol=1e-5)
    our_gradients = tape.gradient(losses[0], [*inputs, *layer.trainable_variables])
    their_gradients = tape.gradient(losses[1], [*inputs, *twin.trainable_variables])
    for our, their in zip(our_gradients, their_gradients, strict=True):
        their = np.reshape(their, our.shape)
        np.testing.assert_allclose(our, their, rtol=1e-4, atol=1e-4)


@given(cases())
def test_one_head_equals_one_attention_between_linear_maps(case):
    _, (query, key, value), mask = case
    layer = layer_for((4, 1), (query, key, value))
    output = layer(query, key, value, attention_mask=mask)
    expected, _ = by_loops(layer, query, key, value, mask)
    np.testing.assert_allclose(output, expected, atol=1e-5)


# --- 어텐션의 성질을 물려받는다 -----------------------------------------------------


@given(cases())
def test_each_row_of_weights_sums_to_one_or_is_empty(case):
    options, inputs, mask = case
    layer = layer_for(options, inputs)
    weights = layer(*inputs, attention_mask=mask, return_weights=True).weights
    mask = np.broadcast_to(mask, weights.shape)
    assert np.all(weights.numpy()[~mask] == 0)
    np.testing.assert_allclose(weights.numpy().sum(-1), mask.any(-1), atol=1e-5)


@given(st.permutations(range(5)))
def test_reordering_a_sentence_reorders_the_output(order):
    layer, x = built(), normal(2, 5, 8)
    output, weights, _ = layer(x, x, x, return_weights=True)
    shuffled = tf.gather(x, order, axis=1)
    new = layer(shuffled, shuffled, shuffled, return_weights=True)
    np.testing.assert_allclose(new.output, output.numpy()[:, order], atol=1e-5)
    expected = weights.numpy()[:, :, order][..., order]
    np.testing.assert_allclose(new.weights, expected, atol=1e-5)


@given(st.integers(1, 4), st.integers(0, 3))
def test_padding_never_changes_other_positions(length, padding):
    layer, x = built(), normal(2, length, 8)
    padded = tf.concat([x, 1e3 * normal(2, padding, 8, seed=1)], axis=1)
    ids = np.repeat([[1] * length + [0] * padding], 2, axis=0)
    output = layer(padded, padded, padded, attention_mask=padding_mask(ids))
    np.testing.assert_allclose(output[:, :length], layer(x, x, x), atol=1e-5)


def test_later_tokens_never_change_earlier_ones():
    layer, x = built(), normal(1, 5, 8)
    output = layer(x, x, x, attention_mask=look_ahead_mask(5))
    for length in range(1, 5):
        changed = tf.concat([x[:, :length], normal(1, 5 - length, 8, seed=1)], 1)
        changed = layer(changed, changed, changed, attention_mask=look_ahead_mask(5))
        np.testing.assert_allclose(changed[:, :length], output[:, :length], atol=1e-6)
        assert not np.allclose(changed[:, length:], output[:, length:])


def test_sentences_in_a_batch_do_not_touch_each_other():
    layer, query, memory = built(), normal(3, 4, 8), normal(3, 6, 8, seed=1)
    mask = np.random.default_rng(2).random((3, 2, 4, 6)) < 0.6
    together = layer(query, memory, memory, attention_mask=mask)
    for i in range(3):
        one = slice(i, i + 1)
        alone = layer(query[one], memory[one], memory[one], attention_mask=mask[one])
        np.testing.assert_allclose(together[one], alone, atol=1e-6)


def test_each_head_may_have_its_own_mask():
    layer, x = built(), normal(1, 4, 8)
    mask = np.stack([np.eye(4, dtype=bool), ~np.eye(4, dtype=bool)])[np.newaxis]
    weights = layer(x, x, x, attention_mask=mask, return_weights=True).weights
    np.testing.assert_array_equal(weights.numpy() > 0, mask)


@pytest.mark.parametrize(
    "shape", [(), (6,), (4, 6), (3, 4, 6), (1, 1, 6), (3, 1, 4, 6), (1, 2, 4, 1)]
)
def test_mask_broadcasts_and_three_axes_mean_batch_query_key(shape):
    layer, query, memory = built(), normal(3, 4, 8), normal(3, 6, 8, seed=1)
    mask = np.random.default_rng(3).random(shape) < 0.5
    full = mask[:, np.newaxis] if mask.ndim == 3 else mask
    expected, _ = by_loops(layer, *(x.numpy() for x in (query, memory, memory)), full)
    output = layer(query, memory, memory, attention_mask=mask)
    np.testing.assert_allclose(output, expected, atol=1e-5)


@pytest.mark.parametrize("policy", ["float32", *HALF])
def test_a_fully_hidden_row_gives_the_output_bias_and_finite_gradients(policy):
    layer, query, memory = built(dtype=policy), normal(2, 4, 8), normal(2, 5, 8, seed=1)
    mask = np.ones((2, 1, 4, 5), bool)
    mask[0, 0, 1] = mask[1, 0, 3] = False
    with tf.GradientTape() as tape:
        tape.watch([query, memory])
        output, weights, _ = layer(query, memory, memory, mask, return_weights=True)
        loss = tf.reduce_sum(tf.sin(tf.cast(output, tf.float32)))
    sources = [query, memory, *layer.trainable_variables]
    gradients = tape.gradient(loss, sources)
    hidden = ~mask.any(-1)[:, 0]
    assert np.all(tf.cast(weights, tf.float32).numpy()[0, :, 1] == 0)
    bias = tf.cast(tf.cast(layer.get_weights()[-1], output.dtype), tf.float32)
    for row in tf.cast(output, tf.float32).numpy()[hidden]:
        np.testing.assert_array_equal(row, bias)
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    assert any(np.any(gradient) for gradient in gradients)


# --- 가중치의 차례와 모양 -----------------------------------------------------------


@pytest.mark.parametrize("use_bias", [True, False])
def test_weights_are_query_key_value_output_each_kernel_then_bias(use_bias):
    layer = MultiHeadAttention(6, 2, key_dim=5, value_dim=4, use_bias=use_bias)
    layer.build((None, None, 3), (None, None, 7), (None, None, 9))
    names = [weight.name for weight in layer.weights]
    shapes = [tuple(weight.shape) for weight in layer.weights]
    maps = ["query", "key", "value", "output"]
    kernels = [(3, 10), (7, 10), (9, 8), (8, 6)]
    if use_bias:
        assert names == [f"{m}_{kind}" for m in maps for kind in ("kernel", "bias")]
        assert shapes == [s for kernel in kernels for s in (kernel, kernel[1:])]
    else:
        assert names == [f"{m}_kernel" for m in maps]
        assert shapes == kernels
    assert all(weight.trainable for weight in layer.weights)


@pytest.mark.parametrize("num_heads", [1, 2, 4, 8])
def test_number_of_parameters_does_not_depend_on_the_number_of_heads(num_heads):
    assert built(16, num_heads, depth=16).count_params() == 4 * (16 * 16 + 16)


def test_biases_start_at_zero_and_heads_start_different():
    layer = MultiHeadAttention(8, 2)
    layer.build((None, None, 8))
    assert not any(np.any(bias) for bias in layer.get_weights()[1::2])
    weights = layer(*[normal(1, 4, 8)] * 3, return_weights=True).weights
    assert not np.allclose(weights[:, 0], weights[:, 1])


# --- 저장, 그래프, 정밀도 -----------------------------------------------------------


@every_mode
@pytest.mark.parametrize("cached", [False, True])
def test_whoever_asks_for_more_than_the_output_gets_the_same_three_names(mode, cached):
    layer, x = built(), normal(2, 3, 8)
    options = {"cache": layer.start_cache(2, 5)} if cached else {"return_weights": True}

    def call(x):
        return layer(x, x, x, **options)

    for whole in (call(keras.Input(batch_shape=x.shape)), MODES[mode](call)(x)):
        assert type(whole) is Attended
        assert whole.output.shape[1:] == (3, 8)
        assert whole.weights.shape[1:] == (2, 3, 5 if cached else 3)
        assert type(whole.cache) is (KeysValues if cached else list)
        assert cached or not whole.cache
    assert tf.is_tensor(layer(x, x, x))


def test_sizes_known_to_the_graph_stay_known():
    layer = built()
    run = tf.function(lambda x: layer(x, x, x, return_weights=True))
    output, weights, _ = run.get_concrete_function(
        tf.TensorSpec((None, 5, 8))
    ).structured_outputs
    assert output.shape.as_list() == [None, 5, 8]
    assert weights.shape.as_list() == [None, 2, 5, 5]


def test_empty_memory_gives_the_output_bias():
    layer = built()
    output = layer(tf.ones((2, 3, 8)), tf.zeros((2, 0, 8)), tf.zeros((2, 0, 8)))
    bias = np.broadcast_to(layer.get_weights()[-1], (2, 3, 8))
    np.testing.assert_array_equal(output, bias)


# --- 드롭아웃 -----------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["float32", "float64", *HALF])
def test_dropout_acts_in_training_only(policy):
    layer, x = built(dropout=0.5, dtype=policy), normal(2, 6, 8)
    plain = built(dtype=policy)(x, x, x)
    for training in (None, False):
        np.testing.assert_array_equal(layer(x, x, x, training=training), plain)
    first, second = (layer(x, x, x, training=True) for _ in range(2))
    assert not np.array_equal(first, plain)
    assert not np.array_equal(first, second)


def test_returned_weights_are_those_before_dropout():
    layer, x = built(dropout=0.5), normal(2, 6, 8)
    weights = layer(x, x, x, training=True, return_weights=True).weights
    expected = layer(x, x, x, training=False, return_weights=True).weights
    np.testing.assert_array_equal(weights, expected)
    np.testing.assert_allclose(weights.numpy().sum(-1), 1, atol=1e-6)


def test_dropout_keeps_the_average_and_drops_whole_weights():
    layer = MultiHeadAttention(1, 1, use_bias=False, dropout=0.25)
    x = tf.ones((1, 4000, 1))
    layer.build(x.shape)
    layer.set_weights([np.ones((1, 1))] * 4)
    keys = tf.ones((1, 1, 1))  # 가중치가 하나뿐이므로 출력은 0이거나 1 / 0.75입니다.
    output = layer(x, keys, keys, training=True).numpy().ravel()
    np.testing.assert_allclose(np.unique(output), [0, 1 / 0.75], rtol=1e-6)
    assert abs(output.mean() - 1) < 0.05


# --- 캐시 ---------------------------------------------------------------------------


def in_steps(layer, call, x, sizes, as_tensor, max_length):
    """sizes개씩 끊어 넣고 이어 붙인 출력과 마지막 캐시를 돌려줍니다."""
    cache, outputs, start = empty_cache(layer, x.shape[0], max_length), [], 0
    for size in sizes:
        output, _, cache = call(
            x[:, start : start + size],
            cache,
            tf.constant(start) if as_tensor else start,
        )
        outputs.append(output)
        start += size
    return tf.concat(outputs, axis=1), cache


@functools.cache
def cached(layer, mode="eager"):
    """캐시를 쓰는 함수. 같은 층과 방식은 한 번만 컴파일합니다."""
    return MODES[mode](lambda x, cache, slot: layer(x, x, x, cache=cache, slot=slot))


@pytest.mark.parametrize(
    ("mode", "as_tensor", "sizes"),
    [
        ("eager", False, (1, 1, 1, 1)),
        ("eager", True, (2, 1, 1)),
        ("graph", False, (1, 3)),
        ("graph", True, (1, 1, 1, 1)),
        ("xla", False, (3, 1)),
        ("xla", True, (1, 1, 1, 1)),
        ("xla", True, (4,)),
    ],
)
def test_step_by_step_equals_all_at_once(mode, as_tensor, sizes):
    layer, x = built(value_dim=3), normal(2, 4, 8)
    whole = layer(x, x, x, attention_mask=look_ahead_mask(4))
    run = cached(layer, mode)
    steps, _ = in_steps(layer, run, x, sizes, as_tensor, max_length=5)
    np.testing.assert_allclose(steps, whole, atol=1e-5)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(0, 2))
def test_any_chunks_equal_all_at_once(sizes, spare):
    layer, length = built(), sum(sizes)
    x = normal(1, length, 8)
    whole = layer(x, x, x, attention_mask=look_ahead_mask(length))
    steps, (key, value) = in_steps(
        layer, cached(layer), x, sizes, False, length + spare
    )
    np.testing.assert_allclose(steps, whole, atol=1e-5)
    assert not np.any(key[:, :, length:]) and not np.any(value[:, :, length:])


@pytest.mark.parametrize("jit_compile", [False, True])
def test_one_graph_serves_every_chunk(jit_compile):
    layer, x = built(), normal(2, 5, 8)
    slots = tf.TensorSpec((None, 2, None, 4))
    signature = [
        tf.TensorSpec((None, None, 8)),
        (slots, slots),
        tf.TensorSpec((), "int32"),
    ]
    run = tf.function(cached(layer), input_signature=signature, jit_compile=jit_compile)
    whole = layer(x, x, x, attention_mask=look_ahead_mask(5))
    steps, _ = in_steps(layer, run, x, (2, 1, 2), True, 6)
    np.testing.assert_allclose(steps, whole, atol=1e-5)


def test_cache_goes_around_a_while_loop():
    layer, x = built(), normal(2, 4, 8)

    @tf.function
    def run(x):
        outputs = tf.TensorArray(tf.float32, 4)
        cache = empty_cache(layer, 2, 4)
        for t in tf.range(4):
            output, _, cache = layer(*[x[:, t : t + 1]] * 3, cache=cache, slot=t)
            outputs = outputs.write(t, tf.ensure_shape(output, (2, 1, 8))[:, 0])
        return tf.transpose(outputs.stack(), (1, 0, 2))

    whole = layer(x, x, x, attention_mask=look_ahead_mask(4))
    np.testing.assert_allclose(run(x), whole, atol=1e-5)


@pytest.mark.parametrize("policy", HALF)
def test_cache_works_in_half_precision(policy):
    layer, x = built(dtype=policy), normal(2, 4, 8)
    whole = layer(x, x, x, attention_mask=look_ahead_mask(4))
    steps, cache = in_steps(layer, cached(layer), x, (1, 1, 2), False, 4)
    assert steps.dtype == cache[0].dtype == cache[1].dtype == HALF[policy]
    difference = tf.cast(steps, tf.float32) - tf.cast(whole, tf.float32)
    assert np.abs(difference).max() < {"float16": 1e-2, "bfloat16": 6e-2}[HALF[policy]]


def test_mask_and_cache_hide_together():
    layer, x = built(), normal(2, 4, 8)
    visible = np.array([[0, 1, 1, 1], [1, 1, 0, 1]], bool)[:, np.newaxis, np.newaxis]
    whole = layer(x, x, x, attention_mask=visible & look_ahead_mask(4))
    output, weights, _ = layer(
        *[x] * 3,
        attention_mask=visible,
        cache=empty_cache(layer, 2, 4),
        return_weights=True,
    )
    np.testing.assert_allclose(output, whole, atol=1e-6)
    assert weights.shape == (2, 2, 4, 4)
    later = np.triu(np.ones((4, 4), bool), 1)
    assert not np.any(weights.numpy()[:, :, later])


def test_old_contents_beyond_the_current_token_are_never_seen():
    layer, x = built(), normal(1, 2, 8)
    clean = empty_cache(layer, 1, 5)
    dirty = tuple(tensor + 1e3 for tensor in clean)
    for cache in (clean, dirty):
        output = layer(x, x, x, cache=cache).output
        np.testing.assert_allclose(
            output, layer(x, x, x, attention_mask=look_ahead_mask(2)), atol=1e-5
        )


def test_heads_need_not_divide_d_model_when_both_widths_are_given():
    x = normal(1, 2, 8)
    assert MultiHeadAttention(8, 3, key_dim=4, value_dim=2)(x, x, x).shape == (1, 2, 8)


def test_a_functional_model_hands_the_cache_in_and_out():
    layer = MultiHeadAttention(8, 2)
    inputs = [keras.Input((3, 8)), keras.Input((2, 6, 4)), keras.Input((2, 6, 4))]
    x, *cache = inputs
    output, _, new_cache = layer(x, x, x, cache=tuple(cache), slot=0)
    model = keras.Model(inputs, [output, *new_cache])
    x = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")
    empty = np.zeros((2, 2, 6, 4), "float32")
    expected, _, cache = layer(x, x, x, cache=(empty, empty), slot=0)
    for found, wanted in zip(model([x, empty, empty]), [expected, *cache], strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


# --- 읽기만 하는 캐시와 위치 ----------------------------------------------------------


@pytest.mark.parametrize("policy", ["float32", "float64", *HALF])
def test_reading_kept_keys_and_values_equals_calling_the_layer(policy):
    layer = built(value_dim=3, dropout=0.5, dtype=policy)
    x, memory = normal(2, 3, 8), normal(2, 5, 8, seed=1)
    mask = np.random.default_rng(0).random((2, 1, 3, 5)) < 0.6
    expected = layer(x, memory, memory, attention_mask=mask, return_weights=True)
    kept = layer.keys_and_values(memory, memory)
    assert [t.shape for t in kept] == [(2, 2, 5, 4), (2, 2, 5, 3)]
    for found, wanted in zip(layer.read(x, kept, attention_mask=mask), expected):
        assert found.dtype == wanted.dtype == layer.compute_dtype
        np.testing.assert_array_equal(
            *(tf.cast(t, tf.float64) for t in (found, wanted))
        )


def test_the_position_map_turns_queries_and_keys_before_they_meet_or_are_kept():
    layer, x = built(), normal(1, 3, 8)

    def turn(query, keys):
        assert query.shape == keys.shape == (1, 2, 3, 4)
        return -query, 2 * keys

    plain = layer(x, x, x, return_weights=True).weights
    cache = empty_cache(layer, 1, 3)
    mask = np.ones((1, 1, 3, 3), bool)
    output, turned, kept = layer(
        x, x, x, mask, return_weights=True, position_map=turn, cache=cache
    )
    np.testing.assert_allclose(kept.keys, 2 * layer.keys_and_values(x, x).keys)
    np.testing.assert_allclose(kept.values, layer.keys_and_values(x, x).values)
    last = np.log(plain.numpy())[..., -1:, :]
    expected = np.exp(-2 * last) / np.exp(-2 * last).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(turned[..., -1:, :], expected, rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"use_bias": False, "key_dim": 3}])
def test_it_keeps_the_promises_of_a_layer(options):
    keeps_layer_promises(
        functools.partial(MultiHeadAttention, 8, 2, **options),
        *(normal(2, 3, 8, seed=seed) for seed in range(3)),
        call=lambda layer, *given: layer(*given),
    )


def test_what_would_be_a_plausible_answer_is_refused():
    with pytest.raises(ValueError, match="num_heads"):
        MultiHeadAttention(8, 3)
    layer, x = MultiHeadAttention(8, 2), normal(2, 3, 8)
    cache = layer(x, x, x) is None or layer.start_cache(2, 4)
    for options, kind, name in (
        ({"attention_mask": np.ones((3, 3))}, TypeError, "mask"),
        ({"attention_mask": np.ones((2, 2, 3), bool)}, ValueError, "mask"),
        ({"attention_mask": np.ones((3, 3), int), "cache": cache}, TypeError, "mask"),
        ({"cache": 5}, ValueError, "cache"),
        ({"cache": [x, x]}, ValueError, "cache"),
        ({"cache": layer.start_cache(3, 4)}, ValueError, "cache"),
        ({"cache": cache, "slot": 2}, ValueError, "slot=2"),
        ({"cache": cache, "slot": -1}, ValueError, "slot=-1"),
    ):
        assert name in caught(kind, layer, x, x, x, **options), options
    run = tf.function(lambda slot: layer(x, x, x, cache=cache, slot=slot)[0])
    for slot in (2, -1):
        with pytest.raises(tf.errors.InvalidArgumentError, match="slot"):
            run(tf.constant(slot))
    assert "cache" in caught(ValueError, layer, x[:, :1], x, x, cache=cache)
