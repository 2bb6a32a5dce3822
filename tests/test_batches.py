"""배치가 지키는 약속."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import reversals

from transformer_notes.training.batches import Batches

lengths = st.lists(
    st.tuples(st.integers(1, 12), st.integers(2, 13)), min_size=1, max_size=40
)


@given(lengths, st.integers(12, 60), st.integers(0, 3), st.integers(0, 4))
def test_every_pair_once_an_epoch_within_the_budget(lengths, tokens, seed, epoch):
    # 짝마다 다른 번호를 주어 알아봅니다.
    pairs = [
        ([i + 4] * s, [2] + [i + 4] * (t - 2) + [3]) for i, (s, t) in enumerate(lengths)
    ]
    data, seen = Batches(pairs, tokens, seed), []
    produced = list(data.epoch(epoch))
    assert len(produced) == len(data)
    for (sources, targets), labels in produced:
        assert sources.size <= tokens and labels.size <= tokens
        assert sources.dtype == targets.dtype == labels.dtype == np.int32
        np.testing.assert_array_equal(targets[:, 1:], labels[:, :-1])  # 한 칸
        assert sources[:, -1].any() and labels[:, -1].any()  # 남는 열이 없습니다
        seen += [row[0] - 4 for row in sources]
    assert sorted(seen) == list(range(len(pairs)))


def test_order_depends_on_seed_and_epoch_only_and_any_step_can_be_first():
    pairs = reversals(100)
    data = Batches(pairs, 40, seed=1)
    firsts = [data.at(step)[0][0].tolist() for step in range(3 * len(data))]
    again = Batches(pairs, 40, seed=1)
    for step in (3 * len(data) - 1, 0, len(data), 1):  # 아무 차례로나
        assert again.at(step)[0][0].tolist() == firsts[step]
    epochs = [firsts[i : i + len(data)] for i in range(0, len(firsts), len(data))]
    assert epochs[0] != epochs[1] != epochs[2]
    assert Batches(pairs, 40, seed=2).at(0)[0][0].tolist() != firsts[0]


def test_the_pairs_of_a_batch_are_those_that_shuffle_names():
    pairs = reversals(50)
    data = Batches(pairs, 40, seed=1)
    for epoch in (0, 2):
        groups = data.shuffle(epoch)
        assert sorted(np.concatenate(groups)) == list(range(len(pairs)))
        for rows, ((sources, _), _) in zip(groups, data.epoch(epoch), strict=True):
            assert [row[row > 0].tolist() for row in sources] == [
                pairs[place][0].tolist() for place in rows
            ]


def test_nothing_given_means_seed_zero_padding_zero_and_the_first_epoch():
    pairs = reversals(50)
    data, explicit = Batches(pairs, 40), Batches(pairs, 40, seed=0, pad_id=0)
    assert data.fingerprint() == explicit.fingerprint()
    assert list(map(str, data.epoch())) == list(map(str, explicit.epoch(0)))
    padded = Batches([([5, 6], [2, 7, 3]), ([8], [2, 3])], 40, pad_id=1)
    assert padded.at(0)[0][0].min() == 1
    assert Batches(pairs, 40, pad_id=1).fingerprint() != data.fingerprint()


def test_batches_waste_little_on_padding():
    data = Batches(reversals(400, longest=30), 300)
    cells = [labels.size for _, labels in data.epoch()]
    real = [np.count_nonzero(labels) for _, labels in data.epoch()]
    assert sum(real) / sum(cells) > 0.95
    assert len(data) < 1.1 * sum(real) / 300 + 1


def test_trailing_padding_of_a_pair_is_dropped():
    data = Batches([([5, 6, 0, 0], [2, 7, 3, 0])], 10)
    (sources, targets), labels = data.at(0)
    assert (sources.tolist(), targets.tolist(), labels.tolist()) == (
        [[5, 6]],
        [[2, 7]],
        [[7, 3]],
    )


@pytest.mark.parametrize(
    "pairs, options, error, message",
    [
        ([([5], [2, 3]), ([], [2, 3])], {}, ValueError, "1번째의 0개와 2개"),
        ([], {}, ValueError, "하나 이상"),
        ([([5], [2])], {}, ValueError, "0번째의 1개와 1개"),
        ([([5] * 11, [2, 3])], {}, ValueError, "0번째 짝의 길이 11"),
        ([([5.0], [2, 3])], {}, TypeError, "float64"),
        ([([[5]], [2, 3])], {}, TypeError, "1차원"),
        ([([5], [2, 3])], {"tokens": 0}, ValueError, "tokens"),
    ],
)
def test_wrong_data_is_explained(pairs, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        Batches(pairs, **{"tokens": 10, **options})
