"""조립한 모델과 그 설정이 지키는 약속."""

import dataclasses
import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from layers import caught

from transformer_notes import multi_head_attention
from transformer_notes.masking import padding_mask
from transformer_notes.positional_encoding import (
    LearnedPositionalEncoding,
)
from transformer_notes.transformer import Transformer, TransformerConfig

VOCAB = 13
SMALL = TransformerConfig(VOCAB, d_model=8, num_heads=2, num_layers=2, d_ff=16)
VARIANTS = {
    "paper": {},
    "two vocabularies": {"source_vocab_size": 9},
    "pre-norm": {"norm_first": True},
    "learned": {"positions": "learned", "max_length": 9},
    "biases": {"attention_bias": True},
    "untied": {"tie_embeddings": False},
    "key and value dims": {"key_dim": 3, "value_dim": 5},
}
# 논문의 표 3: 어휘 집합 37,000과 41,000의 파라미터 수, 백만 (줄이 비면 base와 같습니다)
BASE = (63.05, 65.09)
TABLE_3 = {
    "base": BASE,
    "A h=1": BASE,
    "A h=4": BASE,
    "A h=16": BASE,
    "A h=32": BASE,
    "B d_k=16": (55.97, 58.02),
    "B d_k=32": (58.33, 60.38),
    "C N=2": (33.64, 35.69),
    "C N=4": (48.35, 50.39),
    "C N=8": (77.75, 79.79),
    "C d_model=256": (26.82, 27.84),
    "C d_model=1024": (163.82, 167.91),
    "C d_ff=1024": (50.45, 52.50),
    "C d_ff=4096": (88.24, 90.28),
    "D P_drop=0.0": BASE,
    "D P_drop=0.2": BASE,
    "D eps_ls=0.0": BASE,
    "D eps_ls=0.2": BASE,
    "E": (63.31, 65.36),
    "big": (214.17, 218.27),
}


def make(**changes):
    keras.utils.set_random_seed(0)
    model = Transformer(dataclasses.replace(SMALL, **changes))
    model.build()
    return model


@functools.cache
def graph_of(name):
    """배치와 길이를 모르는 그래프 하나. 여러 모양을 견주는 시험이 빨라집니다."""
    spec = tf.TensorSpec((None, None), tf.int32)
    return tf.function(shared(name), input_signature=[(spec, spec)])


@functools.cache
def shared(name):
    """시험이 함께 읽는 모델입니다. 가중치를 바꾸는 시험은 `make`로 따로 만듭니다."""
    return make(**VARIANTS[name])


@pytest.fixture(scope="module")
def model():
    return shared("paper")


def random_ids(*shape, seed=0, vocab=9):
    """패딩이 없는 번호입니다."""
    return np.random.default_rng(seed).integers(1, vocab, shape).astype("int32")


@functools.cache
def count(config):
    """가중치의 모양만 만들어 셉니다. 값을 채우지 않아 big도 메모리를 쓰지 않습니다."""
    with keras.StatelessScope():
        model = Transformer(config)
        model.build()
        counted = model.count_params()
        # 나중에 값을 채우려고 적어 둔 목록만 버립니다. 쓰레기까지 찾으면 오래 걸립니다.
        keras.backend.clear_session(free_memory=False)
    return counted


