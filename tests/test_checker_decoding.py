"""그리디와 빔 탐색의 검사: 배우는 이가 쓰는 대로 쓴 후보들."""

import itertools

import numpy as np
import pytest

from transformer_notes.checker import check
from transformer_notes.checker.decoding import answer_of, tokens_of
from transformer_notes.checker.oracles import (
    BOS,
    EOS,
    FORK,
    GROWTH,
    LENGTHS,
    LONG,
    SHORT,
    Oracle,
    log_probabilities,
    total,
)


def log_softmax(z):
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def greedy(whole=True):
    def decode(next_logits, bos, eos, max_length):
        ids = [bos]
        for _ in range(max_length):
            given = ids if whole else ids[-1:]
            ids.append(int(next_logits(np.array([given]))[0].argmax()))
            if ids[-1] == eos:
                break
        return ids

    return decode


def cached_greedy(wrong=()):
    def decode(model, start, end, max_len):
        out, cache, last = [], model.start(1), start
        for step in range(max_len):
            position = 0 if 19 in wrong else step
            logits, new = model.step(np.array([[last]]), position, cache)
            cache = cache if 36 in wrong else new
            last = int(np.argmax(logits[0]))
            out.append(last)
            if last == end:
                return out
        return out

    return decode


def beams(wrong=(), length=lambda n: ((5 + n) / 6) ** 0.6, early=False):
    """끝난 답을 따로 모으고, 살아 있는 빔을 합으로 견주는 빔 탐색입니다."""

    def search(next_logits, bos, eos, max_length, beam_size):
        alive, done = [((bos,), 0.0)], []
        for _ in range(max_length):
            grown = []
            for ids, score in alive:
                given = ids[-1:] if 19 in wrong else ids
                log_p = log_softmax(next_logits(np.array([given])))[0]
                for token in np.argsort(-log_p)[: 2 * beam_size]:
                    grown.append(((*ids, int(token)), score + log_p[token]))
            grown.sort(key=lambda beam: -beam[1])
            alive = []
            for beam in grown:
                if beam[0][-1] == eos and "grow" not in wrong:
                    done.append(beam)
                elif len(alive) < beam_size:
                    alive.append(beam)
            if early and len(done) >= beam_size:
                break
        one = (lambda n: 1) if 35 in wrong else length
        best = max(done or alive, key=lambda beam: beam[1] / one(len(beam[0]) - 1))
        return list(best[0])

    return search


def pooled_beams(normalised):
    """끝난 답도 빔의 자리를 차지하는 빔 탐색입니다. 이 책의 것이 이렇습니다."""

    def search(next_logits, bos, eos, max_length, beam_size, alpha=0.0):
        def score(beam):
            return beam[1] / ((5 + len(beam[0]) - 1) / 6) ** alpha

        pool = [((bos,), 0.0)]
        for _ in range(max_length):
            grown = []
            for ids, logs in pool:
                if ids[-1] == eos:
                    grown.append((ids, logs))
                    continue
                log_p = log_softmax(next_logits(np.array([ids])))[0]
                grown += [((*ids, t), logs + p) for t, p in enumerate(log_p)]
            by = score if normalised else (lambda beam: beam[1])
            pool = sorted(grown, key=by, reverse=True)[:beam_size]
            if all(ids[-1] == eos for ids, _ in pool):
                break
        ids, _ = max(pool, key=score)
        return np.array([ids]), score((ids, 0.0))

    return search


def cached_beams(wrong=()):
    def search(model, bos, eos, max_length, beam_size):
        ids = np.full((beam_size, 1), bos)
        logs = np.where(np.arange(beam_size) == 0, 0.0, -1e9)
        cache, done = model.start(beam_size), []
        for step in range(max_length):
            position = 0 if 19 in wrong else step
            logits, cache = model.step(ids[:, -1:], position, cache)
            scores = (logs[:, np.newaxis] + log_softmax(logits)).ravel()
            kept = []
            for place in np.argsort(-scores)[: 2 * beam_size]:
                parent, token = divmod(int(place), logits.shape[1])
                if token == eos:
                    length = 1 if 35 in wrong else ((6 + step) / 6) ** 0.6
                    row = [*ids[parent, 1:], eos]
                    done.append((scores[place] / length, row))
                elif len(kept) < beam_size:
                    kept.append((parent, token, scores[place]))
            parents = [parent for parent, _, _ in kept]
            new = np.array([[token] for _, token, _ in kept])
            ids = np.concatenate([ids[parents], new], axis=1)
            logs = np.array([score for *_, score in kept])
            if 36 not in wrong:
                cache = cache[parents]
        return max(done, default=(0, [eos]))[1]

    return search


