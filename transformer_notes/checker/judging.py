"""후보를 기준과 견주어 판정합니다."""

import copy
import functools
import itertools

import numpy as np

from transformer_notes.checker import messages, weights
from transformer_notes.checker.candidates import Candidate, failure_of, quiet
from transformer_notes.checker.kinds import first, number
from transformer_notes.checker.messages import Example
from transformer_notes.checker.registry import KINDS
from transformer_notes.checker.tensors import loaded, to_backend

SEED = 2017
#: 모든 종류에 있는 실수: 배치의 크기가 굳습니다.
BATCH = 41


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
        `Report`. 맞았는지, 실수의 번호, 가장 작은 예, 읽을 글이 있습니다.

    Raises:
        ValueError: 모르는 `what`이나 `mask_true`.
        TypeError: 부를 수 없는 후보.

    Examples:
        >>> def mine(length):
        ...     return np.triu(np.ones((length, length)))
        >>> report = check(mine, "look_ahead_mask", mask_true="hide")
        >>> report.passed, report.mistakes
        (False, (1,))
    """
    for name, value, choices in (
        ("what", what, KINDS),
        ("mask_true", mask_true, ("attend", "hide")),
    ):
        if value not in tuple(choices):
            raise ValueError(
                f"{name}에는 {', '.join(map(repr, choices))} 가운데 하나가 필요합니다. "
                f"받은 것: {value!r}."
            )
    if not callable(candidate):
        raise TypeError(
            "candidate에는 부를 수 있는 것이 필요합니다. "
            f"받은 것: {type(candidate).__name__}."
        )
    kind = copy.copy(KINDS[what])
    kind.mask_true = mask_true
    with quiet():
        return _judge(kind, Candidate(candidate, kind, mask_true, adapter))


class Group:
    """한 크기로 만든 후보와, 그것에 넣은 사례와 결과."""

    def __init__(self, candidate, size, backend, style):
        kind = candidate.kind
        rng = np.random.default_rng(SEED)
        self.kind, self.size, self.built = kind, size, candidate.build(size)
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
            self.kind.readings(self.built, self.size),
            key=lambda r: (bool(wrong_in(r)), len(mistakes_of(r))),
        )

    @property
    def failed(self):
        """하나도 실행되지 않았는지."""
        return all(outcome.failure for outcome in self.outcomes)

    def pairs(self):
        return zip(self.cases, self.outcomes)


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
            if candidate.ready:
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

    @property
    def failures(self):
        return sum(bool(o.failure) for g in self.groups for o in g.outcomes)

    def call(self, case, group=None, training=False):
        """사례 하나를 더 실행합니다. 성질을 볼 때 씁니다."""
        arguments = self.kind.arrange(case, self.style, self.candidate.mask_true)
        built = (group or self.groups[0]).built
        return self.candidate.call(built, arguments, self.backend, case, training)

    def same_as(self, other):
        """앞의 꼴과 결과가 모두 같으면 다시 견주지 않습니다."""
        pairs = []
        for group, another in zip(self.groups, other.groups):
            known = dict(zip(another.places, another.outcomes))
            for place, ours in zip(group.places, group.outcomes):
                if place not in known:
                    return False
                pairs.append((ours, known[place]))
        return all(
            (ours.value is None) == (theirs.value is None)
            and (ours.value is None or np.array_equal(ours.value, theirs.value, True))
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
        start = group.cases[0].batch
        others = [o for c, o in pairs if c.batch != start]
        if not others or any(o.value is not None for o in others):
            return None  # 다른 배치에서 오류가 나거나 모양이 달라야 합니다
        pairs = [(c, o) for c, o in pairs if c.batch == start]
    for reading in kind.plausible(group, switches):
        if all(kind.agrees(o, c, switches, reading) for c, o in pairs):
            return (reading,)
    return None


def _judge(kind, candidate):
    tried, error = [], None
    for backend in candidate.backends():
        for style in kind.styles():
            try:
                trial = Trial(candidate, backend, style)
            except Exception as caught:  # 후보를 만들다 난 예외
                error = error or failure_of(caught, {})
                continue
            if not trial.failed and any(map(trial.same_as, tried)):
                continue
            tried.append(trial)
            if explained := not trial.failed and trial.explain(frozenset(), False):
                if not explained.numbers and not explained.wrong:
                    return _explained(kind, trial, explained)
            if kind.first_style and (explained := _first(kind, [trial], (False,))):
                return _explained(kind, *explained)
        if not all(trial.failed for trial in tried):
            break
    if not tried:
        return messages.raised(kind, error)
    if explained := _first(kind, tried):
        return _explained(kind, *explained)
    return _unexplained(kind, min(tried, key=lambda trial: trial.failures))


def _first(kind, trials, frozen=(False, True)):
    """가장 적은 스위치로 설명되는 (시도, 설명). 없으면 None입니다."""
    running = [trial for trial in trials if not trial.failed]
    for batch, switches in itertools.product(frozen, kind.combinations()):
        for trial in running:
            if explained := trial.explain(switches, batch):
                return trial, explained
    return None


def _explained(kind, trial, explained):
    if explained.wrong:
        group = trial.groups[0]
        example = Example(group.cases[0].inputs, given=group.outcomes[0].value)
        return messages.unknown(kind, explained.wrong, example)
    examples = {n: _example(kind, trial, explained, n) for n in explained.numbers}
    if not explained.frozen and (example := _unknown_batch(trial)):
        examples[BATCH] = example
    for found, example in kind.symptoms(trial):
        examples.setdefault(found, example)
    notes = trial.candidate.order()
    if examples:
        return messages.known(kind, examples, notes)
    return messages.right(kind, notes)


def _example(kind, trial, explained, wanted):
    """그 실수가 보이는 가장 작은 사례입니다."""
    without = frozenset(s for s in explained.switches if number(s) != wanted)
    for reading in explained.readings:
        if wanted in mistakes_of(reading):
            return reading.evidence(wanted)
    shown = None
    for group, reading in zip(trial.groups, explained.readings):
        for case, outcome in group.pairs():
            if wanted == BATCH and case.batch == group.cases[0].batch:
                continue
            if kind.agrees(outcome, case, frozenset(), reading):
                continue
            example = kind.compared(case, outcome, reading)
            if not kind.agrees(outcome, case, without, reading):
                return example
            shown = shown or example
    return shown


def _unexplained(kind, trial):
    for group in trial.groups:
        for outcome in group.outcomes:
            if outcome.failure:
                return messages.raised(kind, outcome.failure)
    for group in trial.groups:
        for case, outcome in group.pairs():
            if outcome.misfit:
                example = Example(case.inputs, given=_raw(outcome))
                return messages.unknown(kind, outcome.misfit, example)
    for sentence, example in kind.properties(trial):
        return messages.unknown(kind, sentence, example)
    for group in trial.groups:
        if not group.readings or not kind.strict:
            return messages.unread(kind)
        for case, outcome in group.pairs():
            if not kind.agrees(outcome, case, frozenset(), group.readings[0]):
                example = kind.compared(case, outcome, group.readings[0])
                return messages.unknown(kind, "식으로 계산한 값과 다릅니다.", example)
    raise AssertionError("설명되지 않은 후보에는 다른 사례가 있습니다")


def _raw(outcome):
    return getattr(outcome.raw, "shape", outcome.raw)


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

    def traced(known):
        problems = []

        def body(*parts):
            full = list(tensors)
            for place, part in zip(places, parts):
                full[place] = part
            outcome = trial.candidate.call(group.built, full, "tensorflow", case)
            if outcome.failure:
                problems.append(outcome.failure.text)
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
