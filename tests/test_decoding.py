"""디코딩: 그래프와 캐시를 쓰는 코드가, 쓰지 않는 짧은 NumPy 코드와 같은 답을 냅니다."""

import functools
import gc
import itertools
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import assume, given
from hypothesis import strategies as st

from transformer_notes import decoding
from transformer_notes.decoding import (
    beam_search,
    greedy,
    open_reader,
    sample,
    translate,
)
from transformer_notes.masking import padding_mask
from transformer_notes.positional_encoding import SCHEMES, PositionalEncoding
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import Transformer, TransformerConfig

PAD, BOS, EOS = 0, 1, 2


def make_model(vocab_size=6, seed=0, dtype=None, **options):
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 2, "d_ff": 16} | options
    model = Transformer(TransformerConfig(vocab_size, **sizes), dtype=dtype)
    model.build()
    return randomize(model, seed)


def randomize(model, seed, scale=0.6):
    """분포가 고르지 않고 eos도 자주 나오도록 가중치를 크게 흔듭니다."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        if "seed" not in weight.path:
            weight.assign(rng.normal(0, scale, weight.shape))
    return model


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def tiny():
    """어휘가 넷뿐인 모델."""
    return make_model(vocab_size=4)


# ---- 짧은 기준: 문장 하나, 캐시도 그래프도 없습니다


def log_softmax(logits):
    logits = np.asarray(logits, np.float64)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


@functools.cache
def uncached(model):
    """모델의 encode와 decode. 캐시는 없고, 빨리 끝나도록 그래프로 부릅니다."""
    ids, vectors = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None, None, 8))
    mask = tf.TensorSpec((1, 1, 1, None), tf.bool)
    encode = tf.function(model.encode, [ids], autograph=False)
    return encode, tf.function(model.decode, [ids, vectors, mask], autograph=False)


class Reference:
    """접두사마다의 로그 확률을 캐시 없이 한꺼번에 구해 두고 찾습니다."""

    def __init__(self, model, source, max_extra):
        real = [token for token in source if token != PAD]
        self.limit = len(real) + max_extra
        tokens = [token for token in range(model.config.vocab_size) if token != PAD]
        source = tf.constant([source])
        encode, decode = uncached(model)
        memory, mask = encode(source), padding_mask(source)
        self.table = {}
        for length in range(self.limit):
            prefixes = list(itertools.product(tokens, repeat=length))
            ids = tf.constant([(BOS, *prefix) for prefix in prefixes])
            count = len(prefixes)
            logits = decode(ids, tf.repeat(memory, count, 0), mask)[:, -1]
            self.table |= dict(zip(prefixes, log_softmax(logits)))

    def candidates(self, prefix):
        for token, log_p in enumerate(self.table[prefix]):
            if token != PAD:
                yield (*prefix, token), log_p

    def ended(self, answer):
        return len(answer) == self.limit or EOS in answer

    def beams(self, beam_size, alpha):
        def score(item):
            answer, total = item
            return total / ((5 + len(answer)) / 6) ** alpha

        beams = [((), 0.0)]
        while not all(self.ended(answer) for answer, _ in beams):
            grown = []
            for answer, total in beams:
                if self.ended(answer):
                    grown.append((answer, total))
                else:
                    grown += [(new, total + p) for new, p in self.candidates(answer)]
            ranked = sorted(grown, key=score, reverse=True)
            apart(score(item) for item in ranked[: beam_size + 1])
            beams = ranked[:beam_size]
        return [(answer, score((answer, total))) for answer, total in beams]

    def exhaustive(self, alpha):
        every, alive = [], [((), 0.0)]
        while alive:
            grown = [
                (new, total + p)
                for answer, total in alive
                for new, p in self.candidates(answer)
            ]
            every += [item for item in grown if self.ended(item[0])]
            alive = [item for item in grown if not self.ended(item[0])]
        scored = [(a, total / ((5 + len(a)) / 6) ** alpha) for a, total in every]
        scored.sort(key=lambda item: item[1], reverse=True)
        apart(score for _, score in scored)
        return scored

    def greedy(self):
        answer = ()
        while not self.ended(answer):
            ranked = sorted(self.candidates(answer), key=lambda item: -item[1])
            apart(log_p for _, log_p in ranked[:2])
            answer = ranked[0][0]
        return answer


def apart(scores):
    """차례를 반올림이 정할 만큼 가까운 점수가 있으면, 그 예는 쓰지 않습니다."""
    for higher, lower in itertools.pairwise(scores):
        assume(higher - lower > 1e-5)


def answers(ids):
    """패딩을 떼고 튜플로 바꿉니다. 패딩이 뒤에만 있는지도 봅니다."""
    rows = []
    for row in np.asarray(ids):
        real = row[row != PAD]
        assert np.array_equal(row[: len(real)], real)
        rows.append(tuple(int(token) for token in real))
    return rows


SOURCES = st.lists(st.integers(3, 5), min_size=1, max_size=2)


@given(SOURCES, st.sampled_from([0, 3]), st.integers(0, 10_000))
def test_greedy_equals_recomputing_every_prefix(model, source, max_extra, seed):
    randomize(model, seed)
    expected = Reference(model, source, max_extra).greedy()
    assert answers(greedy(model, [source], BOS, EOS, max_extra)) == [expected]


@given(
    SOURCES,
    st.integers(0, 10_000),
    # 그래프는 (빔, max_extra)마다 하나씩 만듭니다. 7은 어휘 집합보다 많습니다.
    st.sampled_from([(1, 3), (4, 3), (3, 0), (7, 2)]),
    st.sampled_from([0.0, 0.6, 1.0, 2.0]),
)
def test_every_beam_equals_the_plain_reference(model, source, seed, sizes, alpha):
    randomize(model, seed)
    beam_size, max_extra = sizes
    expected = Reference(model, source, max_extra).beams(beam_size, alpha)
    ids, scores = beam_search(
        model, [source], BOS, EOS, max_extra, beam_size, alpha, return_beams=True
    )
    ids, scores = answers(ids[0]), scores[0].numpy()
    assert ids[: len(expected)] == [answer for answer, _ in expected]
    np.testing.assert_allclose(
        scores[: len(expected)], [score for _, score in expected], atol=1e-4
    )
    assert np.all(np.isneginf(scores[len(expected) :]))  # 빈자리
    assert all(answer == () for answer in ids[len(expected) :])


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.6, 1.5]))
def test_a_beam_that_prunes_nothing_equals_exhaustive_search(tiny, seed, alpha):
    randomize(tiny, seed)
    expected = Reference(tiny, [3], max_extra=2).exhaustive(alpha)
    assert len(expected) < 16
    ids, scores = beam_search(tiny, [[3]], BOS, EOS, 2, 16, alpha, return_beams=True)
    assert answers(ids[0, : len(expected)]) == [answer for answer, _ in expected]
    np.testing.assert_allclose(
        scores[0, : len(expected)], [score for _, score in expected], atol=1e-4
    )
    best, score = beam_search(tiny, [[3]], BOS, EOS, 2, 16, alpha)
    assert answers(best) == [expected[0][0]]
    np.testing.assert_array_equal(score, scores[:, 0])


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.6, 2.0]))
def test_a_beam_of_one_equals_greedy(model, seed, alpha):
    randomize(model, seed)
    sources = [[3, 4, 5, 3], [5, 4, PAD, PAD]]
    ids, _ = beam_search(model, sources, BOS, EOS, 3, 1, alpha)
    np.testing.assert_array_equal(ids, greedy(model, sources, BOS, EOS, 3))


@pytest.mark.parametrize(
    "options", [{}, {"norm_first": True}, {"positions": "learned"}]
)
def test_cached_logits_equal_uncached_ones(options):
    model = make_model(vocab_size=20, **options)
    rng = np.random.default_rng(0)
    source = tf.constant(np.pad(rng.integers(3, 20, (2, 5)), [(0, 0), (0, 2)]))
    source = tf.cast(source, tf.int32)
    # 세 빔이 처음부터 끝까지 저마다의 길을 갑니다.
    beams = tf.constant(rng.integers(1, 20, (2, 3, 5)), tf.int32)
    memory, mask = model.encode(source), padding_mask(source)
    whole = [model.decode(beams[:, b], memory, mask).numpy() for b in range(3)]
    one, own = open_reader(model, source, 5)
    three, beam_own = open_reader(model, source, 5, beam_size=3)
    seen = np.zeros((2, 3, 5, 3), bool)
    for t in range(5):
        logits, own = one(beams[:, :1, t], t, own)
        np.testing.assert_allclose(logits[:, 0], whole[0][:, t], atol=1e-5)
        seen[:, range(3), t, range(3)] = True
        slots = tf.reshape(seen, (2, 1, 3, 15))
        logits, beam_own = three(beams[:, :, t], t, beam_own, slots)
        for b in range(3):
            np.testing.assert_allclose(logits[:, b], whole[b][:, t], atol=1e-5)


def test_the_memory_is_projected_only_once():
    model = make_model()
    memory = tf.random.stateless_normal((2, 5, 8), seed=(0, 0))
    cache = model.decoder.start_cache(memory, 4)
    ids = tf.constant([[1], [1]])
    expected = model.decode(ids, memory)
    # 담아 둔 것을 읽으므로 memory 자체는 보지 않습니다.
    logits, _, grown = model.decode(ids, memory * float("nan"), cache=cache)
    np.testing.assert_allclose(logits, expected, atol=1e-6)
    for old, new in zip(cache, grown):
        np.testing.assert_array_equal(new.memory.keys, old.memory.keys)
        assert np.any(new.own.keys != old.own.keys)


# ---- 밖에서 더한 위치


class Rotary(PositionalEncoding):
    """쿼리와 키의 짝을 위치만큼 돌립니다. 임베딩에는 아무것도 더하지 않습니다."""

    def in_attention(self, query, key, position):
        assert position.dtype == tf.int64  # 앞에서도 뒤에서도, 빔에서도
        half = query.shape[-1] // 2
        rates = 100.0 ** (-tf.range(half, dtype=tf.float32) / half)
        angles = tf.cast(position, tf.float32)[:, tf.newaxis] * rates
        cos, sin = tf.cos(angles), tf.sin(angles)  # (length, half)

        def turn(x):
            a, b = tf.split(x, 2, axis=-1)
            return tf.concat([a * cos - b * sin, a * sin + b * cos], axis=-1)

        return turn(query), turn(key)


@pytest.fixture(scope="module")
def rotary():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SCHEMES, "outside", lambda config, **options: Rotary(**options))
        yield make_model(vocab_size=12, positions="outside", seed=2)  # 답이 깁니다


def test_a_scheme_from_outside_moves_the_answer_with_the_order(rotary):
    ids = np.array([[5, 6, 7, 8]])
    there, back = rotary.encode(ids), rotary.encode(ids[:, ::-1])
    assert not np.allclose(there, back[:, ::-1], atol=1e-3)
    plain = make_model(vocab_size=12, positions="outside")
    plain.set_weights(rotary.get_weights())
    plain.positions.in_attention = lambda query, key, position: (query, key)
    same = plain.encode(ids), plain.encode(ids[:, ::-1])[:, ::-1]
    np.testing.assert_allclose(*same, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_scheme_from_outside_has_beam_scores_of_the_model_itself(rotary, alpha):
    source = np.array([[5, 6, 7, 8], [9, 4, 0, 0]])
    ids, scores = beam_search(
        rotary, source, BOS, EOS, 4, beam_size=3, length_penalty=alpha,
        return_beams=True,
    )  # fmt: skip
    assert np.count_nonzero(ids, axis=-1).max() == 8
    memory, mask = rotary.encode(source), padding_mask(source)
    for beam in range(3):
        answer = ids[:, beam].numpy()
        inputs = np.concatenate([np.full((2, 1), BOS), answer[:, :-1]], axis=1)
        log_p = tf.nn.log_softmax(rotary.decode(inputs, memory, mask)).numpy()
        for row in range(2):
            length = np.count_nonzero(answer[row])
            total = sum(log_p[row, t, answer[row, t]] for t in range(length))
            expected = total / ((5 + length) / 6) ** alpha
            np.testing.assert_allclose(scores[row, beam], expected, atol=1e-5)


def test_a_scheme_from_outside_is_greedy_as_without_a_cache(rotary):
    source = np.array([[5, 6, 7, 8], [9, 4, 0, 0]])
    ids = greedy(rotary, source, BOS, EOS, 4).numpy()
    assert np.count_nonzero(ids, axis=-1).tolist() == [8, 6]
    memory, mask = rotary.encode(source), padding_mask(source)
    inputs = np.concatenate([np.full((2, 1), BOS), ids[:, :-1]], axis=1)
    logits = rotary.decode(inputs, memory, mask).numpy()
    logits[..., 0] = -np.inf
    chosen = logits.argmax(-1)
    np.testing.assert_array_equal(chosen[ids != 0], ids[ids != 0])


# ---- 배치, 길이, 끝


def decoders(**options):
    return {
        "greedy": lambda *a, **k: greedy(*a, **k, **options),
        "beam": lambda *a, **k: beam_search(*a, **k, **options)[0],
        "sample": lambda *a, **k: sample(*a, **k, seed=1, **options),
    }


@pytest.mark.parametrize("name", ["greedy", "beam"])
def test_padding_and_neighbours_never_change_an_answer(model, name):
    decode = decoders()[name]
    for seed in range(8):
        randomize(model, seed)
        both = decode(model, [[3, 4, 5], [4, PAD, PAD]], BOS, EOS, 3)
        for row, source in enumerate(([3, 4, 5], [4])):
            alone = decode(model, [source], BOS, EOS, 3)
            assert answers(both)[row] == answers(alone)[0]


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_answers_keep_the_form(model, name):
    """int32이고, eos까지 있고, 그 뒤는 패딩이고, 입력 + max_extra보다 길지 않습니다."""
    ended = 0
    for seed in range(8):
        randomize(model, seed)
        ids = decoders()[name](model, [[3, 4, 5], [4, PAD, PAD]], BOS, EOS, 3)
        assert ids.dtype == tf.int32
        rows = answers(ids)
        assert ids.shape == (2, max(map(len, rows)))
        for row, limit in zip(rows, (6, 4)):
            assert 1 <= len(row) <= limit
            assert EOS not in row[:-1]
            assert row[-1] == EOS or len(row) == limit
            ended += row[-1] == EOS
    assert 0 < ended < 16


def test_padding_is_never_a_token_of_the_answer():
    model = make_model(tie_embeddings=False, num_layers=1)
    kernel = model.linear_softmax.kernel
    # 패딩의 로짓이 언제나 가장 크게: 층 정규화의 β와 나란히 둡니다.
    beta = model.decoder.layers[-1].feed_forward_norm.norm.beta
    beta.assign(tf.ones_like(beta))
    kernel.assign(tf.concat([tf.fill((8, 1), 50.0), kernel[:, 1:]], axis=1))
    logits = model(([[3]], [[BOS]])).numpy()
    assert logits[0, 0].argmax() == PAD
    for name, decode in decoders().items():
        assert answers(decode(model, [[3, 4]], BOS, EOS, 3))[0], name


def test_renumbering_the_padding_renumbers_the_answer(model):
    swap, other = np.array([5, 1, 2, 3, 4, 0]), make_model(pad_id=5)
    sources = np.array([[3, 4, 5], [4, PAD, PAD]])
    asked = (model, sources), (other, swap[sources])
    for seed in range(8):
        other.set_weights(randomize(model, seed).get_weights())
        table = model.target_embedding.embeddings.numpy()
        other.target_embedding.embeddings.assign(table[swap])
        expected, found = (greedy(*one, BOS, EOS, 3).numpy() for one in asked)
        np.testing.assert_array_equal(found, swap[expected])
        expected, found = (beam_search(*one, BOS, EOS, 3) for one in asked)
        np.testing.assert_array_equal(found[0], swap[expected[0]])
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-4)


def test_an_input_of_nothing_but_padding_gets_an_answer(model):
    for name, decode in decoders().items():
        ids = decode(model, [[PAD, PAD]], BOS, EOS, 3)
        assert 1 <= ids.shape[1] <= 3, name
    inputs = model, [[PAD, PAD]], BOS, EOS, 0
    assert greedy(*inputs).shape == beam_search(*inputs, 3)[0].shape == (1, 0)


class Counting(Transformer):
    """디코더를 몇 번 불렀는지 셉니다."""

    def decode(self, *arguments, **options):
        steps.assign_add(1)
        return super().decode(*arguments, **options)


steps = tf.Variable(0, trainable=False)


def test_decoding_stops_when_every_row_is_finished():
    model = Counting(make_model(tie_embeddings=False, num_layers=1).config)
    model.build()
    norm = model.decoder.layers[-1].feed_forward_norm.norm
    norm.gamma.assign(tf.zeros(8))
    norm.beta.assign(tf.ones(8))
    kernel = np.zeros((8, 6), "float32")
    kernel[:, EOS] = 1.0  # 언제나 곧바로 eos
    model.linear_softmax.kernel.assign(kernel)
    steps.assign(0)
    ids = greedy(model, [[3, 4], [5, 3]], BOS, EOS)
    assert answers(ids) == [(EOS,), (EOS,)] and int(steps) == 1


def test_a_long_finished_beam_is_compared_by_its_own_length(model):
    """길이 벌점이 크면 긴 답이, 0이면 합이 큰 답이 이깁니다."""
    lengths = {}
    for alpha in (0.0, 4.0):
        lengths[alpha] = 0
        for seed in range(10):
            randomize(model, seed)
            ids, _ = beam_search(model, [[3, 4]], BOS, EOS, 3, 4, alpha)
            lengths[alpha] += len(answers(ids)[0])
    assert lengths[0.0] < lengths[4.0]


# ---- 뽑기


@given(
    st.integers(0, 10_000),
    st.sampled_from([0.3, 1.0, 2.0]),
    st.sampled_from([None, 1, 3, 8]),
    st.sampled_from([None, 0.01, 0.5, 0.9, 1.0]),
)
def test_candidates_equal_the_plain_reference(seed, temperature, top_k, top_p):
    logits = np.random.default_rng(seed).normal(0, 2, 8).astype("float32")
    p = np.exp(log_softmax(logits / temperature))
    order = np.argsort(-p)[:top_k]
    kept, mass = [], 0.0
    for token in order:
        kept.append(token)
        mass += p[token] / p[order].sum()
        if top_p is not None and top_p < 1 and mass >= top_p:
            break
    expected = np.zeros(8)
    expected[kept] = p[kept] / p[kept].sum()

    values, tokens = decoding.candidates(logits[np.newaxis], temperature, top_k, top_p)
    shares = np.zeros(8)
    tokens = np.arange(8) if tokens is None else tokens.numpy()[0]
    shares[tokens] = tf.nn.softmax(values).numpy()[0]
    np.testing.assert_allclose(shares, expected, atol=1e-5)


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.8}]
)
def test_drawn_tokens_follow_the_distribution(options):
    logits = np.float32([[1.0, 0.5, -1.0, 0.0, 2.0, -3.0]])
    values, tokens = decoding.candidates(logits, **options)
    expected = np.zeros(6)
    tokens = np.arange(6) if tokens is None else tokens.numpy()[0]
    expected[tokens] = tf.nn.softmax(values).numpy()[0]
    many = np.repeat(logits, 20_000, axis=0)
    drawn = decoding.draw(many, (0, 1), **{"temperature": 1.0} | options).numpy()
    shares = np.bincount(drawn, minlength=6) / len(drawn)
    np.testing.assert_allclose(shares, expected, atol=0.015)
    assert np.all(shares[expected == 0] == 0)


def test_sampling_is_reproducible(model):
    randomize(model, 3)
    sources = [[3, 4, 5]] * 20
    first = sample(model, sources, BOS, EOS, 3, seed=7).numpy()
    np.testing.assert_array_equal(first, sample(model, sources, BOS, EOS, 3, seed=7))
    rows = answers(first)
    assert len(set(rows)) > 1  # 같은 입력이라도 줄마다 따로 뽑습니다
    for seed in (8, 7 + 2 * 63, 7 + 2**62):
        assert answers(sample(model, sources, BOS, EOS, 3, seed=seed)) != rows
    for seed in (-1, 2**80):
        sample(model, sources, BOS, EOS, 3, seed=seed)
    drawn = []
    for _ in range(2):
        keras.utils.set_random_seed(5)
        drawn.append(answers(sample(model, sources, BOS, EOS, 3)))
    assert drawn[0] == drawn[1] != answers(sample(model, sources, BOS, EOS, 3))


def test_first_rows_do_not_depend_on_how_many_follow(model):
    randomize(model, 3)
    sources = [[3, 4, 5], [5, 4, 3], [4, 4, 4]]
    three = answers(sample(model, sources, BOS, EOS, 3, seed=2))
    assert answers(sample(model, sources[:1], BOS, EOS, 3, seed=2)) == three[:1]


def test_a_tiny_top_p_or_temperature_equals_greedy(model):
    for seed in range(5):
        randomize(model, seed)
        expected = answers(greedy(model, [[3, 4, 5]], BOS, EOS, 3))
        for options in ({"top_p": 1e-6}, {"temperature": 1e-4}):
            ids = sample(model, [[3, 4, 5]], BOS, EOS, 3, seed=seed, **options)
            assert answers(ids) == expected


# ---- 그래프


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_xla_gives_the_same_answers(name):
    model = make_model(seed=4, num_layers=1)
    sources = [[3, 4, 5], [4, PAD, PAD]]
    decode = decoders(jit_compile=True)[name]
    compiled = decode(model, sources, BOS, EOS, 3)
    if name == "sample":  # XLA의 난수는 다르지만 되풀이하면 같습니다
        expected = decode(model, sources, BOS, EOS, 3)
    else:
        expected = decoders()[name](model, sources, BOS, EOS, 3)
    np.testing.assert_array_equal(compiled, expected)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_keeps_the_form(policy):
    model = make_model(dtype=policy, num_layers=1)
    for name, decode in decoders().items():
        ids = decode(model, [[3, 4, 5]], BOS, EOS, 3)
        assert ids.dtype == tf.int32 and len(answers(ids)[0]) <= 6, name


def test_one_graph_serves_every_batch_and_sees_new_weights():
    model = Transformer(make_model(num_layers=1).config)  # 아직 가중치가 없습니다
    seen = set()
    for seed, sources in enumerate(([[3]], [[3, 4], [5, PAD]], np.array([[4, 5, 3]]))):
        randomize(model, seed)
        for decode in decoders().values():
            seen.add(tuple(answers(decode(model, sources, BOS, EOS, 3))))
        sample(model, sources, BOS, EOS, 3, temperature=0.5 + seed, seed=seed)
    functions = vars(model)["_decoding_functions"]
    assert len(functions) == 3
    assert not any(jit_compile for _, jit_compile, *_ in functions)
    assert {f.experimental_get_tracing_count() for f in functions.values()} == {1}
    assert len(seen) > 3


@pytest.mark.parametrize("dtype", [tf.int32, tf.uint8])
def test_decoding_works_inside_a_graph(model, dtype):
    randomize(model, 2)
    source = tf.constant([[3, 4, 5]], dtype)
    eager = greedy(model, source, BOS, EOS, 3)
    inside = tf.function(lambda ids: greedy(model, ids, BOS, EOS, 3))(source)
    assert inside.shape[-1] in (None, 6) and tf.shape(inside)[1] == 6
    assert answers(inside) == answers(eager)


def test_graphs_disappear_with_the_model_and_are_not_saved(tmp_path):
    model = make_model(num_layers=1)
    expected = greedy(model, [[3, 4]], BOS, EOS, 3)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(greedy(loaded, [[3, 4]], BOS, EOS, 3), expected)
    remembered = weakref.ref(loaded)
    del loaded
    keras.backend.clear_session()
    gc.collect()
    assert remembered() is None


def test_dropout_is_off_and_vocabularies_may_differ():
    model = make_model(vocab_size=6, source_vocab_size=40, dropout=0.9, num_layers=1)
    first, second = (greedy(model, [[39, 20]], BOS, EOS, 5) for _ in range(2))
    np.testing.assert_array_equal(first, second)


# ---- 잘못된 인자


def test_learned_positions_must_reach_the_limit():
    model = make_model(positions="learned", max_length=10, num_layers=1)
    assert greedy(model, [[3, 4]], BOS, EOS, max_extra=8).shape[0] == 1
    with pytest.raises(ValueError, match="입력 2 .* max_extra 9.*max_length=10"):
        greedy(model, [[3, 4]], BOS, EOS, max_extra=9)


def test_ids_unknown_to_the_model_raise_inside_a_graph(model):
    inside = tf.function(lambda ids: greedy(model, ids, BOS, EOS, 3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="0부터 5까지"):
        inside(tf.constant([[9]]))


# ---- 글에서 글로

TEXTS = ["나는 책을 읽었다", "너는 어제 책을 샀다", "책을 읽었다"]


@pytest.fixture(scope="module")
def writer():
    tokenizer = Tokenizer.train(TEXTS, vocab_size=40)
    return make_model(vocab_size=tokenizer.vocab_size), tokenizer


@pytest.mark.parametrize("beam_size", [None, 3])
def test_texts_are_translated_as_their_ids_are(writer, beam_size):
    model, tokenizer = writer
    answers = translate(model, tokenizer, TEXTS, 4, beam_size)
    for text, answer in zip(TEXTS, answers, strict=True):
        ids = [tokenizer.encode(text, eos=True)]
        inputs = model, ids, tokenizer.bos_id, tokenizer.eos_id, 4
        if beam_size is None:
            (row,) = greedy(*inputs).numpy()
        else:
            (row,) = beam_search(*inputs, beam_size=beam_size)[0].numpy()
        assert answer.text == tokenizer.decode(row)
        assert answer.finished == (tokenizer.eos_id in row)
        np.testing.assert_array_equal(answer.ids, row[row != 0])
    assert {type(answer.finished) for answer in answers} == {bool}


def test_an_answer_cut_at_the_limit_is_not_finished(writer):
    model, tokenizer = writer
    stubborn = make_model(vocab_size=tokenizer.vocab_size, num_layers=1)
    stubborn.linear_softmax.call = lambda x: tf.one_hot(
        tf.fill(tf.shape(x)[:2], 5), tokenizer.vocab_size
    )
    (answer,) = translate(stubborn, tokenizer, TEXTS[:1], 1)
    assert not answer.finished and answer.text
    assert translate(model, tokenizer, []) == []


def test_an_empty_text_is_refused_with_its_place(writer):
    with pytest.raises(ValueError, match="1번째의 빈 글"):
        translate(*writer, ["책을", ""])


@pytest.mark.parametrize("decode", [greedy, beam_search, sample])
def test_inputs_that_would_give_a_plausible_answer_are_refused(model, decode):
    for arguments, kind, name in (
        ({"source_ids": [[1.0]]}, TypeError, "source_ids"),
        ({"source_ids": [3, 4]}, ValueError, "source_ids"),
        ({"source_ids": [[6]]}, ValueError, "source_ids"),
        ({"source_ids": [[3, -1]]}, ValueError, "source_ids"),
        ({"bos_id": 6}, ValueError, "bos_id"),
        ({"bos_id": 0}, ValueError, "bos_id"),
        ({"bos_id": 1.0}, TypeError, "integer"),
        ({"eos_id": -1}, ValueError, "eos_id"),
        ({"max_extra": -1}, ValueError, "max_extra"),
    ):
        given = {"source_ids": [[3]], "bos_id": BOS, "eos_id": EOS} | arguments
        with pytest.raises(kind, match=name):
            decode(model, **given)


@pytest.mark.parametrize("decode", [greedy, beam_search, sample])
def test_an_integer_of_numpy_is_an_integer(decode):
    model = make_model()
    numbers = {"bos_id": BOS, "eos_id": EOS, "max_extra": 2}
    if decode is sample:
        numbers |= {"top_k": 3, "seed": 5}
    found, expected = (
        decode(model, [[3]], **{name: kind(n) for name, n in numbers.items()})
        for kind in (np.int64, int)
    )
    tf.nest.map_structure(np.testing.assert_array_equal, found, expected)


def test_options_that_would_give_a_plausible_answer_are_refused(model):
    for decode, options, name in (
        (beam_search, {"length_penalty": -0.1}, "length_penalty"),
        (beam_search, {"beam_size": 0}, "beam_size"),
        (sample, {"temperature": 0}, "temperature"),
        (sample, {"temperature": float("nan")}, "temperature"),
        (sample, {"top_k": 0}, "top_k"),
        (sample, {"top_k": 7}, "top_k"),
        (sample, {"top_p": 0.0}, "top_p"),
        (sample, {"top_p": 1.1}, "top_p"),
    ):
        with pytest.raises(ValueError, match=name):
            decode(model, [[3]], BOS, EOS, **options)