def formula(config):
    """논문의 구조에서 손으로 얻은 식: 공유하지 않는 표와 편향까지 셉니다."""
    d, heads, layers = config.d_model, config.num_heads, config.num_layers
    key = heads * (config.key_dim or d // heads)
    value = heads * (config.value_dim or d // heads)
    attention = 2 * d * (key + value)
    if config.attention_bias:
        attention += 2 * key + value + d
    feed_forward = 2 * d * config.d_ff + config.d_ff + d
    norm = 2 * d
    total = layers * (3 * attention + 2 * feed_forward + 5 * norm)
    if config.norm_first:
        total += 2 * norm
    total += config.vocab_size * d * (1 if config.tie_embeddings else 2)
    total += (config.source_vocab_size or 0) * d
    if config.positions == "learned":
        total += config.max_length * d
    return total


def logits_close(actual, expected, atol=1e-5):
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=atol)


# --- 표 3과 파라미터의 수 ------------------------------------------------------------


def test_table_3_has_the_papers_twenty_rows_in_order():
    assert list(TransformerConfig.table3()) == list(TABLE_3)


def test_every_row_of_table_3_has_the_count_of_the_paper():
    """식이 모델의 수와 같은 것은 아래의 두 시험이 봅니다."""
    for vocab, place in ((37_000, 0), (41_000, 1)):
        for name, row in TransformerConfig.table3(vocab).items():
            paper = TABLE_3[name][place]
            assert formula(row) / 1e6 == pytest.approx(paper, abs=0.0051), name


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (TransformerConfig.paper_base(), 63_045_632),
        (TransformerConfig(37_000, attention_bias=True), 63_082_496),
        (TransformerConfig.paper_big(), 214_171_648),
        # 출력에 편향이 없으므로 튜토리얼의 수에서 어휘 집합의 크기만큼 모자랍니다.
        (
            TransformerConfig(
                37_000, 37_000, attention_bias=True, tie_embeddings=False
            ),
            101_007_496 - 37_000,
        ),
        (
            TransformerConfig(
                8_180, 8_180, 256, 8, 2, 512, attention_bias=True, tie_embeddings=False
            ),
            8_926_196 - 8_180,
        ),
    ],
    ids=["base", "base with biases", "big", "untied", "chatbot"],
)
def test_published_counts_are_met_exactly(config, expected):
    assert count(config) == formula(config) == expected


@given(
    sizes=st.tuples(*[st.integers(1, 3)] * 4),
    key_dim=st.none() | st.integers(1, 5),
    flags=st.tuples(*[st.booleans()] * 4),
)
def test_the_formula_counts_every_configuration(sizes, key_dim, flags):
    vocab, layers, heads, d_ff = sizes
    bias, norm_first, tied, learned = flags
    config = TransformerConfig(
        vocab, None if tied else vocab + 1, 2 * heads, heads, layers, d_ff, key_dim,
        attention_bias=bias, norm_first=norm_first, tie_embeddings=tied,
        positions="learned" if learned else "sinusoidal", max_length=6,
    )  # fmt: skip
    assert count(config) == formula(config)


def test_rows_differ_from_base_only_where_the_paper_says():
    rows = TransformerConfig.table3()
    base = rows["base"]
    assert base == TransformerConfig.paper_base() == TransformerConfig(37_000)
    assert rows["big"] == TransformerConfig.paper_big()
    assert (rows["big"].num_heads, rows["big"].dropout) == (16, 0.3)
    assert rows["B d_k=16"] == dataclasses.replace(base, key_dim=16)
    assert rows["C d_model=256"] == dataclasses.replace(base, d_model=256)
    assert rows["D P_drop=0.0"] == dataclasses.replace(base, dropout=0.0)
    assert rows["D eps_ls=0.2"] == base  # 레이블 스무딩은 모델의 값이 아닙니다
    assert rows["E"] == dataclasses.replace(base, positions="learned")


def test_no_vocabulary_reproduces_both_models():
    def allowed(config, millions):
        rest = formula(config) - config.vocab_size * config.d_model
        return [(millions * 1e6 + half - rest) / config.d_model for half in (-5e5, 5e5)]

    base = allowed(TransformerConfig.paper_base(), 65)
    big = allowed(TransformerConfig.paper_big(), 213)
    assert big[1] < 37_000 < base[0] < 41_000 < base[1]


def test_the_tied_matrix_is_one_weight_and_is_counted_once(model):
    table = model.target_embedding.embeddings
    assert model.source_embedding is model.target_embedding
    assert model.linear_softmax.embedding is model.target_embedding
    assert sum(weight is table for weight in model.weights) == 1
    assert len({weight.path for weight in model.weights}) == len(model.weights)


def test_separate_vocabularies_share_only_the_target_side():
    model = shared("two vocabularies")
    assert model.source_embedding.embeddings.shape == (9, 8)
    assert model.target_embedding.embeddings.shape == (VOCAB, 8)
    assert model.linear_softmax.embedding is model.target_embedding
    assert model(([[8]], [[12]])).shape == (1, 1, VOCAB)
    with pytest.raises(tf.errors.InvalidArgumentError, match="0부터 8까지"):
        model(([[9]], [[12]]))


# --- 설정 ---------------------------------------------------------------------------


def test_heads_need_not_divide_d_model_when_both_dims_are_given():
    model = make(num_heads=3, key_dim=2, value_dim=4)
    assert model(([[1]], [[1]])).shape == (1, 1, VOCAB)


