"""학습률 스케줄을 봅니다.

`schedule(step)`이 학습률을 냅니다. `(d_model, warmup_steps)`로 만드는 클래스나 함수,
이미 만든 것, `schedule(step, d_model, warmup_steps)`를 모두 받습니다. 이미 만든 것이면
두 수를 기울기에서 읽습니다. 스텝을 0부터 세어 1을 더하는 것도 맞습니다.
"""

import numpy as np

from transformer_notes.checker import names
from transformer_notes.checker.candidates import match, parameters
from transformer_notes.checker.kinds import Case, Kind, Misfit, to_array
from transformer_notes.checker.messages import Example
from transformer_notes.checker.tensors import loaded, to_numpy

FAR = 1e8


class Schedule(Kind):
    """`schedule(step)`은 스칼라를 냅니다."""

    name = "schedule"
    title = "학습률 스케줄"
    arguments = (names.STEP, names.D_MODEL, names.WARMUP)
    factory = (names.D_MODEL, names.WARMUP)
    shapes = {"step": "0 이상의 정수나 실수"}
    returns = "스칼라"
    sizes = ((4, 10), (512, 4000))
    switches = ("34",)

    #: 정수를 텐서로 넣으면 파이썬의 정수에서 나는 오류가 보이지 않습니다.
    first_style = True

    def sizes_of(self, built):
        takes = [parameter.name for parameter in parameters(built)]
        if match(takes, (names.D_MODEL,)) or match(takes, (names.WARMUP,)):
            return self.sizes  # 두 수를 부를 때 주므로 모두 넣어 봅니다
        return _fitted(built) or self.sizes[:1]

    def cases(self, rng, size):
        d_model, warmup = size
        warmup_ends = round(warmup)
        steps = {1, 2, *(max(int(warmup_ends * k), 1) for k in (0.5, 1, 3, 100))}
        for step in (*map(float, sorted(steps)), *sorted(steps), 0, 0.0):
            yield Case({"step": step, "d_model": d_model, "warmup_steps": warmup})

    def styles(self):
        return ("scalar", "tensor")

    def arrange(self, case, style, mask_true):
        step, *rest = case.inputs.values()
        if style == "tensor":
            kind = np.float32 if isinstance(step, float) else np.int64
            step = np.array(step, kind)
        return step, *rest

    def options(self, names, case):
        return {name: 1.0 for name in names if name == "factor"}

    def read(self, raw, case):
        array = to_array(raw)
        if array.size != 1:
            raise Misfit(f"스칼라를 돌려주어야 합니다. 나온 모양: {array.shape}")
        return array.reshape(())

    def forgives(self, case):
        return not case.inputs["step"]

    def readings(self, group):
        return 0, 1  # 스텝에 더하는 수

    def reference(self, case, switches=frozenset(), reading=0):
        step, d_model, warmup = case.inputs.values()
        return rate(max(step + reading, 1), d_model, warmup)

    def agrees(self, outcome, case, switches, reading):
        step, value = case.inputs["step"], outcome.value
        if switches and (not isinstance(step, float) or step == 0):
            return True  # 0과 정수에서는 무엇이 나와도 실수 34입니다
        if step == 0:
            most = self.reference(case, frozenset(), reading)
            return value is not None and bool(0 <= value <= most * 1.001)
        return super().agrees(outcome, case, switches, reading)

    def symptoms(self, trial):
        keras = loaded("keras")
        base = keras and keras.optimizers.schedules.LearningRateSchedule
        for group in trial.groups if base else ():
            if isinstance(group.built, base):
                yield from _in_keras(group.built)

    def properties(self, trial):
        for group in trial.groups:
            reading = group.readings[0]
            for case, outcome in group.pairs():
                if self.agrees(outcome, case, frozenset(), reading):
                    continue
                step, _, warmup = case.inputs.values()
                rising, falling = "에 비례해 오르지", "의 제곱근에 반비례해 내리지"
                how = rising if step <= warmup else falling
                expected = self.reference(case, frozenset(), reading)
                sentence = f"d_model^-0.5의 크기로 스텝{how} 않습니다."
                yield sentence, Example(case.inputs, expected, outcome.value)


def rate(step, d_model, warmup):
    """식 (3)의 학습률. float64."""
    return float(d_model) ** -0.5 * min(
        float(step) ** -0.5, step * float(warmup) ** -1.5
    )


def _fitted(built):
    """만들어진 스케줄의 기울기에서 (d_model, 웜업) 하나를 읽습니다."""
    try:
        slope, two, far = (float(to_numpy(built(step))) for step in (1.0, 2.0, FAR))
    except Exception:  # 인자가 더 있거나 텐서만 받습니다
        return ()
    if not np.isfinite([slope, two, far]).all() or min(slope, far) <= 0:
        return ()
    if np.isclose(two, 1.5 * slope, rtol=1e-3):  # 스텝에 1을 더합니다
        slope = slope / 2
    scale = far * FAR**0.5
    return ((_whole(scale**-2), _whole((scale / slope) ** (2 / 3))),)


def _whole(value):
    near = round(value)
    return near if near and abs(value - near) < 1e-3 * near else value


def _in_keras(schedule):
    """옵티마이저는 정수 텐서를 넘기고, 저장은 설정에 텐서가 없어야 합니다."""
    tf = loaded("tensorflow")
    try:
        config = schedule.get_config()
    except Exception:  # 설정이 없는 것은 다른 실수입니다
        config = {}
    tensors = tf.Tensor, tf.Variable
    if held := {k: v for k, v in config.items() if isinstance(v, tensors)}:
        yield 34, Example({"get_config()": list(config)}, "수", f"텐서: {held}")
    step = tf.constant(3, tf.int64)
    try:
        given, expected = float(schedule(step)), float(schedule(tf.constant(3.0)))
    except Exception as error:
        given, expected = f"{type(error).__name__}: {error}", "학습률"
    else:
        if np.isclose(given, expected, rtol=1e-3):
            return
    yield 34, Example({"step": "정수 텐서 3"}, expected, given)
