"""후보를 기준과 견주어 판정합니다."""

import dataclasses
import functools
import itertools

import numpy as np

from transformer_notes import _arguments
from transformer_notes.checker import messages, weights
from transformer_notes.checker.candidates import Candidate, failure_of, quiet
from transformer_notes.checker.causes import causes
from transformer_notes.checker.kinds import first, number
from transformer_notes.checker.messages import Example
from transformer_notes.checker.registry import KINDS
from transformer_notes.checker.tensors import loaded, to_backend, to_numpy

SEED = 2017
#: 배치를 받는 종류에는 모두 있는 실수: 배치의 크기가 굳습니다.
BATCH = 41
TOO_SMALL = (
    "가중치가 0이거나 너무 작아, 실수가 있어도 같은 값이 나옵니다. "
    "더 큰 수로 만들어 다시 확인하세요."
)


def check(candidate, what, *, mask_true="attend", adapter=None):
    """후보가 맞는지, 아니면 어느 실수인지 말합니다.

    Args:
        candidate: 함수, Keras의 층, PyTorch의 모듈, 또는 그것을 만드는 클래스나 함수.
            텐서는 NumPy, TensorFlow, PyTorch의 어느 것이어도 됩니다.
        what: 무엇으로 볼지. `KINDS`의 이름 가운데 하나입니다.
        mask_true: 후보의 마스크에서 참이 뜻하는 것, "attend"(봄)나 "hide"(가림).
        adapter: 부르는 방법이 다를 때, `adapter(후보, *우리의 인자)`로 부르는 함수.
            후보가 클래스이면 만든 것을 받습니다.

    Returns:
        `Report`. 판정, 실수의 번호, 가장 작은 예, 읽을 글이 있습니다. 판정은 넷입니다:
        맞음, 아는 실수, 다른 잘못, 그리고 **모름**. 값을 견주지 못하면 모르는 것입니다.

    Raises:
        ValueError: 모르는 `what`이나 `mask_true`.
        TypeError: 부를 수 없는 후보.

    Examples:
        >>> def mine(length):
        ...     return np.triu(np.ones((length, length)))
        >>> report = check(mine, "look_ahead_mask", mask_true="hide")
        >>> report.verdict, report.mistakes
        ('known', (1,))
    """
    _arguments.choice("what", what, KINDS)
    _arguments.choice("mask_true", mask_true, ("attend", "hide"))
    if not callable(candidate):
        raise TypeError(
            "candidate에는 부를 수 있는 것이 필요합니다. "
            f"받은 것: {type(candidate).__name__}."
        )
    with quiet():
        return _judge(Candidate(candidate, KINDS[what], mask_true, adapter))


class Group:
    """한 크기로 만든 후보와, 그것에 넣은 사례와 결과."""

    def __init__(self, candidate, size, backend, style):
        kind = candidate.kind
        rng = np.random.default_rng(SEED)
        self.kind, self.size, self.built = kind, size, candidate.build(size)
        #: 부를 때 받는 인자의 이름들.
        self.names = candidate.takes(self.built)
        #: 가중치가 아직 없던 것인지. 그 크기는 우리가 골랐습니다.
        self.fresh = candidate.ready and not weights.collect(self.built)
        cases = enumerate(kind.cases(rng, size))
        cases = {i: case for i, case in cases if kind.takes(case, style)}
        self.places, self.cases = list(cases), list(cases.values())

        def run(case):
            arguments = kind.arrange(case, style, candidate.mask_true)
            return candidate.call(self.built, arguments, backend, case)

        if not candidate.ready:
            run(self.cases[0])  # Keras의 층은 불러야 가중치가 생깁니다
            weights.randomise(self.built, rng)
        self.outcomes = [run(case) for case in self.cases]

    @functools.cached_property
    def readings(self):
        """가중치를 읽는 방법들. 드러난 잘못이 적은 것이 먼저입니다."""
        return sorted(
            self.kind.readings(self),
            key=lambda r: (bool(wrong_in(r)), len(mistakes_of(r))),
        )

    @property
    def failed(self):
        """하나도 실행되지 않았는지."""
        return all(outcome.failure for outcome in self.outcomes)

    def pairs(self):
        return zip(self.cases, self.outcomes)

    def other_batches(self):
        """첫 사례와 배치의 크기가 다른 사례들의 결과입니다."""
        start = self.cases[0].batch
        return [outcome for case, outcome in self.pairs() if case.batch != start]