def test_learned_positions_allow_an_odd_d_model():
    model = make(d_model=7, num_heads=1, positions="learned")
    assert model(([[1]], [[1]])).shape == (1, 1, VOCAB)


def test_configuration_is_frozen_hashable_and_comes_back_from_its_own_config():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SMALL.d_model = 16
    assert {SMALL: 1}[dataclasses.replace(SMALL)] == 1
    assert TransformerConfig.from_config(SMALL.get_config()) == SMALL
    loaded = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(SMALL)
    )
    assert loaded == SMALL


# --- 계산의 성질 --------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_padding_on_either_side_never_changes_the_real_logits(name):
    model = shared(name)
    source, target = random_ids(2, 3), random_ids(2, 4, seed=1)
    expected = model((source, target))
    for extra in ((2, 0), (1, 3)):
        padded = [
            np.pad(ids, ((0, 0), (0, more)))
            for ids, more in zip((source, target), extra)
        ]
        logits_close(model(tuple(padded))[:, :4], expected)


@given(lengths=st.tuples(*[st.integers(1, 4)] * 2), more=st.integers(1, 3))
def test_padding_never_matters_whatever_the_lengths(lengths, more):
    graph = graph_of("paper")
    ids = [random_ids(2, length, seed=length) for length in lengths]
    padded = [np.pad(side, ((0, 0), (0, more))) for side in ids]
    logits_close(graph(tuple(padded))[:, : lengths[1]], graph(tuple(ids)))


@pytest.mark.parametrize("name", ["paper", "learned"])
@given(position=st.integers(0, 4), token=st.integers(0, VOCAB - 1))
def test_a_later_token_never_changes_an_earlier_logit(name, position, token):
    model = graph_of(name)
    source, target = random_ids(2, 3), random_ids(2, 5, seed=1)
    expected = model((source, target))
    target[:, position] = token
    changed = model((source, target))
    logits_close(changed[:, :position], expected[:, :position])


@given(order=st.permutations(range(4)))
def test_sentences_in_a_batch_do_not_see_each_other(order):
    model = graph_of("paper")
    source, target = random_ids(4, 3), random_ids(4, 4, seed=1)
    source[2, 2:] = target[1, 2:] = 0
    expected = model((source, target)).numpy()
    order = np.array(order)
    logits_close(model((source[order], target[order])), expected[order])
    logits_close(model((source[1:2], target[1:2])), expected[1:2])


def test_every_source_token_matters(model):
    source, target = random_ids(1, 4), random_ids(1, 3, seed=1)
    expected = model((source, target))
    for position in range(4):
        other = source.copy()
        other[0, position] = 10
        assert np.abs(model((other, target)) - expected).max(axis=(0, 2)).min() > 1e-4


def test_the_padding_id_of_the_configuration_is_the_one_hidden():
    model = make(pad_id=5)
    padded = model(([[1, 2, 5, 5]], [[3, 4, 5]]))
    logits_close(padded[:, :2], model(([[1, 2]], [[3, 4]])))
    assert np.abs(model(([[1, 2, 0]], [[3]])) - model(([[1, 2]], [[3]]))).max() > 1e-3


def test_a_source_of_padding_only_gives_finite_logits_and_gradients(model):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(([[0, 0]], [[0, 3]])) ** 2)
    gradients = tape.gradient(loss, [w.value for w in model.trainable_weights])
    for gradient in gradients:
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


