"""TokenEmbedding이 지키는 약속."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from layers import caught

from transformer_notes.embedding import TokenEmbedding
from transformer_notes.linear_softmax import LinearSoftmax

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


def test_frozen_layer_has_no_trainable_weights():
    layer = TokenEmbedding(VOCAB_SIZE, D_MODEL, trainable=False)
    layer.build((None, None))
    assert layer.trainable_weights == []


# --- 입력과 실행 방식 ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype_gives_the_same_vectors(layer, dtype):
    ids = np.array([[0, 3, 10]])
    expected = layer(ids).numpy()
    for given_ids in (ids.astype(dtype), tf.constant(ids, dtype)):
        np.testing.assert_array_equal(layer(given_ids), expected)
        np.testing.assert_array_equal(tf.function(layer)(given_ids), expected)


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


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_empty_batches_and_sentences_pass(layer, shape):
    ids = np.zeros(shape, np.int32)
    assert layer(ids).shape == (*shape, D_MODEL)
    assert tf.function(layer)(ids).shape == (*shape, D_MODEL)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_compiled_equals_eager(layer, jit_compile):
    ids = tf.constant([[0, 10, 3], [3, 3, 7]])
    compiled = tf.function(layer, jit_compile=jit_compile)
    np.testing.assert_allclose(compiled(ids), layer(ids), rtol=1e-6)


def test_one_graph_serves_every_batch_and_length(layer):
    traced = tf.function(layer, input_signature=[tf.TensorSpec((None, None), tf.int64)])
    for shape in ((1, 1), (2, 5), (4, 3)):
        ids = np.arange(np.prod(shape)).reshape(shape) % VOCAB_SIZE
        np.testing.assert_array_equal(traced(ids), layer(ids))
    assert traced.experimental_get_tracing_count() == 1


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


# --- 어휘 집합 밖의 번호 -------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "graph"])
@pytest.mark.parametrize(
    "ids, bounds",
    [([[1, VOCAB_SIZE]], (1, VOCAB_SIZE)), ([[-1, 2]], (-1, 2)), ([[2**40]], (2**40,))],
)
def test_ids_outside_the_vocabulary_are_refused_by_name(layer, wrap, ids, bounds):
    call = wrap(layer)
    message = caught(tf.errors.InvalidArgumentError, lambda: call(tf.constant(ids)))
    assert f"0부터 {VOCAB_SIZE - 1}까지의 번호가 필요합니다" in message
    assert f"vocab_size={VOCAB_SIZE}" in message
    assert "같은 어휘 집합을 쓰는지" in message
    for bound in bounds:
        assert str(bound) in message


def test_the_largest_unsigned_id_is_outside_too(layer):
    ids = np.array([[2**64 - 1]], np.uint64)
    caught(tf.errors.InvalidArgumentError, lambda: layer(ids))


def test_fit_refuses_ids_outside_the_vocabulary():
    ids = keras.Input((None,), dtype="int32")
    pooled = keras.layers.GlobalAveragePooling1D()(
        TokenEmbedding(VOCAB_SIZE, D_MODEL)(ids)
    )
    model = keras.Model(ids, pooled)
    model.compile("sgd", "mse", jit_compile=False)
    x, y = np.array([[1, VOCAB_SIZE]]), np.zeros((1, D_MODEL))
    message = caught(tf.errors.InvalidArgumentError, lambda: model.fit(x, y, verbose=0))
    assert f"vocab_size={VOCAB_SIZE}" in message


@given(
    ids=hnp.arrays(
        np.int64,
        (2, 3),
        elements=st.sampled_from(
            [-(2**40), -1, 0, 5, VOCAB_SIZE - 1, VOCAB_SIZE, 2**40]
        ),
    )
)
def test_xla_answers_nan_exactly_where_an_id_is_outside(ids):
    outside = (ids < 0) | (ids >= VOCAB_SIZE)
    output = compiled_layer()(tf.constant(ids)).numpy()
    np.testing.assert_array_equal(
        np.isnan(output), np.broadcast_to(outside[..., np.newaxis], output.shape)
    )


@functools.cache
def compiled_layer():
    """예마다 다시 컴파일하면 느리므로 한 번만 합니다."""
    return tf.function(built(), jit_compile=True)


# --- 거절하는 입력 -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vocab_size", "d_model"])
@pytest.mark.parametrize(
    "value, kind",
    [(0, ValueError), (-3, ValueError), (2.0, TypeError), (True, TypeError)],
)
def test_sizes_must_be_positive_integers(name, value, kind):
    sizes = {"vocab_size": 5, "d_model": 4, name: value}
    assert name in caught(kind, lambda: TokenEmbedding(**sizes))


@pytest.mark.parametrize(
    "ids",
    [np.array([[1.0, 2.0]]), [[1.0, 2.0]], np.array([[True]]), tf.constant([["나는"]])],
    ids=["float array", "float list", "bool", "string"],
)
def test_ids_that_are_not_integers_are_refused(layer, ids):
    message = caught(TypeError, lambda: layer(ids))
    assert "정수 토큰 번호" in message and "tf.cast" in message


@pytest.mark.parametrize("shape", [(3,), (1, 2, 3), ()])
def test_ids_must_be_batch_by_length(layer, shape):
    message = caught(ValueError, lambda: layer(np.ones(shape, np.int32)))
    assert "(batch, length)" in message


def test_a_flat_list_is_told_to_add_the_batch_axis(layer):
    assert "[tf.newaxis, :]" in caught(ValueError, lambda: layer([1, 2, 3]))


def test_sentences_of_different_length_are_told_to_be_padded(layer):
    assert "패딩 토큰으로 채워" in caught(ValueError, lambda: layer([[1, 2], [3]]))


def test_a_float_keras_input_is_refused_when_the_model_is_made(layer):
    message = caught(TypeError, lambda: layer(keras.Input((None,))))
    assert 'dtype="int32"' in message


@pytest.mark.parametrize("shape", [(), (None, None)])
def test_a_keras_input_of_wrong_rank_is_refused_when_the_model_is_made(layer, shape):
    message = caught(ValueError, lambda: layer(keras.Input(shape, dtype="int32")))
    assert "(batch, length)" in message


# --- 케라스 ------------------------------------------------------------------------


def test_symbolic_shape_and_dtype_agree_with_the_real_ones():
    layer = TokenEmbedding(VOCAB_SIZE, D_MODEL, dtype="mixed_float16")
    symbolic = layer(keras.Input((None,), dtype="int32"))
    assert symbolic.shape == (None, None, D_MODEL)
    assert symbolic.dtype == layer([[1]]).dtype.name == "float16"
    assert layer.compute_output_shape((2, 3)) == (2, 3, D_MODEL)


def test_no_keras_mask_leaves_the_layer(layer):
    ids = tf.constant([[1, 2, 0]])
    assert getattr(layer(ids), "_keras_mask", None) is None
    ids._keras_mask = tf.not_equal(ids, 0)
    assert getattr(layer(ids), "_keras_mask", None) is None
    symbolic = layer(keras.Input((None,), dtype="int32"))
    assert getattr(symbolic, "_keras_mask", None) is None


def test_config_round_trip_keeps_sizes_policy_and_name():
    layer = TokenEmbedding(7, 3, name="source", dtype="mixed_bfloat16", trainable=False)
    copy = TokenEmbedding.from_config(layer.get_config())
    assert (copy.vocab_size, copy.d_model, copy.name) == (7, 3, "source")
    assert copy.dtype_policy.name == "mixed_bfloat16" and not copy.trainable


def functional_model():
    ids = keras.Input((None,), dtype="int32")
    embedding = TokenEmbedding(VOCAB_SIZE, D_MODEL)
    logits = LinearSoftmax(VOCAB_SIZE, embedding=embedding)(embedding(ids))
    return keras.Model(ids, logits)


def test_keras_file_round_trip_in_a_functional_model(tmp_path):
    model, ids = functional_model(), np.array([[1, 5, 0]])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(ids), model(ids))
    assert loaded.count_params() == VOCAB_SIZE * D_MODEL


def test_weights_file_round_trip(tmp_path):
    model, other, ids = functional_model(), functional_model(), np.array([[1, 5, 0]])
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(other(ids), model(ids))


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


def test_tied_output_reads_the_table_unscaled():
    embedding = TokenEmbedding(VOCAB_SIZE, D_MODEL)
    logits = LinearSoftmax(VOCAB_SIZE, embedding=embedding)
    x = np.random.default_rng(0).normal(size=(2, 3, D_MODEL)).astype(np.float32)
    actual = logits(x)
    expected = x @ embedding.embeddings.numpy().T
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_weight_tying_holds_in_mixed_precision(policy):
    embedding = TokenEmbedding(VOCAB_SIZE, D_MODEL, dtype=policy)
    logits = LinearSoftmax(VOCAB_SIZE, embedding=embedding, dtype=policy)
    output = logits(embedding([[1, 2]]))
    assert output.dtype == keras.DTypePolicy(policy).compute_dtype
    assert bool(tf.reduce_all(tf.math.is_finite(output)))


def test_sgd_moves_only_the_rows_that_were_used(layer):
    before = layer.embeddings.numpy()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer([[2, 5]]) ** 2)
    gradient = tape.gradient(loss, layer.embeddings.value)
    keras.optimizers.SGD(0.1).apply([gradient], [layer.embeddings])
    moved = np.any(layer.embeddings.numpy() != before, axis=1)
    assert set(np.flatnonzero(moved)) == {2, 5}


def test_training_in_a_model_changes_the_table():
    model = functional_model()
    model.compile(
        keras.optimizers.Adam(0.05),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    ids = np.array([[1, 2, 3, 4]])
    history = model.fit(ids, (ids + 1) % VOCAB_SIZE, epochs=20, verbose=0).history
    assert history["loss"][-1] < history["loss"][0] / 2
