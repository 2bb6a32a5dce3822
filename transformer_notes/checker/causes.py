"""아는 실수가 아닐 때, 값이 어긋난 까닭을 짚습니다."""

import math

import numpy as np

from transformer_notes.checker.kinds import changed
from transformer_notes.checker.messages import Example
from transformer_notes.checker.tensors import SINGLE, close

#: 이보다 많은 읽기는 배수와 차이를 보지 않습니다.
MOST_READINGS = 64
#: NumPy가 알려 주는 첫 사고를 우리말로. 앞의 것부터 찾습니다.
ACCIDENTS = (
    ("overflow", "수가 너무 커서 넘칩니다 (overflow)"),
    ("divide by zero encountered in log", "0의 로그를 구합니다"),
    ("divide by zero", "0으로 나눕니다"),
    ("encountered in log", "음수의 로그를 구합니다"),
    ("encountered in sqrt", "음수의 제곱근을 구합니다"),
    ("encountered in multiply", "0에 무한대를 곱합니다 (0 · ∞)"),
    ("encountered in matmul", "0에 무한대를 곱하거나 무한대끼리 뺍니다"),
    ("encountered in subtract", "무한대에서 무한대를 뺍니다 (∞ - ∞)"),
    ("encountered in divide", "0을 0으로, 또는 무한대를 무한대로 나눕니다"),
)
KNOWN_FACTORS = {
    1 / math.log(2): "로그의 밑이 e가 아니라 2입니다.",
    1 / math.log(10): "로그의 밑이 e가 아니라 10입니다.",
    100.0: "비율이 아니라 백분율입니다.",
    -1.0: "부호가 반대입니다.",
}


def causes(trial):
    """값이 어긋난 까닭의 (문장, `Example`)를 냅니다."""
    yield from _random(trial)
    yield from _not_a_number(trial)
    yield from _factor_or_offset(trial)


def _random(trial):
    """같은 것을 두 번 넣어 다른 값이 나오면, 다른 성질은 뜻이 없습니다."""
    case, outcome = next(trial.groups[0].pairs())
    again = trial.call(case).value
    if again is not None and not close(again, outcome.value):
        yield (
            "같은 것을 두 번 넣었는데 값이 다릅니다. 가중치는 만들 때 정하세요.",
            Example(case.inputs, outcome.value, again, wanted="처음 나온 값"),
        )


def _not_a_number(trial):
    """기준에는 없는 NaN이나 무한대가 나오면, 무엇을 계산하다 나왔는지 봅니다."""
    for group in trial.groups:
        for case, outcome in group.pairs():
            value = outcome.value
            if np.isfinite(value).all() or trial.kind.forgives(case):
                continue
            example = Example(case.inputs, given=value)
            yield f"NaN이나 무한대가 나옵니다. {_accident(trial, case, group)}", example
            return


def _accident(trial, case, group):
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        failure = trial.call(case, group).failure
    if failure and failure.text.startswith("FloatingPointError"):
        for sign, sentence in ACCIDENTS:
            if sign in failure.text:
                return f"처음 걸린 곳에서 {sentence}. {failure.place}"
    small = {
        name: value * np.float32(1e-3)
        for name, value in case.inputs.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    }
    shrunk = trial.call(changed(case, **small), group).value
    if shrunk is not None and np.isfinite(shrunk).all():
        return "입력을 천분의 일로 줄이면 나오지 않습니다. 수가 넘치는지 보세요."
    return "0 · ∞, ∞ - ∞, 0 / 0 가운데 하나를 계산하고 있습니다."


def _factor_or_offset(trial):
    """모든 사례에서 기준의 같은 배수이거나, 기준과 같은 만큼 다르면 그렇게 말합니다."""
    kind = trial.kind
    counts = {len(group.readings) for group in trial.groups}
    if len(counts) > 1 or not 0 < max(counts) <= MOST_READINGS:
        return
    for readings in zip(*(group.readings for group in trial.groups)):
        given, expected, first = [], [], None
        for group, reading in zip(trial.groups, readings):
            for case, outcome in group.pairs():
                if kind.forgives(case):
                    continue
                if outcome.value.dtype.kind != "f":
                    return
                value = np.ravel(kind.reference(case, frozenset(), reading))
                if value.size == np.size(outcome.value):
                    given.append(np.ravel(outcome.value))
                    expected.append(value)
                    first = first or kind.compared(case, outcome, reading)
        if sum(map(len, given)) < 3:
            continue
        given, expected = np.concatenate(given), np.concatenate(expected)
        if np.isfinite(given).all() and (why := _relation(given, expected)):
            yield why, first
            return


def _relation(given, expected):
    """배수이거나 같은 만큼 다르면 그 문장입니다. 아니면 비어 있습니다."""
    if not expected.any() or not given.any():
        return ""
    factor = float(given @ expected / (expected @ expected))
    if close(given, factor * expected, SINGLE):
        known = [s for f, s in KNOWN_FACTORS.items() if np.isclose(f, factor, 1e-3)]
        return " ".join([f"값이 언제나 나와야 할 값의 {factor:.4g}배입니다.", *known])
    offset = float((given - expected).mean())
    if close(given - expected, np.full_like(given, offset), 1e-3):
        side = "큽니다" if offset > 0 else "작습니다"
        return f"값이 언제나 나와야 할 값보다 {abs(offset):.4g}만큼 {side}."
    return ""
