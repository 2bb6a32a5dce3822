"""2017년 다음의 변화: 다른 라이브러리와 같고, 끼운 모델의 디코딩도 저장도 그대로다."""

import functools

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
from others import keras_hub, needs_keras_hub, needs_torch, torch

from transformer_notes import variants
from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.decoding import beam_search, greedy
from transformer_notes.feed_forward import PositionwiseFeedForward
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.multi_head_attention import MultiHeadAttention
from transformer_notes.positional_encoding import sinusoidal_encoding
from transformer_notes.transformer import Transformer, TransformerConfig

SIZES = {
    "vocab_size": 12,
    "d_model": 16,
    "num_heads": 4,
    "num_layers": 1,
    "d_ff": 24,
    "dropout": 0.0,
    "max_length": 24,
}
MODELS = {
    "rms_norm": (Transformer, variants.RMSNormConfig, {"norm_first": True}),
    "gelu": (Transformer, variants.GELUConfig, {}),
    "swiglu": (Transformer, variants.SwiGLUConfig, {}),
    "rotary": (Transformer, variants.RotaryConfig, {}),
    "alibi": (Transformer, variants.ALiBiConfig, {}),
    "grouped": (Transformer, variants.GroupedQueryConfig, {"num_key_heads": 2}),
    "multi_query": (Transformer, variants.GroupedQueryConfig, {}),
    "blocks": (Transformer, variants.BlocksConfig, {}),
    "today": (Transformer, variants.Today, {"num_key_heads": 2}),
    "decoder_only": (variants.DecoderOnly, TransformerConfig, {}),
    "decoder_only_learned": (
        variants.DecoderOnly,
        TransformerConfig,
        {"positions": "learned"},
    ),
    "decoder_only_alibi": (variants.DecoderOnly, variants.ALiBiConfig, {}),
    "decoder_only_today": (
        variants.DecoderOnly,
        variants.Today,
        {"num_key_heads": 2},
    ),
}
#: 캐시의 모양이나 위치를 다루는 방법이 다른 것. 나머지는 `make test-slow`가 봅니다.
OWN_CACHE = ["rotary", "alibi", "grouped", "blocks", "decoder_only_today"]
SOURCE = np.array([[5, 6, 7, 4], [8, 9, 0, 0]])
TARGET = np.array([[1, 5, 6, 7, 3], [1, 3, 3, 4, 11]])


@functools.cache  # 시험은 가중치를 고치지 않으므로 한 번만 만듭니다
def make(name, **changes):
    model, config, own = MODELS[name]
    keras.utils.set_random_seed(3)
    return random_weights(built(model(config(**SIZES | own | changes))))


def built(model):
    model.build()
    return model


def close(actual, expected, tolerance=2e-5):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


# --- 모델: 캐시, 디코딩, 저장 -------------------------------------------------------


def uncached_greedy(model, source, max_extra):
    """캐시 없이, 스텝마다 처음부터 다시 계산합니다."""
    ids, finished = np.full((len(source), 1), 1), np.zeros(len(source), bool)
    limit = (source != 0).sum(axis=1) + max_extra
    for length in range(1, max(limit) + 1):
        logits = model((source, ids)).numpy()[:, -1]
        logits[:, 0] = -np.inf
        token = np.where(finished, 0, logits.argmax(axis=-1))
        finished |= (token == 2) | (length >= limit)
        ids = np.concatenate([ids, token[:, np.newaxis]], axis=1)
        if finished.all():
            break
    return ids[:, 1:]


def with_a_cache_equals_the_full_pass(model, expected):
    memory, mask = model.encode(SOURCE), padding_mask(SOURCE)
    for piece in (1, 3):
        cache, pieces = model.start_cache(memory, mask, 8), []
        for slot in range(0, 5, piece):
            ids = TARGET[:, slot : slot + piece]
            logits, _, cache = model.decode(ids, memory, mask, cache=cache, slot=slot)
            pieces.append(logits)
        close(np.concatenate(pieces, axis=1), expected)
        assert len(cache) == model.config.num_layers


def padding_and_the_future_change_nothing(model, expected):
    longer = np.pad(SOURCE, ((0, 0), (0, 3)))
    close(model((longer, TARGET)), expected)
    later = TARGET.copy()
    later[:, 3:] = 10
    np.testing.assert_array_equal(model((SOURCE, later))[:, :3], expected[:, :3])
    assert np.abs(model((SOURCE, later))[:, 3:] - expected[:, 3:]).max() > 1e-3
    other = SOURCE.copy()
    other[0, 0] = 11
    changed = np.abs(model((other, TARGET)) - expected).max(axis=(1, 2))
    assert changed[0] > 1e-3 and changed[1] == 0