class Trial:
    """한 방식과 한 꼴로 후보를 실행한 것 모두."""

    def __init__(self, candidate, backend, style):
        self.candidate, self.kind = candidate, candidate.kind
        self.backend, self.style = backend, style
        self.groups = []
        sizes = self.kind.sizes
        if candidate.ready:
            sizes = self.kind.sizes_of(candidate.target)
        for size in sizes:
            group = Group(candidate, size, backend, style)
            if sizes is not self.kind.sizes:
                if not group.failed or not self.groups:
                    self.groups = [group]
                if not group.failed:
                    break
            else:
                self.groups.append(group)

        if not self.failed:
            self.kind.prepare(self)

    @property
    def failed(self):
        return all(group.failed for group in self.groups)

    @functools.cached_property
    def may_be_frozen(self):
        """다른 배치에서는 오류가 나거나 모양이 다른지. 실수 41일 때 그렇습니다."""
        return all(
            others and all(outcome.value is None for outcome in others)
            for others in map(Group.other_batches, self.groups)
        )

    @property
    def failed_share(self):
        """실행되지 않은 사례의 비율입니다."""
        failed = [bool(o.failure) for group in self.groups for o in group.outcomes]
        return sum(failed) / len(failed)

    def call(self, case, group=None, training=False):
        """사례 하나를 더 실행합니다. 성질을 볼 때 씁니다."""
        arguments = self.kind.arrange(case, self.style, self.candidate.mask_true)
        built = (group or self.groups[0]).built
        return self.candidate.call(built, arguments, self.backend, case, training)

    def put(self, example):
        """예의 마스크를 후보에 넣은 꼴과 뜻대로 보입니다."""
        inputs = dict(example.inputs)
        for name in inputs.keys() & set(self.kind.masks):
            placed = inputs[name], self.style, self.candidate.mask_true
            inputs[name] = self.kind.placed(*placed)
        return dataclasses.replace(example, inputs=inputs)

    def within(self, other):
        """실행된 것이 모두 앞의 꼴과 같으면 다시 견주지 않습니다."""
        pairs = []
        for group, another in zip(self.groups, other.groups):
            known = dict(zip(another.places, another.outcomes))
            for place, ours in zip(group.places, group.outcomes):
                if place not in known:
                    return False
                pairs.append((ours, known[place]))
        return all(
            ours.value is None
            or (
                theirs.value is not None
                and np.array_equal(ours.value, theirs.value, True)
            )
            for ours, theirs in pairs
        )

    def explain(self, switches, frozen):
        """이 스위치를 켠 기준과 모두 같으면 `Explained`, 아니면 None입니다."""
        readings = []
        for group in self.groups:
            fitting = _fit(self.kind, group, switches, frozen)
            if fitting is None:
                return None
            readings += fitting
        return Explained(switches, readings, frozen)


class Explained:
    """후보를 설명하는 것: 켠 스위치, 가중치를 읽은 방법, 배치가 굳었는지."""

    def __init__(self, switches, readings, frozen):
        self.switches, self.readings, self.frozen = switches, readings, frozen
        self.wrong = max(map(wrong_in, readings))
        numbers = {number(switch) for switch in switches}
        for reading in readings:
            numbers |= set(mistakes_of(reading))
        self.numbers = numbers | ({BATCH} if frozen else set())


def mistakes_of(reading):
    """가중치를 읽는 방법에서 이미 드러난 실수입니다."""
    return getattr(reading, "mistakes", ())


def wrong_in(reading):
    """가중치를 읽는 방법에서 드러난, 목록에 없는 잘못의 문장입니다."""
    return getattr(reading, "wrong", "")


