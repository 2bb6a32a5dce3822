"""순환 신경망 인코더-디코더와 두 어텐션이 지키는 약속."""

import functools
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import MODES, caught, keeps_layer_promises, normal

from transformer_notes.seq2seq import (
    AdditiveAttention,
    MultiplicativeAttention,
    Seq2Seq,
)

SCORES = ["dot", "scaled", "general"]
ATTENTIONS = [None, "additive", "multiplicative"]
MODELS = list(itertools.product(ATTENTIONS, ["lstm", "gru"]))
VOCAB, UNITS = 9, 6
SOURCE = np.array([[3, 4, 5, 6], [7, 3, 0, 0]])
TARGET = np.array([[1, 4, 3], [1, 5, 0]])


def attention(kind, **options):
    if kind == "additive":
        return AdditiveAttention(5, **options)
    return MultiplicativeAttention(kind, **options)


def layers():
    return list(map(attention, ("additive", *SCORES)))


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def by_loops(layer, query, key, value, mask):
    """식을 정의 그대로, 짝마다 float64로 셈합니다."""
    weights = np.zeros((*query.shape[:2], key.shape[1]))
    parameters = [w.astype(np.float64) for w in layer.get_weights()]
    for b, i in np.ndindex(query.shape[:2]):
        visible = np.flatnonzero(mask[b])
        scores = []
        for j in visible:
            q, k = query[b, i], key[b, j]
            if isinstance(layer, AdditiveAttention):
                w_q, w_k, v = parameters
                scores.append(v @ np.tanh(q @ w_q + k @ w_k))
            elif layer.score == "general":
                scores.append(q @ parameters[0] @ k)
            else:
                scores.append(q @ k / (len(k) ** 0.5 if layer.score == "scaled" else 1))
        if len(visible):
            weights[b, i, visible] = softmax(np.array(scores))
    return weights @ value, weights


@st.composite
def cases(draw):
    batch, length_q, length_k, depth, d_v = (draw(st.integers(1, 4)) for _ in range(5))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    query = generator.normal(size=(batch, length_q, depth))
    key = generator.normal(size=(batch, length_k, depth))
    value = generator.normal(size=(batch, length_k, d_v))
    mask = generator.random((batch, length_k)) < draw(st.floats(0, 1))
    return [x.astype("float32") for x in (query, key, value)], mask


def make(attention="additive", cell="lstm", **options):
    keras.utils.set_random_seed(0)
    model = Seq2Seq(VOCAB, UNITS, attention, cell, **options)
    model.build()
    return model


# --- 어텐션: 다른 구현과 같다 --------------------------------------------------------