def test_dropout_covers_the_sum_of_embedding_and_position():
    loud = make(dropout=0.5)
    x = loud.positions(loud.source_embedding(random_ids(1, 3)))
    dropped = loud.source_dropout(x, training=True).numpy()
    zero = dropped == 0
    assert zero.any() and np.allclose(dropped[~zero], 2 * x.numpy()[~zero])
    ids = random_ids(1, 3), random_ids(1, 3)
    quiet = loud(ids, training=False)
    np.testing.assert_array_equal(loud(ids), quiet)
    assert np.abs(loud(ids, training=True) - quiet).max() > 0.1
    of_sums = [loud.source_dropout, loud.target_dropout]
    of_layers = [
        part._dropout
        for layer in (*loud.encoder.layers, *loud.decoder.layers)
        for part in vars(layer).values()
        if hasattr(part, "_dropout")
    ]
    memory = loud.encode(ids[0])
    logits = loud.decode(ids[1], memory)
    for silent, heard in ((of_sums, of_layers), (of_layers, of_sums)):
        for dropout in silent:
            dropout.rate = 0.0
        for dropout in heard:
            dropout.rate = 0.5
        assert np.abs(loud.encode(ids[0], training=True) - memory).max() > 0.1
        assert np.abs(loud.decode(ids[1], memory, training=True) - logits).max() > 0.1


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("paper", 1),
        ("paper", 3),
        ("learned", 3),
        ("pre-norm", 3),
        ("key and value dims", 3),
    ],
)
def test_stepwise_decoding_with_a_cache_equals_the_full_pass(name, piece):
    model = shared(name)
    source, target = random_ids(2, 4), random_ids(2, 6, seed=1)
    source[1, 2:] = 0
    expected = model((source, target))
    memory, mask = model.encode(source), padding_mask(source)
    cache, pieces = model.decoder.start_cache(memory, 8), []
    for slot in range(0, 6, piece):
        logits, _, cache = model.decode(
            target[:, slot : slot + piece], memory, mask, cache=cache, slot=slot
        )
        pieces.append(logits)
    logits_close(np.concatenate(pieces, axis=1), expected)
    logits_close(model.decode(target, memory, mask), expected)


@pytest.mark.parametrize("name", ["paper", "learned", "key and value dims"])
def test_slots_may_be_filled_out_of_the_order_of_positions(name):
    """칸은 적은 차례일 뿐입니다. 위치는 따로 주고, 볼 칸은 마스크로 고릅니다."""
    model = shared(name)
    source, target = random_ids(2, 4), random_ids(2, 3, seed=1)
    memory, mask = model.encode(source), padding_mask(source)
    expected = model.decode(target, memory, mask)
    cache = model.decoder.start_cache(memory, 4)
    other = random_ids(2, 1, seed=2)
    cache = model.decode(target[:, :1], memory, mask, cache=cache, slot=0).cache
    cache = model.decode(  # 같은 위치 1의 다른 토큰이 칸 1을 먼저 씁니다
        other, memory, mask, cache=cache, position=[1], slot=1
    ).cache
    decoded = model.decode(
        target[:, 1:], memory, mask, attention_mask=[[True, False, True, True]],
        position=[1, 2], cache=cache, slot=2,
    )  # fmt: skip
    logits_close(decoded.output, expected[:, 1:])


def test_an_attention_mask_hides_more_than_the_future():
    model = shared("paper")
    source, target = random_ids(2, 4), random_ids(2, 4, seed=1)
    memory = model.encode(source)
    own = np.eye(4, dtype=bool)
    alone = model.decode(target, memory, attention_mask=own)
    for t in range(4):
        expected = model.decode(target[:, t : t + 1], memory, position=[t])
        logits_close(alone[:, t : t + 1], expected)


def test_weights_come_with_the_memory_and_with_the_logits():
    model = shared("paper")
    source, target = random_ids(2, 4), random_ids(2, 3, seed=1)
    source[1, 2:] = 0
    mask = padding_mask(source)
    memory, read, _ = model.encode(source, return_weights=True)
    np.testing.assert_array_equal(memory, model.encode(source))
    assert [w.shape[2:] for w in read] == [(4, 4)] * model.config.num_layers
    assert not np.any(read[0][1, ..., 2:])
    logits, weights, _ = model.decode(target, memory, mask, return_weights=True)
    np.testing.assert_array_equal(logits, model((source, target)))
    for layer in weights:
        assert not np.any(layer.cross_attention[1, ..., 2:])
        np.testing.assert_allclose(
            tf.reduce_sum(layer.self_attention, -1), 1, atol=1e-5
        )