def _fit(kind, group, switches, frozen):
    """모든 사례를 설명하는 읽기를 한 원소의 튜플로. 없으면 None입니다."""
    pairs = list(group.pairs())
    if frozen:
        pairs = [(c, o) for c, o in pairs if c.batch == group.cases[0].batch]
    for reading in kind.plausible(group, switches):
        if all(kind.agrees(o, c, switches, reading) for c, o in pairs):
            return (reading,)
    return None


def _judge(candidate):
    kind, tried, error = candidate.kind, [], None
    for backend in candidate.backends():
        for style in kind.styles():
            try:
                trial = Trial(candidate, backend, style)
            except Exception as caught:  # 후보를 만들다 난 예외
                error = error or failure_of(caught, {})
                continue
            if not trial.failed and any(map(trial.within, tried)):
                continue
            tried.append(trial)
            if explained := not trial.failed and trial.explain(frozenset(), False):
                if not explained.numbers and not explained.wrong:
                    return _explained(trial, explained)
            if kind.first_style and (found := _first([trial], frozen=False)):
                return _explained(*found)
        if not all(trial.failed for trial in tried):
            break
    if not tried:
        return messages.raised(candidate, error)
    if not kind.first_style and (found := _first(tried, frozen=False)):
        return _explained(*found)
    if found := _first(tried, frozen=True):
        return _explained(*found)
    return _unexplained(min(tried, key=lambda trial: trial.failed_share))


def _first(trials, frozen):
    """가장 적은 스위치로 설명되는 (시도, 설명). 없으면 None입니다."""
    running = [t for t in trials if not t.failed and (t.may_be_frozen or not frozen)]
    for switches in running[0].kind.combinations() if running else ():
        for trial in running:
            if explained := trial.explain(switches, frozen):
                return trial, explained
    return None


def _explained(trial, explained):
    kind, candidate = trial.kind, trial.candidate
    if explained.wrong:
        group = trial.groups[0]
        example = Example(group.cases[0].inputs, given=group.outcomes[0].value)
        return messages.unknown(candidate, explained.wrong, trial.put(example))
    examples = {n: _example(trial, explained, n) for n in explained.numbers}
    if not explained.frozen and (example := _unknown_batch(trial)):
        examples[BATCH] = example
    for found, example in kind.symptoms(trial):
        examples.setdefault(found, example)
    if examples:
        shown = {found: trial.put(example) for found, example in examples.items()}
        return messages.known(candidate, shown)
    if candidate.ready and not explained.frozen and _too_small(trial, explained):
        return messages.unjudged(candidate, TOO_SMALL)
    return messages.right(candidate, kind.remark(trial, explained.readings[0]))


def _too_small(trial, explained):
    """만들어진 것의 가중치가 작아, 실수를 해도 오차 안에서 같은 값이 되는지 봅니다."""
    kind = trial.kind
    found = weights.collect(trial.groups[0].built)
    if not (kind.factory and any(array.ndim for _, array in found)):
        return False
    pairs = [
        (case, outcome, reading)
        for group, reading in zip(trial.groups, explained.readings)
        for case, outcome in group.pairs()
        if outcome.value is not None
    ]
    values = (outcome.value[np.isfinite(outcome.value)] for _, outcome, _ in pairs)
    if all(np.unique(value).size < 2 for value in values):
        return True

    def hidden(switches):
        """마지막 비트는 다른데 모두 맞는지. 비트까지 같으면 같은 계산입니다."""
        same = True
        for case, outcome, reading in pairs:
            if not kind.agrees(outcome, case, switches, reading):
                return False
            ours = kind.reference(case, frozenset(), reading)
            same &= np.array_equal(kind.reference(case, switches, reading), ours, True)
        return not same

    every = (frozenset([switch]) for switch in kind.switches)
    return any(map(hidden, filter(kind.compatible, every)))


def _example(trial, explained, wanted):
    """그 실수가 보이는 가장 작은 사례입니다. 다른 실수는 그대로 두고 견줍니다."""
    kind = trial.kind
    others = frozenset(s for s in explained.switches if number(s) != wanted)
    for reading in explained.readings:
        if wanted in mistakes_of(reading):
            return reading.evidence(wanted)
    for group, reading in zip(trial.groups, explained.readings):
        for case, outcome in group.pairs():
            first_batch = case.batch == group.cases[0].batch
            if wanted == BATCH:
                if first_batch:
                    continue
            elif explained.frozen and not first_batch:
                continue
            elif kind.agrees(outcome, case, others, reading):
                continue
            example = kind.compared(case, outcome, reading, others)
            if others:
                example = dataclasses.replace(example, wanted="이것만 고치면 나올 값")
            return example
    raise AssertionError("설명에 든 실수에는 그것을 보이는 사례가 있습니다")