def answers_and_scores_are_those_of_the_full_pass(model):
    expected = uncached_greedy(model, SOURCE, max_extra=2)
    np.testing.assert_array_equal(greedy(model, SOURCE, 1, 2, 2), expected)
    ids, scores = beam_search(
        model, SOURCE, 1, 2, 2, beam_size=3, length_penalty=0.0, return_beams=True
    )
    assert len({tuple(row) for row in ids.numpy()[0].tolist()}) == 3
    for beam in range(3):
        answer = ids.numpy()[:, beam]
        given = np.pad(answer[:, :-1], ((0, 0), (1, 0)), constant_values=1)
        log_p = tf.nn.log_softmax(model((SOURCE, given))).numpy()
        chosen = np.take_along_axis(log_p, answer[..., np.newaxis], axis=-1)[..., 0]
        close(scores[:, beam], (chosen * (answer != 0)).sum(axis=1), 1e-4)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in OWN_CACHE))
        for name in MODELS
    ],
)
def test_a_changed_model_keeps_the_promises_of_the_first_one(name, tmp_path):
    model = make(name)
    expected = model((SOURCE, TARGET)).numpy()
    with_a_cache_equals_the_full_pass(model, expected)
    padding_and_the_future_change_nothing(model, expected)
    answers_and_scores_are_those_of_the_full_pass(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is type(model)
    assert loaded.config == model.config and type(loaded.config) is type(model.config)
    np.testing.assert_array_equal(loaded((SOURCE, TARGET)), expected)


@pytest.mark.parametrize("name", ["today", "alibi", "blocks", "decoder_only_today"])
@pytest.mark.parametrize("policy", HALF)
def test_half_precision_stays_near_and_finite(name, policy):
    expected = make(name)((SOURCE, TARGET))
    model, config, own = MODELS[name]
    half = built(model(config(**SIZES | own), dtype=policy))
    half.set_weights(make(name).get_weights())
    logits = half((SOURCE, TARGET))
    assert logits.dtype == HALF[policy] and np.isfinite(np.float32(logits)).all()
    error = np.abs(np.float32(logits) - expected).max()
    assert error < 0.1 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["today", "alibi", "blocks", "decoder_only_today"])
def test_xla_trains_to_the_same_gradients(name):
    model = make(name)

    def gradients():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.sin(model((SOURCE, TARGET), training=True)))
        return tape.gradient(loss, model.trainable_variables)

    expected = gradients()
    assert all(np.isfinite(g).all() and np.abs(g).max() > 0 for g in expected)
    for one, other in zip(tf.function(gradients, jit_compile=True)(), expected):
        close(one, other, 1e-4)


# --- 파라미터와 캐시의 크기 ---------------------------------------------------------


def test_a_gated_network_at_two_thirds_has_the_parameters_of_the_plain_one():
    plain = PositionwiseFeedForward(48, 192)
    gated = variants.SwiGLUConfig(10, d_model=48, num_heads=2, d_ff=192).feed_forward()
    plain.build((None, None, 48))
    gated.build((None, None, 48))
    matrices = plain.count_params() - 192 - 48  # 편향을 뺀 것
    assert gated.count_params() == matrices == 3 * 48 * 128


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_the_cache_shrinks_with_the_heads_of_the_keys(heads):
    model = make("grouped", num_key_heads=heads)
    cache = model.start_cache(model.encode(SOURCE), padding_mask(SOURCE), 10)
    (layer,) = cache
    size = sum(int(tf.size(x)) for x in layer.own)
    assert size == 2 * (2 * 10 * heads * 4)  # 키와 값, 문장 둘
    assert layer.memory.keys.shape == (2, heads, 4, 4)


# --- 정규화 -------------------------------------------------------------------------


@pytest.mark.extra  # torch가 없으면 Keras와만 견줍니다
@given(st.integers(1, 20), st.floats(-100, 100), st.integers(0, 9))
def test_rms_norm_equals_keras_and_torch(d_model, shift, seed):
    x = normal(2, 3, d_model, seed=seed) + shift
    layer = variants.RMSNorm(epsilon=1e-6)
    layer.build(x.shape)
    random_weights(layer, seed)
    twin = keras.layers.RMSNormalization(epsilon=1e-6)
    twin.build(x.shape)
    twin.set_weights(layer.get_weights())
    close(layer(x), twin(x), 1e-5)
    if torch is not None:
        gamma = torch.tensor(np.asarray(layer.gamma))
        given = torch.tensor(x.numpy())
        close(layer(x), torch.rms_norm(given, (d_model,), gamma, 1e-6), 1e-5)


