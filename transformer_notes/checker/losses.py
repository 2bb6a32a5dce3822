"""손실과 정확도: 진짜 토큰만 세는지.

- `loss(labels, logits)`: 정수 (batch, length)와 실수 (batch, length, vocab)을 받아
  스칼라를 돌려줍니다. 패딩의 번호는 0입니다.
- `accuracy(labels, logits)`: 같은 것을 받아 스칼라를 돌려줍니다.
"""

import itertools
from typing import NamedTuple

import numpy as np

from transformer_notes.checker import names
from transformer_notes.checker.kinds import Case, Kind, Misfit, changed, to_array
from transformer_notes.checker.messages import Example

SMOOTHING = 0.1
#: 레이블 스무딩에서 ε을 나누는 방식. 앞의 둘은 패딩에 주지 않습니다.
HONEST = ("others", "all")
#: 확률이 0인 패딩의 로짓. float16에도 담깁니다.
NEVER = -1e4


def log_softmax(z):
    """마지막 축의 로그 소프트맥스. float64."""
    z = np.asarray(z, np.float64)
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def targets(labels, vocab_size, smoothing, sharing):
    """목표 분포 q. float64 (batch, length, vocab)."""
    hot = np.eye(vocab_size)[labels]
    allowed = np.ones(vocab_size)
    if not sharing.endswith("+pad"):
        allowed[0] = 0
    count = allowed.sum()
    if sharing.startswith("others"):
        allowed, count = allowed * (1 - hot), count - 1
    return (1 - smoothing) * hot + smoothing * allowed / max(count, 1)


def loss(labels, logits, switches=frozenset(), smoothing=0.0, sharing="others"):
    """기준 손실. float64.

    Args:
        labels: 정수 (batch, length).
        logits: 실수 (batch, length, vocab).
        switches: 켤 실수. `Loss.switches` 가운데 몇.
        smoothing: 레이블 스무딩의 ε.
        sharing: ε을 나누는 방식.
    """
    z = np.exp(log_softmax(logits)) if "29" in switches else logits
    for rule in HONEST:
        if f"33 {rule}" in switches:
            sharing = f"{rule}+pad"
    q = targets(labels, np.shape(logits)[-1], smoothing, sharing)
    if "30 sum zero" in switches:
        q[..., 0] = 0  # 정답이 패딩이어도 패딩의 몫은 없습니다
    return average(-(q * log_softmax(z)).sum(-1), labels, switches)


def average(each, labels, switches=frozenset()):
    """토큰마다의 값을 평균합니다. 30은 패딩까지 세거나, 나누는 수에만 넣습니다."""
    real = labels != 0
    summed = {"30 sum", "30 sum zero"} & switches
    counted = np.ones_like(real) if summed else real
    over_all = summed or "30 divide" in switches
    if "46" in switches:  # 문장마다 평균한 다음 다시 평균합니다
        sums = (each * counted).sum(-1)
        return (sums / (real.shape[-1] if over_all else real.sum(-1))).mean()
    return (each * counted).sum() / (real.size if over_all else real.sum())


class Rule(NamedTuple):
    """손실의 레이블 스무딩을 읽는 한 가지 방법."""

    #: None이면 후보의 인자를 따르고, 아니면 정해진 값입니다.
    smoothing: float | None
    sharing: str
    #: 크로스 엔트로피가 아니라 KL 발산인지.
    divergence: bool
    #: 스무딩을 받는 인자가 후보에게 있는지.
    smooths: bool

    @property
    def wrong(self):
        if not self.divergence:
            return ""
        return (
            "크로스 엔트로피가 아니라 KL 발산입니다. 목표 분포의 엔트로피만큼 작고, "
            "기울기는 같습니다."
        )


class _Averaged(Kind):
    """손실과 정확도가 함께 쓰는 것."""

    arguments = (names.LABELS, names.LOGITS)
    shapes = {
        "labels": "정수, (batch, length), 패딩은 0",
        "logits": "(batch, length, vocab_size)",
    }
    returns = "스칼라"

    def arrange(self, case, style, mask_true):
        return case.inputs["labels"], case.inputs["logits"]

    def read(self, raw, case):
        array = to_array(raw[0] if isinstance(raw, tuple) and raw else raw)
        if array.size != 1:
            raise Misfit(f"스칼라를 돌려주어야 합니다. 나온 모양: {array.shape}")
        return array.reshape(())

    def properties(self, trial):
        changes = {
            "패딩 자리의 로짓이 결과를 바꿉니다.": _other_padding,
            "패딩을 더 붙이면 결과가 달라집니다.": _longer,
            "한 자리의 로짓에 같은 수를 더하면 결과가 달라집니다.": _shifted,
            "문장의 순서가 결과를 바꿉니다.": _reversed,
        }
        for sentence, change in changes.items():
            for case, outcome in trial.groups[0].pairs():
                labels, logits, *_ = case.inputs.values()
                labels, logits = change(labels, logits)
                other = changed(case, labels=labels, logits=logits)
                found = trial.call(other).value
                if found is None or self.forgives(case):
                    continue
                if np.allclose(found, outcome.value, rtol=1e-3):
                    continue
                yield sentence, Example(other.inputs, outcome.value, found)
        for case, outcome in trial.groups[0].pairs():
            reading = trial.groups[0].readings[0]
            if self.forgives(case):
                continue
            if not self.agrees(outcome, case, frozenset(), reading):
                sentence = "진짜 토큰마다 같은 몫으로 평균한 값이 아닙니다."
                yield sentence, self.compared(case, outcome, reading)