def _unexplained(trial):
    kind, candidate = trial.kind, trial.candidate
    for group in trial.groups:
        for outcome in group.outcomes:
            if outcome.failure:
                return messages.raised(candidate, outcome.failure)
    for group in trial.groups:
        for case, outcome in group.pairs():
            if outcome.misfit:
                example = Example(case.inputs, given=_raw(outcome))
                return messages.unknown(candidate, outcome.misfit, trial.put(example))
    for sentence, example in itertools.chain(causes(trial), kind.properties(trial)):
        return messages.unknown(candidate, sentence, trial.put(example))
    for group in trial.groups:
        if not group.readings or wrong_in(group.readings[0]):
            return messages.uncompared(candidate, _unread(group.built))
        if not kind.strict:
            return messages.uncompared(candidate, kind.unexplained)
        reading = group.readings[0]
        for case, outcome in group.pairs():
            if not kind.agrees(outcome, case, frozenset(), reading):
                example = kind.compared(case, outcome, reading)
                sentence = "식으로 계산한 값과 다릅니다."
                return messages.unknown(candidate, sentence, trial.put(example))
    raise AssertionError("설명되지 않은 후보에는 다른 사례가 있습니다")


def _unread(built):
    """가중치를 읽지 못한 까닭입니다."""
    shapes = [str(array.shape) for _, array in weights.collect(built)]
    if not shapes:
        return "가중치를 읽지 못했습니다."
    shown = ", ".join(shapes[:8]) + (" …" if shapes[8:] else "")
    return f"찾은 배열을 식의 가중치로 나누지 못했습니다. 모양: {shown}."


def _raw(outcome):
    """후보가 돌려준 것. 여럿이면 첫째입니다."""
    raw = first(outcome.raw)
    array = to_numpy(raw)
    return raw if array is None else array


def _unknown_batch(trial):
    """배치의 크기를 모르는 그래프에서만 실패하면 그 `Example`입니다."""
    group = trial.groups[0]
    case, outcome = group.cases[0], group.outcomes[0]
    tf = loaded("tensorflow")
    if not tf or case.batch is None or outcome.failure:
        return None
    # 배열을 넣어도 TensorFlow의 텐서를 내는 후보가 있습니다
    if trial.backend != "tensorflow" and not tf.is_tensor(first(outcome.raw)):
        return None
    arguments = trial.kind.arrange(case, trial.style, trial.candidate.mask_true)
    tensors = [to_backend(value, "tensorflow") for value in arguments]
    places = [i for i, value in enumerate(tensors) if tf.is_tensor(value)]
    # 이어 주는 함수가 배치를 굳혔으면 후보의 실수가 아닙니다
    adapters = getattr(trial.candidate.adapter, "__code__", trial)

    def traced(known):
        problems = []

        def body(*parts):
            full = list(tensors)
            for place, part in zip(places, parts):
                full[place] = part
            outcome = trial.candidate.call(group.built, full, "tensorflow", case)
            if outcome.failure and outcome.failure.code is not adapters:
                problems.append(f"{outcome.failure.text}\n{outcome.failure.place}")
            return 0

        specs = []
        for place in places:
            shape = tensors[place].shape.as_list()
            if not known and shape and shape[0] == case.batch:
                shape[0] = None
            specs.append(tf.TensorSpec(shape, tensors[place].dtype))
        try:
            tf.function(body, input_signature=specs, autograph=False)(
                *(tensors[place] for place in places)
            )
        except Exception as error:
            problems.append(f"{type(error).__name__}: {error}")
        return "".join(problems[:1])

    problem = traced(known=False)
    if not problem or traced(known=True):
        return None
    return Example(case.inputs, given=f"배치의 크기가 None인 그래프에서: {problem}")