@pytest.mark.parametrize("name", ["paper", "pre-norm"])
def test_the_weights_returned_are_those_that_the_logits_came_from(name, monkeypatch):
    model, seen = shared(name), []
    attend = multi_head_attention.scaled_dot_product_attention

    def spy(*inputs):
        output, weights = attend(*inputs)
        seen.append(weights.numpy())
        return output, weights

    monkeypatch.setattr(multi_head_attention, "scaled_dot_product_attention", spy)
    source, target = random_ids(2, 4), random_ids(2, 3, seed=1)
    model((source, target))
    memory, read, _ = model.encode(source, return_weights=True)
    layers = model.decode(target, memory, return_weights=True).weights
    returned = [*read, *(weights for layer in layers for weights in layer)]
    for found, expected in zip(returned, seen[: len(returned)], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


# --- 입력 ---------------------------------------------------------------------------


def test_ids_of_every_kind_give_the_same_logits(model):
    both = random_ids(2, 3), random_ids(2, 4, seed=1)
    expected = model(both).numpy()
    for convert in (
        lambda ids: ids.astype("int32"),
        lambda ids: ids.astype("int64"),
        lambda ids: ids.astype("uint8"),
        lambda ids: tf.constant(ids, tf.int32),
        lambda ids: tf.constant(ids, tf.int64),
        lambda ids: ids.tolist(),
        lambda ids: tuple(map(tuple, ids.tolist())),
    ):
        source, target = map(convert, both)
        np.testing.assert_array_equal(model((source, target)), expected)
        np.testing.assert_array_equal(model(inputs=[source, target]), expected)
        memory, mask = model.encode(source), padding_mask(source)
        np.testing.assert_array_equal(model.decode(target, memory, mask), expected)


def test_xla_equals_eager_and_ids_outside_the_vocabulary_raise():
    model = make(num_layers=1)
    graph, xla = graph_of("paper"), tf.function(model, jit_compile=True)
    fine = tf.constant([[1, 3, 0]]), tf.constant([[2, 4]])
    logits_close(xla(fine), model(fine))
    for source, target in [(13, 1), (1, 13), (-1, 1), (1, -1)]:
        ids = tf.constant([[1, source, 0]]), tf.constant([[2, target]])
        for call in (model, graph):
            with pytest.raises(tf.errors.InvalidArgumentError, match="0부터 12까지"):
                call(ids)


def test_an_empty_batch_of_a_graph_gives_empty_logits():
    # 여러 장치에 나누면 마지막 배치의 몫이 없는 장치가 생깁니다.
    assert graph_of("paper")((np.zeros((0, 3), "int32"),) * 2).shape == (0, 3, VOCAB)


def test_output_shapes_are_known_without_running():
    model = Transformer(SMALL, dtype="mixed_float16")
    assert model.compute_output_shape([(None, 5), (2, 7)]) == (2, 7, VOCAB)
    sides = [keras.Input((None,), dtype="int64") for _ in range(2)]
    logits = model(sides)
    assert (logits.shape, logits.dtype) == ((None, None, VOCAB), "float16")


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_every_part_has_the_dtype_policy_of_the_model(policy):
    config = dataclasses.replace(
        SMALL, positions="learned", source_vocab_size=9, norm_first=True
    )
    parts = Transformer(config, dtype=policy)._flatten_layers()
    assert {part.dtype_policy.name for part in parts} == {policy}


def test_a_learned_table_that_is_too_short_is_refused():
    model = shared("learned")
    assert isinstance(model.positions, LearnedPositionalEncoding)
    fits, long = random_ids(1, 9), random_ids(1, 10)
    assert model((fits, fits)).shape == (1, 9, VOCAB)
    for ids in ((long, fits), (fits, long)):
        with pytest.raises(ValueError, match="max_length"):
            model(ids)
    graph = graph_of("learned")
    with pytest.raises(tf.errors.InvalidArgumentError, match="position"):
        graph((long, fits))


# --- 그래프, 정밀도, Keras의 마스크 ---------------------------------------------------


@pytest.mark.parametrize("name", ["paper", "learned"])
def test_one_graph_serves_every_batch_and_length(name):
    model, graph = shared(name), graph_of(name)
    for batch, length_s, length_t in [(1, 1, 1), (3, 5, 2), (2, 4, 7)]:
        ids = random_ids(batch, length_s), random_ids(batch, length_t, seed=1)
        logits_close(graph(ids), model(ids))
    assert graph.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("through", ["global policy", "argument"])
def test_mixed_precision_stays_near_float32(model, policy, through):
    previous = keras.config.dtype_policy()
    try:
        if through == "global policy":
            keras.config.set_dtype_policy(policy)
            half = Transformer(SMALL)
        else:
            half = Transformer(SMALL, dtype=policy)
    finally:
        keras.config.set_dtype_policy(previous)
    half.build()
    half.set_weights(model.get_weights())
    source, target = random_ids(2, 3), random_ids(2, 4, seed=1)
    source[0, 1:] = 0
    logits = half((source, target))
    assert logits.dtype == half.compute_dtype == policy.removeprefix("mixed_")
    assert all(weight.dtype == "float32" for weight in half.weights)
    atol = 0.03 if policy == "mixed_float16" else 0.25
    expected = model((source, target))
    np.testing.assert_allclose(tf.cast(logits, tf.float32), expected, atol=atol)


def test_logits_carry_no_keras_mask_and_none_comes_in(model):
    assert getattr(model(([[1, 0]], [[1]])), "_keras_mask", None) is None
    ids = tf.constant([[1, 0]])
    ids._keras_mask = tf.constant([[True, False]])
    logits = model((ids, ids))
    assert getattr(logits, "_keras_mask", None) is None
    np.testing.assert_array_equal(logits, model(([[1, 0]], [[1, 0]])))


# --- 저장 ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["paper", "two vocabularies", "learned", "untied"])
def test_a_keras_file_round_trips_with_equal_logits(name, tmp_path):
    model = shared(name)
    ids = random_ids(2, 3), random_ids(2, 4, seed=1)
    expected = model(ids)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(ids), expected)
    assert loaded.config == model.config
    assert loaded.count_params() == model.count_params()
    if loaded.config.tie_embeddings:
        assert loaded.linear_softmax.embedding is loaded.target_embedding