SOME = [
    set(some)
    for size in range(4)
    for some in itertools.combinations((19, 35, 36), size)
]


@pytest.mark.parametrize("wrong", [some for some in SOME if 35 not in some], ids=str)
def test_greedy_with_a_cache_is_told_what_is_wrong(wrong):
    report = check(cached_greedy(wrong), "greedy")
    assert report.mistakes == tuple(sorted(wrong)), str(report)
    assert report.passed == (not wrong)


@pytest.mark.parametrize("wrong", SOME, ids=str)
def test_beam_search_with_a_cache_is_told_what_is_wrong(wrong):
    report = check(cached_beams(wrong), "beam_search")
    assert report.mistakes == tuple(sorted(wrong)), str(report)
    assert report.passed == (not wrong)


@pytest.mark.parametrize("wrong", [(), (19,), (35,), (19, 35)], ids=str)
def test_beam_search_without_a_cache_is_told_what_is_wrong(wrong):
    assert check(beams(wrong), "beam_search").mistakes == wrong


@pytest.mark.parametrize(
    "right",
    [
        greedy(),
        lambda next_logits, bos, eos, n: greedy()(next_logits, bos, eos, n)[1:],
        lambda f, b, e, n: greedy()(f, b, e, n - 1),
        lambda f, b, e, n: [t for t in greedy()(f, b, e, n) if t not in (b, e)],
        lambda f, b, e, n: np.array([greedy()(f, b, e, n) + [0, 0]]),
    ],
)
def test_honest_greedy_passes(right):
    report = check(right, "greedy")
    assert report.passed, str(report)


@pytest.mark.parametrize(
    "right",
    [
        beams(early=True),
        beams(length=lambda n: n),
        beams(length=lambda n: n + 1),
        beams(length=lambda n: (n / 6 + 1) ** 0.6),
        pooled_beams(True),
        pooled_beams(False),
        lambda f, b, e, n, k: (beams()(f, b, e, n, k), -0.5),
        lambda f, b, e, n, k: (-0.5, beams()(f, b, e, n, k)),
    ],
)
def test_honest_beam_searches_pass(right):
    report = check(right, "beam_search")
    assert report.passed, str(report)


def test_greedy_that_feeds_only_the_last_token_keeps_it_at_position_zero():
    report = check(greedy(whole=False), "greedy")
    assert report.mistakes == (19,)
    assert "위치 [0]" in str(report)


def test_finished_beams_that_grow_are_named():
    assert check(beams({"grow"}), "beam_search").mistakes == (35,)


def test_sums_that_are_compared_are_shown_with_their_sums():
    report = check(beams({35}), "beam_search")
    assert report.example.expected == list(LONG)
    assert report.example.given == [BOS, *SHORT]
    assert "로그 확률의 합: -1.9" in str(report)


def second_best(next_logits, bos, eos, max_length):
    ids = [bos]
    while ids[-1] != eos and len(ids) < max_length:
        ids.append(int(np.argsort(next_logits(np.array([ids]))[0])[-2]))
    return ids


def deaf_to_the_end(next_logits, bos, eos, max_length):
    ids = [bos]
    for _ in range(max_length):
        ids.append(int(next_logits(np.array([ids]))[0].argmax()))
    return ids


def boundless(next_logits, bos, eos, max_length):
    return greedy()(next_logits, bos, eos, max_length + 1)


def shifted(model, bos, eos, max_length):
    cache, last, out = model.start(), bos, []
    for step in range(max_length):
        logits, cache = model.step([[last]], step + 1, cache)
        last = int(np.argmax(logits[0]))
        out.append(last)
        if last == eos:
            break
    return out


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (second_best, "점수가 가장 높은 토큰"),
        (deaf_to_the_end, "eos 뒤에도"),
        (boundless, "max_length"),
        (shifted, "위치가 어긋납니다"),
        (lambda f, b, e, n: "나는", "번호의 목록"),
    ],
)
def test_what_is_not_known_is_described_and_not_accused(wrong, sentence):
    report = check(wrong, "greedy")
    assert not report.passed and report.mistakes == ()
    assert sentence in str(report)