def test_rms_norm_ignores_scale_but_not_shift():
    x, layer = normal(1, 2, 8), variants.RMSNorm(epsilon=1e-12)
    close(layer(5 * x), layer(x))
    assert np.abs(layer(x + 5) - layer(x)).max() > 0.5
    layer_norm = keras.layers.LayerNormalization(epsilon=1e-12)
    close(layer_norm(x + 5), layer_norm(x))
    centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    close(layer(centred), layer_norm(x))


def test_rms_norm_is_computed_in_float32_where_half_would_overflow_or_vanish():
    layer = variants.RMSNorm(epsilon=1e-12, dtype="mixed_float16")
    for scale in (3e4, 1e-3):  # 제곱하면 float16에서 무한대와 0이 되는 크기
        x = scale * tf.constant([[[1.0, 0.0, 0.0, 0.0]]])
        close(np.float32(layer(x)), [[[2.0, 0.0, 0.0, 0.0]]], 1e-3)


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (functools.partial(variants.RMSNorm, epsilon=0.1), 1),
        (functools.partial(variants.SwiGLU, 8, 6), 1),
        (functools.partial(variants.GroupedQueryAttention, 8, 4, 2), 3),
    ],
    ids=["RMSNorm", "SwiGLU", "GroupedQueryAttention"],
)
def test_the_new_layers_keep_the_promises_of_a_layer(make, count):
    keeps_layer_promises(make, *(normal(2, 3, 8, seed=seed) for seed in range(count)))


def test_every_norm_of_the_model_is_replaced():
    model = make("rms_norm")
    layers = [layer for layer in model._flatten_layers() if "norm" in layer.name]
    kinds = {type(layer) for layer in layers}
    assert kinds == {variants.RMSNorm, variants.AddAndRMSNorm}


# --- 피드포워드 ---------------------------------------------------------------------


@needs_torch
def test_gated_and_gelu_networks_equal_torch():
    x = normal(2, 3, 6)
    given = torch.tensor(x.numpy())
    gated = variants.SwiGLU(6, 10)
    gated.build(x.shape)
    w, v, w2 = (torch.tensor(a) for a in random_weights(gated).get_weights())
    expected = (torch.nn.functional.silu(given @ w) * (given @ v)) @ w2
    close(gated(x), expected, 1e-5)
    gelu = variants.GELUFeedForward(6, 10)
    gelu.build(x.shape)
    w1, b1, w2, b2 = (torch.tensor(a) for a in random_weights(gelu).get_weights())
    expected = torch.nn.functional.gelu(given @ w1 + b1) @ w2 + b2
    close(gelu(x), expected, 1e-5)


# --- 위치 ---------------------------------------------------------------------------


@needs_keras_hub
@given(st.integers(1, 6), st.integers(1, 9), st.integers(0, 5000))
def test_rotation_equals_keras_hub(pairs, length, start):
    """keras-hub는 짝을 절반씩 나누어 놓고, 짝 안의 순서도 반대입니다."""
    depth = 2 * pairs
    x = normal(2, length, 3, depth)
    theirs = np.concatenate([x[..., 1::2], x[..., 0::2]], axis=-1)
    turned = keras_hub.layers.RotaryEmbedding()(theirs, start_index=start)
    second, first = np.split(np.asarray(turned), 2, axis=-1)
    expected = np.stack([first, second], axis=-1).reshape(x.shape)
    position = start + tf.range(length)
    ours = variants.rotate(tf.transpose(x, (0, 2, 1, 3)), position)
    # keras-hub는 각을 float32로 셉니다. 먼 위치에서는 그만큼 다릅니다.
    close(tf.transpose(ours, (0, 2, 1, 3)), expected, 1e-5 + start * 3e-7)


def test_rotating_a_sinusoid_moves_it_along():
    table = sinusoidal_encoding(40, 16)
    moved = variants.rotate(table[:30], tf.fill((30,), 7))
    close(moved, table[7:37], 1e-5)


@given(st.integers(0, 4000), st.integers(0, 4000), st.integers(0, 4000))
def test_only_the_distance_remains_in_the_product(i, j, shift):
    query, key = normal(1, 8), normal(1, 8, seed=1)

    def score(i, j):
        turned = variants.rotate(query, [i]), variants.rotate(key, [j])
        return tf.reduce_sum(turned[0] * turned[1])

    close(score(i + shift, j + shift), score(i, j), 1e-4)