@given(cases())
def test_equals_the_formula_computed_pair_by_pair(case):
    tensors, mask = case
    for layer in layers():
        context, weights = layer(*tensors, attention_mask=mask)
        expected_context, expected_weights = by_loops(layer, *tensors, mask)
        np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
        np.testing.assert_allclose(context, expected_context, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*softmax over axis.*has size 1")
@given(cases())
def test_multiplicative_equals_the_keras_attention_layer(case):
    (query, key, value), mask = case
    mask[:, 0] = True  # Keras는 모두 가린 행을 다르게 다룹니다
    context, weights = MultiplicativeAttention()(query, key, value, mask)
    expected = keras.layers.Attention()(
        [query, value, key],
        mask=[None, tf.constant(mask)],
        return_attention_scores=True,
    )
    np.testing.assert_allclose(context, expected[0], atol=1e-5)
    np.testing.assert_allclose(weights, expected[1], atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*softmax over axis.*has size 1")
@given(cases())
def test_additive_equals_the_keras_layer_behind_two_linear_maps(case):
    query, key, value = case[0]
    layer = AdditiveAttention(5)
    context, weights = layer(query, key, value)
    w_q, w_k, vector = layer.get_weights()
    reference = keras.layers.AdditiveAttention()
    inputs = [tf.constant(query @ w_q), tf.constant(value), tf.constant(key @ w_k)]
    reference.build([x.shape for x in inputs])
    reference.set_weights([vector])
    expected = reference(inputs, return_attention_scores=True)
    np.testing.assert_allclose(context, expected[0], atol=1e-5)
    np.testing.assert_allclose(weights, expected[1], atol=1e-5)


def test_query_and_key_may_differ_in_depth_except_in_the_dot_product():
    query, key = tf.ones((2, 3, 4)), tf.ones((2, 5, 7))
    for layer in [AdditiveAttention(6), MultiplicativeAttention("general")]:
        context, weights = layer(query, key, key)
        assert context.shape == (2, 3, 7) and weights.shape == (2, 3, 5)
    for score in ["dot", "scaled"]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"2,3,4.*2,5,7"):
            MultiplicativeAttention(score)(query, key, key)


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_a_state_without_a_length_axis_is_never_taken_for_a_sentence(name):
    inputs = {given: tf.ones((3, 3, 4)) for given in ("query", "key", "value")}
    inputs[name] = inputs[name][:, 0]  # 마지막 상태 하나
    for layer in layers():
        with pytest.raises(ValueError, match=rf"{name}에는.*\(3, 4\)"):
            layer(**inputs)


# --- 어텐션: 가린 것은 보지 않는다 ----------------------------------------------------


@given(cases())
def test_rows_sum_to_one_or_are_empty_and_hidden_keys_never_matter(case):
    (query, key, value), mask = case
    hidden = ~mask[..., np.newaxis]
    for layer in layers():
        context, weights = layer(query, key, value, attention_mask=mask)
        total = np.broadcast_to(mask.any(-1)[:, np.newaxis], weights.shape[:2])
        np.testing.assert_allclose(weights.numpy().sum(-1), total, atol=1e-5)
        changed = layer(
            query,
            np.where(hidden, np.float32(99), key),
            np.where(hidden, np.float32(-99), value),
            attention_mask=mask,
        )
        np.testing.assert_array_equal(changed[0], context)
        np.testing.assert_array_equal(changed[1], weights)


@pytest.mark.parametrize("kind", ["additive", *SCORES])
def test_a_fully_hidden_row_gives_zeros_and_finite_gradients(kind):
    tensors = normal(3, 2, 3, 4)
    mask = np.array([[False] * 3, [True, True, False]])
    for policy, mode in (("mixed_bfloat16", "eager"), ("mixed_float16", "xla")):
        layer = attention(kind, dtype=policy)
        layer(*tensors)

        @MODES[mode]
        def run(*inputs, layer=layer):
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                context, weights = layer(*inputs, attention_mask=mask)
                loss = tf.reduce_sum(tf.sin(tf.cast(context, tf.float32)))
            return context, weights, tape.gradient(loss, inputs)

        context, weights, gradients = run(*tensors)
        assert context.dtype == weights.dtype == layer.compute_dtype
        assert not np.any(context[0]) and not np.any(weights[0])
        assert np.any(context[1])
        for gradient in gradients:
            assert np.all(np.isfinite(gradient))


def test_float16_scores_are_turned_into_weights_in_float32():
    length = 70_000  # float16으로 더한 합은 65,504를 넘지 못합니다
    key = tf.zeros((1, length, 1), tf.float16)
    layer = MultiplicativeAttention(dtype="float16")
    _, weights = layer(key[:, :1], key, key)
    np.testing.assert_array_equal(weights, np.float16(1 / length))


# --- 모델: 한 번에 하나 한 스텝씩이나 같다 --------------------------------------------


@pytest.mark.parametrize(("attention", "cell"), MODELS)
def test_decoding_token_by_token_equals_decoding_at_once(attention, cell):
    model = make(attention, cell)
    logits = model((SOURCE, TARGET)).numpy()
    state, memory, memory_mask = model.encode(SOURCE)
    for t in range(TARGET.shape[1]):
        step, state, _ = model.decode(TARGET[:, t : t + 1], state, memory, memory_mask)
        np.testing.assert_allclose(step[:, 0], logits[:, t], atol=1e-6)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_model_that_was_used_in_parts_first_can_be_called(attention):
    model = Seq2Seq(VOCAB, UNITS, attention, source_vocab_size=VOCAB)
    logits, _, _ = model.decode(TARGET, *model.encode(SOURCE))
    np.testing.assert_array_equal(model((SOURCE, TARGET)), logits)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_the_state_is_an_argument_and_nothing_is_kept_inside(attention):
    model = make(attention)
    first = model((SOURCE, TARGET)).numpy()
    model((SOURCE[:, ::-1], TARGET[:, ::-1]))
    model.decode(TARGET, *model.encode(SOURCE[:, ::-1]))
    np.testing.assert_array_equal(model((SOURCE, TARGET)), first)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_later_target_tokens_never_change_earlier_logits(attention):
    model = make(attention)
    changed = TARGET.copy()
    changed[:, 2] = 8
    before, after = model((SOURCE, TARGET)), model((SOURCE, changed))
    np.testing.assert_array_equal(before[:, :2], after[:, :2])
    assert np.any(before[:, 2] != after[:, 2])


@pytest.mark.parametrize(("attention", "cell"), MODELS)
def test_source_padding_changes_nothing(attention, cell):
    model = make(attention, cell)
    padded = np.pad(SOURCE, ((0, 0), (0, 3)))
    np.testing.assert_allclose(
        model((padded, TARGET)), model((SOURCE, TARGET)), atol=1e-6
    )
    alone = model((SOURCE[1:, :2], TARGET[1:]))
    np.testing.assert_allclose(model((SOURCE, TARGET))[1:], alone, atol=1e-6)


def test_weights_never_fall_on_padding_and_sum_to_one():
    for attention in ATTENTIONS[1:]:
        _, weights = make(attention)((SOURCE, TARGET), return_weights=True)
        assert weights.shape == (2, 3, 4)
        assert not np.any(weights[1, :, 2:])
        np.testing.assert_allclose(weights.numpy().sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize(("attention", "cell"), MODELS)
def test_a_source_of_padding_alone_gives_finite_logits(attention, cell):
    logits = make(attention, cell)((np.zeros((2, 4), int), TARGET))
    assert np.all(np.isfinite(logits))


def test_without_attention_the_decoder_sees_nothing_but_the_state():
    model = make(None)
    state, memory, memory_mask = model.encode(SOURCE)
    with_memory, _, _ = model.decode(TARGET, state, memory, memory_mask)
    without, _, _ = model.decode(TARGET, state)
    np.testing.assert_array_equal(with_memory, without)
    assert model.count_params() < make("multiplicative").count_params()


def test_the_encoder_is_the_keras_lstm_stopped_at_the_last_real_token():
    model = make(None)
    (h, c), memory, mask = model.encode(SOURCE)
    np.testing.assert_array_equal(mask, SOURCE != 0)
    reference = keras.layers.LSTM(UNITS, return_state=True)
    reference.build((None, None, UNITS))
    reference.set_weights(model.encoder.get_weights())
    table = model.source_embedding.get_weights()[0]
    for row, length in enumerate([4, 2]):
        _, expected_h, expected_c = reference(table[SOURCE[row : row + 1, :length]])
        np.testing.assert_allclose(h[row : row + 1], expected_h, atol=1e-6)
        np.testing.assert_allclose(c[row : row + 1], expected_c, atol=1e-6)
        np.testing.assert_allclose(memory[row, length - 1], h[row], atol=1e-6)


@pytest.mark.parametrize("pad_id", [0, 8])
def test_pad_id_decides_what_is_padding(pad_id):
    model = make(pad_id=pad_id)
    np.testing.assert_array_equal(model.encode(SOURCE)[2], pad_id != SOURCE)


def test_one_table_is_shared_unless_the_source_has_its_own_vocabulary():
    shared, apart = make(), make(source_vocab_size=20)
    assert shared.source_embedding is shared.target_embedding
    assert apart.count_params() == shared.count_params() + 20 * UNITS
    assert apart((SOURCE + 10, TARGET)).shape == (2, 3, VOCAB)


# --- 모델: 실행 방식, 저장, 학습 ------------------------------------------------------


@pytest.mark.parametrize(
    ("attention", "cell", "mode"),
    [*((*model, "graph") for model in MODELS[1::2]), ("additive", "lstm", "xla")],
)
def test_compiled_equals_eager(attention, cell, mode):
    model = make(attention, cell)
    inputs = tf.constant(SOURCE), tf.constant(TARGET)
    np.testing.assert_allclose(MODES[mode](model)(inputs), model(inputs), atol=1e-5)


def test_one_graph_serves_every_batch_and_length():
    model = make("additive")
    ids = tf.TensorSpec((None, None), tf.int64)
    traced = tf.function(lambda s, t: model((s, t)), input_signature=[ids, ids])
    for source, target in [(SOURCE, TARGET), (SOURCE[:1, :1], TARGET[:1, :2])]:
        np.testing.assert_allclose(
            traced(source, target), model((source, target)), atol=1e-6
        )
    assert traced.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_the_policy_reaches_every_layer(attention):
    exact = make(attention, dtype="float64", source_vocab_size=9)
    expected = exact((SOURCE, TARGET))
    for policy in ("mixed_float16", "mixed_bfloat16", "float64"):
        model = make(attention, dtype=policy, source_vocab_size=9)
        model.set_weights(exact.get_weights())
        logits = model((SOURCE, TARGET))
        assert logits.dtype == keras.DTypePolicy(policy).compute_dtype
        assert {layer.dtype_policy.name for layer in model.layers} == {policy}
        np.testing.assert_allclose(tf.cast(logits, tf.float64), expected, atol=2e-2)


@pytest.mark.parametrize("attention", ["additive", "multiplicative"])
@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_integer_dtypes_of_ids_do_not_matter(attention, dtype):
    model = make(attention)
    ids = SOURCE.astype(dtype), tf.constant(TARGET, dtype)
    np.testing.assert_array_equal(model(ids), model((SOURCE, TARGET)))


@pytest.mark.parametrize(("attention", "cell"), MODELS[1::2])  # 기본값이 아닌 셀
def test_a_saved_model_loads_with_the_same_logits(attention, cell, tmp_path):
    model = make(attention, cell, source_vocab_size=12, pad_id=2)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.get_config() == model.get_config()
    np.testing.assert_array_equal(loaded((SOURCE, TARGET)), model((SOURCE, TARGET)))


def test_no_keras_mask_is_passed_on():
    embedded = keras.layers.Embedding(9, 4, mask_zero=True)(SOURCE)
    for layer in layers():
        for output in layer(embedded, embedded, embedded):
            assert not hasattr(output, "_keras_mask")
    model = make()
    assert getattr(model((SOURCE, TARGET)), "_keras_mask", None) is None
    assert getattr(model.encode(SOURCE)[1], "_keras_mask", None) is None


def test_fit_learns_and_every_weight_gets_a_gradient():
    model = make()
    model.compile(
        keras.optimizers.Adam(0.05),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    before = model.get_weights()
    history = model.fit((SOURCE, TARGET), TARGET, epochs=8, verbose=0)
    assert history.history["loss"][-1] < 0.7 * history.history["loss"][0]
    assert all(np.any(a != b) for a, b in zip(before, model.get_weights()))


# --- 틀린 입력은 말로 알려 준다 -----------------------------------------------------

X = np.ones((1, 2, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m((SOURCE * 1.0, TARGET)), TypeError, "source_ids에는 정수.*float"),
        (lambda m: m((SOURCE, TARGET[0])), ValueError, r"target_ids에는 모양.*\(3,\)"),
        (lambda m: m.decode(TARGET, None), ValueError, "lstm에는 상태 2개.*None"),
        (lambda m: m.decode(TARGET, [X]), ValueError, "상태 2개의 목록 state"),
        (
            lambda m: m.decode(TARGET, m.encode(SOURCE)[0]),
            AttributeError,
            "NoneType(.|\n)*key=None",
        ),
        (lambda m: make(cell="gru").decode(TARGET, [X, X]), ValueError, "gru.*1개"),
    ],
)
def test_wrong_calls_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(make())


@pytest.mark.parametrize("kind", ["additive", *SCORES])
def test_attention_keeps_the_promises_of_a_layer(kind):
    keeps_layer_promises(
        functools.partial(attention, kind),
        *(normal(2, 3, 4, seed=seed) for seed in range(3)),
        call=lambda layer, *given: layer(*given)[0],
    )


def test_what_would_be_a_plausible_answer_is_refused():
    x, layer = tf.ones((2, 3, 4)), AdditiveAttention(5)
    for call, kind, name in (
        (lambda: layer(x, x, x, np.ones((2, 3))), TypeError, "mask"),
        *(
            (lambda odd=odd: layer(x, x, x, np.ones(odd, bool)), ValueError, "mask")
            for odd in ((4, 3), (2, 3, 3), (2, 1, 3, 3))
        ),
        (lambda: MultiplicativeAttention("cos"), ValueError, "score"),
        (lambda: Seq2Seq(9, 4, "dot"), ValueError, "attention"),
        (lambda: Seq2Seq(9, 4, cell="rnn"), ValueError, "cell"),
    ):
        assert name in caught(kind, call), name
    # TensorFlow가 거절합니다
    caught(tf.errors.InvalidArgumentError, layer, x, x, x, np.ones(3, bool))
    for source, target in ((-1, 1), (1, VOCAB)):
        ids = tf.constant([[1, source]]), tf.constant([[1, target]])
        for call in (make("additive", "lstm"), tf.function(make("additive", "lstm"))):
            with pytest.raises(tf.errors.InvalidArgumentError, match="_ids"):
                call(ids)
