"""LinearSoftmax가 지키는 약속."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from layers import caught, keeps_layer_promises, normal

from transformer_notes.embedding import TokenEmbedding
from transformer_notes.linear_softmax import LinearSoftmax

VOCAB_SIZE, D_MODEL = 11, 6
some_vectors = hnp.arrays(
    np.float32,
    hnp.array_shapes(max_dims=3, max_side=4).map(lambda shape: (*shape, D_MODEL)),
    elements=st.floats(-4, 4, width=32),
)
kinds = pytest.mark.parametrize("kind", ["tied", "separate"])


@functools.cache
def built(kind, dtype="float32"):
    keras.utils.set_random_seed(0)
    embedding = TokenEmbedding(VOCAB_SIZE, D_MODEL) if kind == "tied" else None
    layer = LinearSoftmax(VOCAB_SIZE, embedding=embedding, dtype=dtype)
    layer.build((None, None, D_MODEL))
    return layer


def matrix_of(layer):
    if layer.embedding is None:
        return layer.kernel.numpy()
    return layer.embedding.embeddings.numpy().T


def vectors(*shape):
    numbers = np.random.default_rng(0).standard_normal((*shape, D_MODEL))
    return numbers.astype(np.float32)


def numpy_softmax(logits):
    logits = np.asarray(logits, np.float64)
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


# --- 계산 ---------------------------------------------------------------------------


@kinds
@given(x=some_vectors)
def test_logits_are_dot_products_with_the_columns(kind, x):
    layer = built(kind)
    expected = x.astype(np.float64) @ matrix_of(layer)
    np.testing.assert_allclose(layer(x), expected, atol=1e-5)


@given(x=some_vectors)
def test_separate_layer_equals_keras_dense_without_bias(x):
    layer, dense = built("separate"), keras.layers.Dense(VOCAB_SIZE, use_bias=False)
    dense.build((None, D_MODEL))
    dense.set_weights(layer.get_weights())
    np.testing.assert_allclose(layer(x), dense(x), atol=1e-5)


@kinds
@given(x=some_vectors)
def test_probabilities_equal_softmax_over_the_last_axis(kind, x):
    layer = built(kind)
    expected = numpy_softmax(x.astype(np.float64) @ matrix_of(layer))
    probabilities = layer.probabilities(x).numpy()
    np.testing.assert_allclose(probabilities, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(probabilities.sum(-1), 1.0, rtol=1e-6)


@kinds
def test_a_position_never_changes_another(kind):
    layer, x = built(kind), vectors(2, 5)
    changed = x.copy()
    changed[:, 3] += 1.0
    for function in (layer, layer.probabilities):
        before, after = function(x).numpy(), function(changed).numpy()
        np.testing.assert_array_equal(np.delete(before, 3, 1), np.delete(after, 3, 1))
        assert not np.allclose(before[:, 3], after[:, 3])


@kinds
def test_huge_logits_still_give_a_distribution(kind):
    probabilities = built(kind).probabilities(1e4 * vectors(2, 3)).numpy()
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(-1), 1.0, rtol=1e-6)


def test_loss_from_logits_equals_loss_from_probabilities():
    layer, x = built("tied"), vectors(4)
    labels = np.array([0, 3, 5, 10])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, layer(x))
    chosen = layer.probabilities(x).numpy()[np.arange(4), labels]
    np.testing.assert_allclose(loss, -np.log(chosen), rtol=1e-5)


def test_tied_logits_start_with_standard_deviation_one():
    keras.utils.set_random_seed(0)
    layer = LinearSoftmax(2000, embedding=TokenEmbedding(2000, 256))
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    assert layer(x).numpy().std() == pytest.approx(1.0, rel=0.05)


# --- 가중치 -------------------------------------------------------------------------


def shared_model():
    keras.utils.set_random_seed(0)
    ids = keras.Input((None,), dtype="int32")
    embedding = TokenEmbedding(VOCAB_SIZE, D_MODEL)
    hidden = keras.layers.Dense(D_MODEL)(embedding(ids))
    return keras.Model(ids, LinearSoftmax(VOCAB_SIZE, embedding=embedding)(hidden))


def embedding_and_output(model):
    return (
        next(layer for layer in model.layers if isinstance(layer, kind))
        for kind in (TokenEmbedding, LinearSoftmax)
    )


def assert_still_shared(model):
    embedding, output = embedding_and_output(model)
    assert output.embedding is embedding
    assert len(model.weights) == 3  # 표, Dense의 kernel과 bias
    assert model.count_params() == VOCAB_SIZE * D_MODEL + D_MODEL * D_MODEL + D_MODEL
    ids, x = np.array([[1, 4]]), vectors(1, 2)
    before = embedding(ids).numpy(), output(x).numpy()
    embedding.embeddings.assign(2.0 * embedding.embeddings)
    np.testing.assert_allclose(embedding(ids), 2.0 * before[0], rtol=1e-6)
    np.testing.assert_allclose(output(x), 2.0 * before[1], rtol=1e-6)


def test_tied_layer_makes_no_weight_of_its_own():
    layer = built("tied")
    assert layer.weights == layer.embedding.weights
    assert layer.count_params() == VOCAB_SIZE * D_MODEL


def test_separate_layer_has_one_kernel_and_no_bias():
    layer = built("separate")
    assert [w.shape for w in layer.weights] == [(D_MODEL, VOCAB_SIZE)]


def test_shared_weight_is_one_weight():
    assert_still_shared(shared_model())


def test_gradient_of_the_shared_table_is_the_sum_of_both_uses():
    keras.utils.set_random_seed(0)
    embedding = TokenEmbedding(VOCAB_SIZE, D_MODEL)
    tied = LinearSoftmax(VOCAB_SIZE, embedding=embedding)
    separate = LinearSoftmax(VOCAB_SIZE)
    ids, cotangent = np.array([[1, 4, 4]]), tf.random.normal((1, 3, VOCAB_SIZE))
    tied(embedding(ids))
    separate.build((None, None, D_MODEL))
    separate.kernel.assign(tf.transpose(embedding.embeddings))

    def gradients(output, *variables):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(cotangent * output(embedding(ids)))
        sources = [variable.value for variable in variables]
        return [tf.convert_to_tensor(g) for g in tape.gradient(loss, sources)]

    (both,) = gradients(tied, embedding.embeddings)
    as_input, as_output = gradients(separate, embedding.embeddings, separate.kernel)
    np.testing.assert_allclose(both, as_input + tf.transpose(as_output), atol=1e-5)


def test_backward_pass_never_makes_one_table_for_each_sentence():
    for layer in (built("tied"), built("separate")):

        def gradient(x, layer=layer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(layer(x) ** 2)
            return tape.gradient(loss, layer.weights[0].value)

        x = tf.TensorSpec((3, 5, D_MODEL))
        graph = tf.function(gradient).get_concrete_function(x).graph
        made = [tensor for op in graph.get_operations() for tensor in op.outputs]
        largest = max(tensor.shape.num_elements() or 0 for tensor in made)
        assert largest == 3 * 5 * VOCAB_SIZE


def test_building_the_output_builds_the_embedding_once():
    embedding = TokenEmbedding(VOCAB_SIZE, D_MODEL)
    LinearSoftmax(VOCAB_SIZE, embedding=embedding).build((None, D_MODEL))
    table = embedding.embeddings
    LinearSoftmax(VOCAB_SIZE, embedding=embedding).build([None, None, D_MODEL])
    assert embedding.embeddings is table


# --- 저장 ---------------------------------------------------------------------------


def test_shared_weight_is_still_one_weight_after_loading(tmp_path):
    model, ids = shared_model(), np.array([[1, 5, 0]])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(ids), model(ids))
    assert_still_shared(loaded)


def test_shared_weight_survives_a_weights_file(tmp_path):
    model, other, ids = shared_model(), shared_model(), np.array([[1, 5, 0]])
    for weight in model.weights:
        weight.assign(weight + 1.0)
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(other(ids), model(ids))
    assert_still_shared(other)


def test_cloning_a_model_unties_as_documented():
    assert len(keras.models.clone_model(shared_model()).weights) == 4


# --- 그래프, 정밀도, 모양 --------------------------------------------------------


@kinds
def test_probabilities_are_float32_or_better(kind):
    x = vectors(2, 3)
    for dtype, logits_dtype, probabilities_dtype in (
        ("float32", "float32", "float32"),
        ("mixed_float16", "float16", "float32"),
        ("mixed_bfloat16", "bfloat16", "float32"),
        ("float16", "float16", "float32"),
        ("float64", "float64", "float64"),
    ):
        layer = built(kind, dtype)
        logits, probabilities = layer(x), layer.probabilities(x)
        assert logits.dtype == logits_dtype, dtype
        assert probabilities.dtype == probabilities_dtype, dtype
        expected = numpy_softmax(tf.cast(logits, tf.float64))
        np.testing.assert_allclose(
            probabilities, expected, rtol=1e-5, atol=1e-7, err_msg=dtype
        )


# --- 거절하는 입력 ---------------------------------------------------------------


def test_vocab_size_of_the_other_side_is_refused():
    source = TokenEmbedding(8, D_MODEL)
    message = caught(ValueError, lambda: LinearSoftmax(VOCAB_SIZE, embedding=source))
    assert "LinearSoftmax: 11, embedding: 8" in message and "정답 쪽" in message


@kinds
def test_it_keeps_the_promises_of_a_layer(kind):
    def make(**options):
        embedding = None
        if kind == "tied":
            embedding = TokenEmbedding(11, 6, dtype=options.get("dtype"))
        return LinearSoftmax(11, embedding, **options)

    keeps_layer_promises(make, normal(2, 3, 6))