@pytest.mark.parametrize("name", ["rotary", "alibi"])
def test_a_common_shift_of_all_positions_changes_nothing(name):
    model = make(name)
    memory = model.encode(SOURCE)
    near = model.decode(TARGET, memory, position=range(5))
    close(model.decode(TARGET, memory, position=range(300, 305)), near, 1e-4)
    apart = model.decode(TARGET, memory, position=[0, 1, 2, 3, 9])
    assert np.abs(apart - near).max() > 1e-3


@needs_keras_hub
def test_the_penalty_on_the_past_equals_keras_hub():
    layer = variants.ALiBiAttention(8, 4)
    x = tf.zeros((1, 6, 8))
    places = variants.ALiBiPositions()

    def mark(query, key):
        return places.in_attention(query, key, tf.range(6))

    weights = layer(
        x, x, x, look_ahead_mask(6), position_map=mark, return_weights=True
    ).weights
    scores = keras_hub.layers.AlibiBias()(tf.zeros((1, 4, 6, 6)))
    expected = tf.nn.softmax(tf.where(look_ahead_mask(6), scores, -1e9))
    close(weights, expected, 1e-5)


def test_the_reversed_sentence_is_another_sentence_to_the_encoder():
    model = make("alibi")
    ids = SOURCE[:1]
    forward = model.encode(ids).numpy()
    backward = model.encode(ids[:, ::-1]).numpy()[:, ::-1]
    assert np.abs(forward - backward).max() > 1e-2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_far_positions_are_written_exactly_even_in_half_precision(dtype):
    positions = tf.constant([0, 255, 256, 3001, 65535])
    query, _ = variants.ALiBiPositions().in_attention(
        tf.zeros((1, 1, 5, 2), dtype), tf.zeros((1, 1, 5, 2), dtype), positions
    )
    high, low = np.float64(query)[0, 0, :, 2:].T
    np.testing.assert_array_equal(256 * high + low, positions)


def test_an_odd_head_cannot_rotate():
    message = caught(ValueError, lambda: variants.rotate(tf.ones((1, 3)), [0]))
    assert "짝수" in message and "3" in message


@pytest.mark.parametrize("name", ["alibi", "grouped", "blocks"])
def test_every_attention_refuses_the_masks_that_the_first_one_refuses(name):
    _, config, own = MODELS[name]
    config, x = config(**SIZES | own), normal(1, 3, 16)
    places = config.positional_encoding()
    position_map = functools.partial(places.in_attention, position=tf.range(3))
    for mask, kind in (
        (np.ones((3, 3)), TypeError),
        (np.ones((4, 1, 1, 3), bool), ValueError),
    ):
        with pytest.raises(kind, match="mask"):
            config.attention()(x, x, x, mask, position_map=position_map)


# --- 무리 지은 어텐션 ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("key_heads", "use_bias"), [(1, False), (2, True), (3, False), (6, True)]
)
def test_grouped_attention_equals_keras(key_heads, use_bias):
    query, memory = normal(2, 4, 12), normal(2, 5, 12, seed=1)
    layer = variants.GroupedQueryAttention(12, 6, key_heads, use_bias=use_bias)
    twin = keras.layers.GroupQueryAttention(2, 6, key_heads, use_bias=use_bias)
    mask = np.random.default_rng(0).random((2, 4, 5)) < 0.6
    mask[..., 0] = True
    layer.build(query.shape)
    random_weights(layer)
    twin.build(query.shape, memory.shape, memory.shape)
    twin.set_weights(
        [w.reshape(t.shape) for w, t in zip(layer.get_weights(), twin.get_weights())]
    )
    expected = twin(query, memory, key=memory, attention_mask=mask)
    close(layer(query, memory, memory, mask), expected, 1e-5)


def test_as_many_heads_for_the_keys_is_multi_head_attention():
    x = normal(2, 4, 12)
    layer = variants.GroupedQueryAttention(12, 6, 6)
    twin = MultiHeadAttention(12, 6)
    layer.build(x.shape)
    twin.build(x.shape)
    twin.set_weights(random_weights(layer).get_weights())
    np.testing.assert_array_equal(layer(x, x, x), twin(x, x, x))


def test_the_heads_of_the_keys_must_divide_the_heads():
    message = caught(ValueError, lambda: variants.GroupedQueryAttention(12, 6, 4))
    assert "약수" in message and "4" in message


# --- 조각 ---------------------------------------------------------------------------


