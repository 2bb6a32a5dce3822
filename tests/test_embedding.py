"""TokenEmbedding이 지키는 약속."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from layers import caught, keeps_layer_promises

from transformer_notes.embedding import TokenEmbedding

VOCAB_SIZE, D_MODEL = 11, 6
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
some_ids = hnp.arrays(
    np.int32,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5),
    elements=st.integers(0, VOCAB_SIZE - 1),
)


@pytest.fixture
def layer():
    keras.utils.set_random_seed(0)
    layer = TokenEmbedding(VOCAB_SIZE, D_MODEL)
    layer.build((None, None))
    return layer


def built(dtype="float32"):
    layer = TokenEmbedding(VOCAB_SIZE, D_MODEL, dtype=dtype)
    layer.build((None, None))
    return layer


def one_hot_product(ids, table):
    return np.eye(VOCAB_SIZE, dtype=table.dtype)[ids] @ table * np.sqrt(D_MODEL)


# --- 계산 ---------------------------------------------------------------------------


@given(ids=some_ids)
def test_lookup_equals_one_hot_times_matrix_times_sqrt_d_model(ids):
    layer = built()
    expected = one_hot_product(ids, layer.embeddings.numpy())
    np.testing.assert_allclose(layer(ids), expected, rtol=1e-6)


@given(ids=some_ids)
def test_it_is_the_keras_embedding_scaled(ids):
    layer = built()
    reference = keras.layers.Embedding(VOCAB_SIZE, D_MODEL)
    reference.build()
    reference.set_weights(layer.get_weights())
    np.testing.assert_allclose(layer(ids), reference(ids) * D_MODEL**0.5, rtol=1e-6)


@given(ids=some_ids, order=st.permutations(range(VOCAB_SIZE)))
def test_renumbering_the_tokens_changes_nothing(ids, order):
    layer, renumbered = built(), built()
    order = np.array(order)
    table = np.empty((VOCAB_SIZE, D_MODEL), np.float32)
    table[order] = layer.embeddings.numpy()
    renumbered.set_weights([table])
    np.testing.assert_array_equal(layer(ids), renumbered(order[ids]))


@given(ids=some_ids)
def test_gradient_is_the_dense_one_and_touches_only_the_used_rows(ids):
    layer = built()
    upstream = np.random.default_rng(0).normal(size=(*ids.shape, D_MODEL))
    upstream = upstream.astype(np.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ids) * upstream)
    gradient = tape.gradient(loss, layer.embeddings.value)
    assert isinstance(gradient, tf.IndexedSlices)
    assert set(gradient.indices.numpy()) == set(ids.ravel())
    one_hot = np.eye(VOCAB_SIZE)[ids.ravel()]
    dense = one_hot.T @ upstream.reshape(-1, D_MODEL) * np.sqrt(D_MODEL)
    np.testing.assert_allclose(tf.convert_to_tensor(gradient), dense, atol=1e-5)


def test_gradient_stays_sparse_in_a_graph():
    layer = built()

    @tf.function
    def is_sparse(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids))
        return isinstance(tape.gradient(loss, layer.embeddings.value), tf.IndexedSlices)

    assert is_sparse(tf.constant([[1, 2]]))


@pytest.mark.parametrize("d_model", [4, 64, 512])
def test_scaled_vectors_start_with_unit_variance(d_model):
    keras.utils.set_random_seed(1)
    layer = TokenEmbedding(200_000 // d_model, d_model)
    vectors = layer(np.arange(layer.vocab_size)[np.newaxis]).numpy()
    assert vectors.mean() == pytest.approx(0.0, abs=0.01)
    assert vectors.var() == pytest.approx(1.0, abs=0.02)
    assert layer.embeddings.numpy().var() == pytest.approx(1 / d_model, rel=0.02)


def test_the_only_weight_is_the_table_itself(layer):
    assert [weight.shape for weight in layer.weights] == [(VOCAB_SIZE, D_MODEL)]
    assert layer.trainable_weights == [layer.embeddings]
    assert layer.count_params() == VOCAB_SIZE * D_MODEL


# --- 입력과 실행 방식 ----------------------------------------------------------------


def test_every_integer_dtype_gives_the_same_vectors(layer):
    ids = np.array([[0, 3, 10]])
    expected = layer(ids).numpy()
    for dtype in INTEGERS:
        for given_ids in (ids.astype(dtype), tf.constant(ids, dtype)):
            for call in (layer, tf.function(layer)):
                np.testing.assert_array_equal(call(given_ids), expected, err_msg=dtype)


@pytest.mark.parametrize(
    "ids",
    [
        [[1, 2, 3], [4, 5, 0]],
        ((1, 2, 3), (4, 5, 0)),
        ([1, 2, 3], [4, 5, 0]),
        [np.array([1, 2, 3]), np.array([4, 5, 0])],
        [tf.constant([1, 2, 3]), tf.constant([4, 5, 0])],
        tf.Variable([[1, 2, 3], [4, 5, 0]]),
    ],
    ids=["list", "tuple", "tuple of lists", "arrays", "tensors", "variable"],
)
def test_nested_python_sequences_are_ids_too(layer, ids):
    expected = layer(np.array([[1, 2, 3], [4, 5, 0]])).numpy()
    np.testing.assert_array_equal(layer(ids), expected)
    np.testing.assert_array_equal(layer(token_ids=ids), expected)


def test_a_small_dtype_does_not_overflow_against_a_large_vocabulary():
    layer = TokenEmbedding(300, 4)
    ids = np.array([[0, 127, 255]])
    np.testing.assert_array_equal(layer(ids.astype("uint8")), layer(ids))


def test_unknown_rank_works_in_a_graph(layer):
    traced = tf.function(layer, input_signature=[tf.TensorSpec(None, tf.int32)])
    np.testing.assert_array_equal(traced([[1, 2]]), layer([[1, 2]]))


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_policy_decides_the_output_and_not_the_rows_found(policy):
    keras.utils.set_random_seed(0)
    layer = built(policy)
    ids = [[0, 10, 3]]
    output = layer(ids)
    assert output.dtype == keras.DTypePolicy(policy).compute_dtype
    assert layer.embeddings.dtype == keras.DTypePolicy(policy).variable_dtype
    # 표에서 찾아 곱한 다음에 한 번만 바꾸므로 반올림도 한 번뿐입니다.
    scaled = tf.gather(layer.embeddings.value, ids) * D_MODEL**0.5
    expected = tf.cast(scaled, output.dtype)
    np.testing.assert_array_equal(
        tf.cast(output, tf.float64), tf.cast(expected, tf.float64)
    )
    for jit_compile in (False, True):
        compiled = tf.function(layer, jit_compile=jit_compile)(ids)
        assert compiled.dtype == output.dtype
        np.testing.assert_array_equal(
            tf.cast(compiled, tf.float64), tf.cast(output, tf.float64)
        )


# --- Keras -------------------------------------------------------------------------


def test_a_subclassed_model_that_holds_it_loads_its_weights(tmp_path):
    model = Holder()
    ids = np.array([[1, 5, 0]])
    expected = model(ids).numpy()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(ids), expected)


@keras.saving.register_keras_serializable(package="test_embedding")
class Holder(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embedding = TokenEmbedding(VOCAB_SIZE, D_MODEL)

    def build(self, input_shape):
        self.embedding.build(input_shape)

    def call(self, ids):
        return self.embedding(ids)


def test_it_keeps_the_promises_of_a_layer():
    make = functools.partial(TokenEmbedding, VOCAB_SIZE, D_MODEL)
    keeps_layer_promises(make, np.array([[5, 3, 1], [1, 2, 0]]))


def test_what_would_be_a_plausible_vector_is_refused(layer):
    outside = tf.errors.InvalidArgumentError
    for call in (layer, tf.function(layer)):
        for ids in ([[1, VOCAB_SIZE]], [[-1, 2]], [[2**40]]):
            message = caught(outside, lambda: call(tf.constant(ids)))  # noqa: B023
            assert "token_ids" in message and str(VOCAB_SIZE - 1) in message, ids
    caught(outside, lambda: layer(np.array([[2**64 - 1]], np.uint64)))
    for ids in ([[1.0]], np.array([[True]]), tf.constant([["나는"]])):
        assert "token_ids" in caught(TypeError, lambda: layer(ids)), ids  # noqa: B023
    for ids in ([1, 2], np.ones((1, 2, 3), int), 1):
        ids = ids if isinstance(ids, list) else tf.constant(ids)
        assert "token_ids" in caught(ValueError, lambda: layer(ids)), ids  # noqa: B023
    caught(ValueError, lambda: layer([[1, 2], [3]]))  # TensorFlow가 거절합니다