def test_a_model_never_called_loads_with_its_weights_policy_and_name(tmp_path):
    config = dataclasses.replace(SMALL, num_layers=1)
    model = Transformer(config, dtype="mixed_bfloat16", name="translator")
    model.build()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for ours, theirs in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (loaded.dtype_policy.name, loaded.name) == ("mixed_bfloat16", "translator")


def test_weights_round_trip(tmp_path):
    model, other = shared("paper"), Transformer(SMALL)
    other.build()
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    ids = random_ids(2, 3), random_ids(2, 4, seed=1)
    np.testing.assert_array_equal(other(ids), model(ids))


def test_a_functional_model_holds_it_and_round_trips(tmp_path):
    sides = [keras.Input((None,), dtype="int32") for _ in range(2)]
    model = keras.Model(sides, Transformer(SMALL)(sides))
    assert model.outputs[0].shape == (None, None, VOCAB)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    ids = [random_ids(2, 3), random_ids(2, 4, seed=1)]
    np.testing.assert_array_equal(loaded(ids), model(ids))


# --- 학습 ---------------------------------------------------------------------------


def compiled(model, inputs):
    model(inputs)
    model.compile(
        keras.optimizers.Adam(0.02),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=["accuracy"],
        jit_compile=False,
    )
    # fit 안에서 만들면 같은 그래프를 두 번 만듭니다.
    model.optimizer.build(model.trainable_variables)
    return model


def test_fit_predict_and_evaluate_with_sample_weight_also_after_loading(tmp_path):
    """입력을 그대로 쓰는 작은 과제를 배웁니다. 패딩은 손실에 들지 않습니다."""
    source = random_ids(16, 4)
    source[:4, 3] = 0
    labels = source
    target = np.pad(source, ((0, 0), (1, 0)), constant_values=10)[:, :-1]
    weight = np.float32(labels != 0)
    model = compiled(make(dropout=0.0, num_layers=1), (source, target))
    history = model.fit(
        (source, target),
        labels,
        sample_weight=weight,
        epochs=25,
        verbose=0,
        validation_data=((source[:4], target[:4]), labels[:4], weight[:4]),
        validation_freq=25,
    ).history
    assert history["loss"][-1] < history["loss"][0] / 2
    assert np.isfinite(history["val_loss"]).all()
    scores = model.evaluate(
        (source, target), labels, sample_weight=weight, verbose=0, return_dict=True
    )
    predicted = model.predict((source, target), verbose=0)
    assert predicted.shape == (16, 4, VOCAB)
    logits_close(predicted, model((source, target)), atol=1e-4)
    right = (predicted.argmax(-1) == labels)[labels != 0].mean()
    assert scores["accuracy"] == pytest.approx(right, abs=1e-4)
    garbage = np.where(labels == 0, 7, labels)  # 패딩 자리의 정답은 상관없습니다
    same = model.evaluate(
        (source, target), garbage, sample_weight=weight, verbose=0, return_dict=True
    )
    assert same["loss"] == pytest.approx(scores["loss"], rel=1e-5)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.iterations == model.optimizer.iterations == 25
    loaded.run_eagerly = True  # 그래프를 또 만들지 않습니다
    went_on = loaded.fit(
        (source, target), labels, sample_weight=weight, epochs=1, verbose=0
    ).history
    assert went_on["loss"][0] < history["loss"][-1] * 1.1