def _other_padding(labels, logits):
    return labels, np.where((labels == 0)[..., np.newaxis], logits[..., ::-1], logits)


def _longer(labels, logits):
    more = [(0, 0), (0, 2)]
    return np.pad(labels, more), np.pad(logits, [*more, (0, 0)], mode="edge")


def _shifted(labels, logits):
    place = np.arange(logits.shape[1])[:, np.newaxis]
    return labels, (logits + place + 1).astype(logits.dtype)


def _reversed(labels, logits):
    return labels[::-1].copy(), logits[::-1].copy()


class Loss(_Averaged):
    """`loss(labels, logits)`: 진짜 토큰으로 평균한 크로스 엔트로피.

    `label_smoothing`이라는 인자가 있으면 0과 0.1을 넣어 봅니다. 없으면 스무딩이 없거나
    0.1로 정해진 것으로 봅니다. 나눈 몫은 정답을 빼고 나누어도, 넣고 나누어도 맞습니다.
    """

    name = "loss"
    title = "손실"
    switches = (
        *("29", "30 sum", "30 sum zero", "30 divide"),
        *("33 others", "33 all", "33 nan", "46"),
    )

    def cases(self, rng, size):
        for smoothing in (0.0, SMOOTHING):
            for case in _batches(rng):
                yield Case({**case.inputs, "label_smoothing": smoothing}, case.batch)
        yield _never(rng)

    def options(self, names, case):
        smoothing = case.inputs["label_smoothing"]
        return {name: smoothing for name in names if name == "label_smoothing"}

    def readings(self, group):
        fixed = (None,) if "label_smoothing" in group.names else (0.0, SMOOTHING)
        smooths = any("smooth" in name.lower() for name in group.names)
        ways = itertools.product(fixed, HONEST, (False, True))
        return [Rule(*way, smooths) for way in ways]

    def forgives(self, case):
        return case.inputs["logits"].min() == NEVER

    def reference(self, case, switches=frozenset(), reading=None):
        smoothing = self._smoothing(case, reading)
        labels, logits = case.inputs["labels"], case.inputs["logits"]
        value = loss(labels, logits, switches, smoothing, reading.sharing)
        if reading.divergence:
            q = targets(labels, logits.shape[-1], smoothing, reading.sharing)
            entropy = -(q * np.log(np.where(q > 0, q, 1))).sum(-1)
            value = value - average(entropy, labels, switches)
        return value

    def agrees(self, outcome, case, switches, reading):
        if self.forgives(case):  # 0 · log 0을 보는 사례
            if not self._smoothing(case, reading):
                return True  # 스무딩이 없으면 로그를 어떻게 구하든 봐줍니다
            if any(switch.startswith("33") for switch in switches):
                return True
        if "33 nan" in switches and reading.smooths:
            if outcome.value is not None and np.isnan(outcome.value):
                return True  # 어디서나 0 · log 0을 계산합니다
        return super().agrees(outcome, case, switches, reading)

    def _smoothing(self, case, reading):
        fixed = reading.smoothing
        return case.inputs["label_smoothing"] if fixed is None else fixed


class Accuracy(_Averaged):
    """`accuracy(labels, logits)`: 점수가 가장 높은 토큰이 정답인 비율."""

    name = "accuracy"
    title = "정확도"
    switches = ("30 sum", "30 divide", "46")

    def cases(self, rng, size):
        return _batches(rng)

    def reference(self, case, switches=frozenset(), reading=None):
        labels, logits = case.inputs["labels"], case.inputs["logits"]
        return average(np.argmax(logits, -1) == labels, labels, switches)


def _batches(rng):
    """패딩이 있는 배치들. 첫 사례의 패딩 자리는 틀리고, 진짜 자리는 맞습니다."""
    yield _case([[2, 0]], [[[0.5, 1.0, 2.0], [0.5, 1.0, 2.0]]])
    for batch, length, vocab in ((1, 3, 4), (1, 5, 6), (2, 4, 5), (4, 6, 7), (3, 1, 5)):
        labels = rng.integers(1, vocab, (batch, length))
        for row, count in enumerate(rng.integers(1, length + 1, batch)):
            labels[row, count:] = 0
        yield _case(labels, rng.normal(size=(batch, length, vocab)) * 2)


def _never(rng):
    case = _case([[2, 1, 0]], rng.normal(size=(1, 3, 4)))
    case.inputs["logits"][..., 0] = NEVER
    return Case({**case.inputs, "label_smoothing": SMOOTHING}, case.batch)


def _case(labels, logits):
    labels = np.array(labels, np.int64)
    logits = np.array(logits, np.float32)
    return Case({"labels": labels, "logits": logits}, len(labels))