@given(
    st.integers(1, 6),
    st.integers(1, 40),
    st.integers(1, 17),
    st.sampled_from(["none", "rows", "keys", "all"]),
    st.integers(0, 99),
)
def test_blocks_equal_the_whole_forward_and_backward(
    length_q, length_k, block, masked, seed
):
    rng = np.random.default_rng(seed)
    inputs = [
        tf.constant(rng.normal(0, 3, size=(2, 2, n, depth)), tf.float32)
        for n, depth in ((length_q, 4), (length_k, 4), (length_k, 3))
    ]
    shape = {
        "none": None,
        "rows": (length_q, 1),
        "keys": (2, 1, 1, length_k),
        "all": (2, 1, length_q, length_k),
    }[masked]
    mask = None if shape is None else rng.random(shape) < 0.5
    found = []
    for attend in (
        lambda *x: scaled_dot_product_attention(*x, mask)[0],
        lambda *x: variants.attention_in_blocks(*x, mask, block=block),
    ):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = attend(*inputs)
            loss = tf.reduce_sum(tf.sin(output))
        found.append([output, *tape.gradient(loss, inputs)])
    for ours, whole in zip(found[1], found[0]):
        close(ours, whole, 1e-4)
    if mask is not None:
        hidden = ~np.broadcast_to(mask, (2, 2, length_q, length_k)).any(axis=-1)
        assert not np.any(found[1][0].numpy()[hidden])


@every_mode
def test_huge_scores_neither_overflow_nor_vanish(mode):
    query = 1e4 * normal(1, 5, 8)
    key, value = normal(1, 300, 8, seed=1), normal(1, 300, 2, seed=2)
    expected, _ = scaled_dot_product_attention(query, key, value)
    attend = MODES[mode](variants.attention_in_blocks)
    close(attend(query, key, value), expected, 1e-4)


def test_no_tensor_is_as_large_as_the_scores():
    shape = tf.TensorSpec((1, 1, 512, 8))
    graphs = [
        tf.function(function).get_concrete_function(shape, shape, shape).graph
        for function in (
            lambda *x: scaled_dot_product_attention(*x)[0],
            lambda *x: variants.attention_in_blocks(*x, block=64),
        )
    ]

    def largest(graph):
        bodies = [graph, *graph._functions.values()]
        sizes = []
        for body in bodies:
            body = getattr(body, "graph", body)
            for operation in body.get_operations():
                for tensor in operation.outputs:
                    sizes.append(tensor.shape.num_elements() or 0)
        return max(sizes)

    whole, blocks = map(largest, graphs)
    assert whole == 512 * 512 and blocks <= 512 * 64


def test_blocks_need_equal_leading_axes_and_no_dropout():
    for shapes in (
        ((2, 3, 4), (1, 3, 4), (1, 3, 4)),
        ((1, 3, 4), (1, 3, 4), (1, 5, 4)),  # 값이 키보다 깁니다
    ):
        with pytest.raises(ValueError, match="key와 value"):
            variants.attention_in_blocks(*(normal(*shape) for shape in shapes))
    message = caught(ValueError, lambda: variants.AttentionInBlocks(8, 2, dropout=0.1))
    assert "dropout에는 0" in message


# --- 디코더만 있는 모델 -------------------------------------------------------------


def test_a_model_without_an_encoder_is_one_stack():
    model = make("decoder_only", num_layers=2)
    names = {weight.path.split("/")[1] for weight in model.weights}
    assert names == {"target_embedding", "decoder"}
    assert not [w for w in model.weights if "cross_attention" in w.path]


def test_an_input_token_sees_only_what_stands_before_it():
    model = make("decoder_only")
    decoded = model.decode(
        TARGET, model.encode(SOURCE), padding_mask(SOURCE), return_weights=True
    )
    (seen,) = (w.numpy() for w in decoded.weights)
    assert seen.shape[2:] == (9, 9)
    assert not np.triu(seen, 1).any()
    assert not seen[1, :, :, :2].any()  # 왼쪽으로 밀린 패딩
    assert seen[0, :, 8].all()  # 마지막 토큰은 입력까지 모두 봅니다


def test_a_mask_of_one_axis_hides_the_same_with_a_cache():
    model = make("decoder_only")
    memory, mask = model.encode(SOURCE), padding_mask(SOURCE)
    more = {"attention_mask": np.array([True, False, True, True, True])}
    expected = model.decode(TARGET, memory, mask, **more)
    cache = model.start_cache(memory, mask, 5)
    found = model.decode(TARGET, memory, mask, cache=cache, **more)
    close(found.output, expected)
    assert np.abs(model.decode(TARGET, memory, mask) - expected).max() > 1e-3


def test_an_input_longer_than_half_of_the_table_is_refused():
    model = make("decoder_only")
    with pytest.raises(ValueError, match="source_ids"):
        model((np.full((1, 13), 5), TARGET[:1]))
