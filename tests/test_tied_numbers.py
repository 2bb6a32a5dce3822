"""글에 묶은 수: 적힌 자릿수까지 맞으면 받아들이고, 한 자리만 달라도 알아차린다."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tied_numbers import agrees, find

VALUES = st.floats(-1e6, 1e6)


@given(VALUES, st.integers(0, 4), st.sampled_from([1, -1]))
def test_a_number_is_its_value_to_its_last_digit(value, decimals, step):
    assert agrees(f"{value:,.{decimals}f}", value)
    other = round(value, decimals) + step * 10**-decimals
    assume(abs(other - value) > 0.51 * 10**-decimals)  # 한가운데이면 둘 다 맞습니다
    assert not agrees(f"{other:.{decimals}f}", value)


@given(st.floats(0, 1), st.integers(0, 2), st.sampled_from([1, -1]))
def test_a_percentage_is_of_a_share(value, decimals, step):
    assert agrees(f"{value:.{decimals}%}", value)
    last = 10 ** -(decimals + 2)
    other = round(value, decimals + 2) + step * last
    assume(abs(other - value) > 0.51 * last)
    assert not agrees(f"{other:.{decimals}%}", value)


@pytest.mark.parametrize(
    "word, right, wrong", [("두", 2.3, 2.6), ("열", 9.6, 9.4), ("반", 0.6, 0.8)]
)
def test_a_word_is_a_whole_number(word, right, wrong):
    assert agrees(word, right) and not agrees(word, wrong)


@given(st.lists(VALUES, min_size=2, max_size=4), st.integers(0, 2))
def test_a_vector_is_its_components(values, decimals):
    parts = [f"{value:,.{decimals}f}" for value in values]
    written = f"({', '.join(parts)})"
    assert agrees(written, values)
    assert not agrees(written, values[:-1])
    assert not agrees(written, [*values[:-1], values[-1] + 2 * 10**-decimals])


def test_what_is_tied_is_found():
    text = "정답률 {n}`97% = right.mean()`, 곧 {n}`두 = a['b']`배, `{n}`과 {n}`1`"
    found = [(written, expression) for _, written, expression in find(text)]
    assert found == [("97%", "right.mean()"), ("두", "a['b']")]