def test_every_weight_receives_a_gradient(model):
    ids = random_ids(2, 3), random_ids(2, 4, seed=1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(model(ids)))
    values = [weight.value for weight in model.trainable_weights]
    for weight, gradient in zip(model.trainable_weights, tape.gradient(loss, values)):
        assert gradient is not None, weight.path
        assert np.abs(tf.convert_to_tensor(gradient)).max() > 0, weight.path


@keras.saving.register_keras_serializable(package="tests")
class EncoderOnly(keras.Model):
    """`Transformer`를 품고 인코더만 부릅니다."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.body = Transformer(dataclasses.replace(SMALL, num_layers=1))
        self.linear = keras.layers.Dense(2)

    def build(self, ids_shape):
        self.call(tf.zeros((1, 1), "int32"))

    def call(self, ids, training=None):
        return self.linear(self.body.encode(ids, training=training)[:, 0])


def test_only_the_encoder_fits_saves_and_loads_without_a_warning(tmp_path):
    keras.utils.set_random_seed(0)
    ids = random_ids(16, 3)
    classifier = compiled(EncoderOnly(), ids)
    labels = (ids[:, 0] > 4).astype("int32")
    loss = classifier.fit(ids, labels, epochs=20, verbose=0).history["loss"]
    assert loss[-1] < loss[0] / 2
    assert not classifier.body.decoder.built
    classifier.save(tmp_path / "classifier.keras")
    loaded = keras.models.load_model(tmp_path / "classifier.keras")
    np.testing.assert_array_equal(loaded(ids), classifier(ids))


def test_a_model_used_in_parts_loads_with_the_same_parts_and_grows_later(tmp_path):
    model = Transformer(SMALL)
    memory = model.encode([[1, 2]])
    assert not model.decoder.built
    expected = model.count_params()
    model.save(tmp_path / "half.keras")
    loaded = keras.models.load_model(tmp_path / "half.keras")
    assert loaded.count_params() == expected
    np.testing.assert_array_equal(loaded.encode([[1, 2]]), memory)
    logits = loaded(([[1, 2]], [[3]]))  # 나머지 부품은 이때 만들어집니다
    assert loaded.count_params() == formula(SMALL)
    np.testing.assert_array_equal(loaded.encode([[1, 2]]), memory)
    loaded.save(tmp_path / "whole.keras")
    whole = keras.models.load_model(tmp_path / "whole.keras")
    np.testing.assert_array_equal(whole(([[1, 2]], [[3]])), logits)


def test_wrong_configurations_are_refused():
    for changes, name in (
        ({"num_heads": 3}, "num_heads"),
        ({"num_heads": 3, "key_dim": 2}, "num_heads"),
        ({"num_layers": 0}, "num_layers"),
        ({"positions": "nowhere"}, "positions"),
        ({"positions": ["learned"]}, "positions"),
        ({"d_model": 7, "num_heads": 1}, "d_model"),
        ({"pad_id": -1}, "pad_id"),
        ({"pad_id": 9, "source_vocab_size": 9}, "pad_id"),
    ):
        with pytest.raises(ValueError, match=name):
            dataclasses.replace(SMALL, **changes)


def test_inputs_that_would_give_plausible_logits_are_refused(model):
    for inputs, kind, name in (
        (np.array([[1, 2]]), ValueError, "expected 2"),
        (([[1]], [[1]], [[1]]), ValueError, "expected 2"),
        (([[1.0]], [[1]]), TypeError, "source_ids"),
        (([[1]], [[1.0]]), TypeError, "target_ids"),
        (([1, 2], [[1]]), ValueError, "source_ids"),
        (([[1]], [1]), ValueError, "target_ids"),
        (([[1], [2]], [[1], [2], [3]]), ValueError, "memory"),
        (([[1], [2]], [[1]]), ValueError, "memory"),
        (([[1, 2], [3]], [[1], [2]]), ValueError, "rectangular"),
    ):
        assert name in caught(kind, model, inputs), inputs
    memory = model.encode([[1, 2]])
    for position, kind in (([0.0, 1.0], TypeError), ([4], ValueError)):
        with pytest.raises(kind, match="position"):
            model.decode([[1, 2]], memory, position=position)