def test_one_beam_is_not_enough():
    report = check(lambda f, b, e, n, k: beams()(f, b, e, n, 1), "beam_search")
    assert not report.passed and report.mistakes == ()
    assert report.example.given == [BOS, 3, 5, EOS]


def test_an_exception_is_shown_at_its_line():
    def broken(next_logits, bos, eos, max_length):
        return next_logits(np.array([[bos]])).no_such_method()

    report = check(broken, "greedy")
    assert not report.passed and report.mistakes == ()
    assert "no_such_method()" in str(report)


def test_an_adapter_turns_the_arguments_round():
    def mine(eos, bos, limit, model):
        return greedy()(model, bos, eos, limit)

    def adapter(mine, next_logits, bos, eos, max_length):
        return mine(eos, bos, max_length, next_logits)

    assert check(mine, "greedy", adapter=adapter).passed


def test_reports_are_equal_run_for_run():
    first, second = (check(beams({19, 35}), "beam_search") for _ in range(2))
    assert str(first) == str(second)


# ---------------------------------------------------------------- 모델


def test_both_ways_into_the_model_give_equal_logits():
    oracle, ids = Oracle(FORK), np.array([[BOS, 4, 8], [BOS, 3, 6]])
    cache = oracle.start(2)
    for position in range(3):
        logits, cache = oracle.step(ids[:, position, np.newaxis], position, cache)
    assert np.array_equal(logits, oracle(ids))
    assert np.array_equal(oracle(ids[0]), oracle(ids)[0])


def test_logits_are_not_yet_log_probabilities():
    """로그 소프트맥스를 빠뜨린 빔 탐색이 우연히 맞지 않게 합니다."""
    logits = Oracle(FORK)(np.array([[BOS]]))[0]
    assert abs(np.exp(logits).sum() - 1) > 0.5
    assert np.allclose(log_softmax(logits), log_probabilities(FORK((BOS,), 0)), 1e-5)


@pytest.mark.parametrize("longer", [0, 1, 2])
@pytest.mark.parametrize(
    "length", [lambda n: ((5 + n) / 6) ** 0.6, lambda n: n, lambda n: n**0.6]
)
def test_every_honest_normalisation_prefers_the_same_answer(length, longer):
    """eos를 세든 안 세든, bos를 세든 안 세든 같은 답이 이깁니다."""
    for table, best, other in ((LENGTHS, LONG, SHORT), (GROWTH, SHORT, LONG)):
        scores = [
            total(table, answer) / length(len(answer) - 1 + longer)
            for answer in (best, other)
        ]
        assert scores[0] > scores[1] + 0.05
    assert total(LENGTHS, SHORT) > total(LENGTHS, LONG) + 0.3


@pytest.mark.parametrize(
    "output, tokens",
    [
        ([1, 5, 2], [1, 5, 2]),
        (np.array([[1, 5, 2], [1, 6, 2]]), [1, 5, 2]),
        (([5, 2], -0.3), [5, 2]),
        ([(-0.3, [5, 2]), (-0.9, [6, 2])], [5, 2]),
        ((np.array([[[5, 2]]]), np.array([[-0.5]])), [5, 2]),
        ([], []),
        (([-np.inf, -0.5], [5, 2]), [5, 2]),
        (np.array([5, np.inf]), None),
        (-0.5, None),
        ("글", None),
    ],
)
def test_answers_are_read_in_every_form(output, tokens):
    assert tokens_of(output) == tokens


@pytest.mark.parametrize(
    "tokens, read",
    [
        ([1, 5, 6, 2, 0, 0], ((5, 6), False)),
        ([5, 6], ((5, 6), False)),
        ([5, 2, 7], ((5,), True)),
        ([5, 0, 0], ((5,), False)),
    ],
)
def test_the_marks_are_not_part_of_the_answer(tokens, read):
    assert answer_of(tokens) == read
