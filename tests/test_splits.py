"""새는 것 없이 나눈다."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from transformer_notes.corpora import split_groups

ROOT = Path(__file__).resolve().parents[1]

keyed = st.lists(st.frozensets(st.integers(0, 30), max_size=3), min_size=2, max_size=60)
rates = st.floats(0.01, 0.99)
seeds = st.integers(0, 2**40)


def components(items):
    """서로 이어진 항목의 자리. 닿는 것을 하나씩 넓혀 갑니다."""
    left, found = set(range(len(items))), []
    while left:
        group, waiting = set(), [left.pop()]
        while waiting:
            place = waiting.pop()
            group.add(place)
            near = {other for other in left if items[other] & items[place]}
            left -= near
            waiting += near
        found.append(group)
    return found


def split(items, rate, seed):
    """자리를 붙여 나눕니다. 모두 떼어지는 나누기는 쓰지 않습니다."""
    try:
        return split_groups(enumerate(items), lambda item: item[1], rate, seed)
    except ValueError:
        assume(False)


@given(keyed, rates, seeds)
def test_no_key_is_on_both_sides_and_nothing_is_lost(items, rate, seed):
    kept, held_out = split(items, rate, seed)
    assert sorted(kept + held_out) == list(enumerate(items))
    assert kept == sorted(kept) and held_out == sorted(held_out)
    keys = [frozenset().union(*(keys for _, keys in side)) for side in (kept, held_out)]
    assert not keys[0] & keys[1]


@given(keyed, rates, seeds)
def test_groups_are_the_connected_components(items, rate, seed):
    _, held_out = split(items, rate, seed)
    places = {place for place, _ in held_out}
    for group in components(items):
        assert group <= places or not group & places


@given(keyed, rates, seeds)
def test_the_rate_is_reached_and_overshot_by_less_than_a_group(items, rate, seed):
    _, held_out = split(items, rate, seed)
    largest = max(map(len, components(items)))
    assert rate * len(items) <= len(held_out) < rate * len(items) + largest


@given(keyed, rates, seeds)
def test_the_same_seed_draws_the_same_and_leaves_other_generators_alone(
    items, rate, seed
):
    random.seed(1)
    state = random.getstate()
    assert split(items, rate, seed) == split(items, rate, seed)
    assert random.getstate() == state


def test_every_item_is_drawn_about_as_often():
    """묶음의 크기가 같으면 누구나 rate만큼 뽑힙니다."""
    counts = [0] * 20
    for seed in range(500):
        for item in split_groups(range(20), lambda item: [item], 0.25, seed)[1]:
            counts[item] += 1
    assert sum(counts) == 500 * 5
    assert all(85 < count < 170 for count in counts), counts


def test_the_split_is_the_same_everywhere():
    """값을 적어 둡니다. 다른 기계, 다른 파이썬에서도 같아야 합니다."""
    code = (
        "from transformer_notes.corpora import split_groups\n"
        "words = '가지 가방 나무 방석 다리 리본 석류 하늘 바다 구름'.split()\n"
        "print(split_groups(words, set, 0.3, 5))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env=os.environ
        | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        encoding="utf-8",
        check=True,
    )
    words = "가지 가방 나무 방석 다리 리본 석류 하늘 바다 구름".split()
    assert done.stdout.strip() == str(split_groups(words, set, 0.3, 5))
    assert split_groups(words, set, 0.3, 5)[1] == "가지 가방 방석 석류".split()


def test_wrong_arguments_are_refused_with_their_names():
    for items, keys, rate, seed, error, named in (
        ("ab", list, 1, 0, ValueError, "rate"),
        ("ab", str, 0.1, 0, TypeError, "keys.*'a'"),
        ("ab", lambda _: [1], 0.1, 0, ValueError, "items.*2개"),
        ("", list, 0.1, 0, ValueError, "items.*0개"),
    ):
        with pytest.raises(error, match=named):
            split_groups(items, keys, rate, seed)
