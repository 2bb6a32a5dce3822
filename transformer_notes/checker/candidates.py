"""읽는 이의 코드를 만들고 부릅니다. 예외는 잡아서 그 줄과 함께 돌려줍니다."""

import dataclasses
import functools
import inspect
import itertools
import random
import re
import traceback
import types
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np

from transformer_notes.checker import weights
from transformer_notes.checker.kinds import Misfit, Outcome
from transformer_notes.checker.names import DROPOUT
from transformer_notes.checker.tensors import (
    BACKENDS,
    ROOTS,
    loaded,
    to_backend,
    tolerance_of,
)

#: 여기서 난 예외는 후보가 부른 줄에서 난 것으로 봅니다.
PACKAGE = Path(__file__).parents[1]
#: TensorFlow의 오류에 섞이는 색.
_COLOURS = re.compile(r"\x1b\[\d*m")
#: 실행할 때마다 달라지는 주소.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclasses.dataclass(frozen=True, eq=False)
class Failure:
    """후보가 낸 예외."""

    #: 예외의 이름과 글.
    text: str
    #: 후보의 코드에서 예외가 난 줄.
    place: str
    #: 그때 넣은 것의 모양.
    shapes: str
    inputs: dict
    #: 예외가 난 후보의 코드. 없으면 None입니다.
    code: object = None


class Candidate:
    """검사할 함수나 층이나 모듈, 또는 그것을 만드는 것."""

    def __init__(self, target, kind, mask_true="attend", adapter=None):
        self.target, self.kind = target, kind
        self.mask_true, self.adapter = mask_true, adapter
        #: 크기마다, 처음부터 가중치가 있던 것.
        self._built = {}

    def backends(self):
        """넣어 볼 텐서의 방식. 후보의 코드가 쓰는 것이 먼저입니다."""
        named = _roots(self.target, depth=3) | _roots(self.adapter, depth=1)
        guess = [name for name in ("torch", "tensorflow") if name in named]
        if framework(self.target) or (inspect.isclass(self.target) and guess):
            return guess[:1]
        rest = [name for name in BACKENDS if name not in guess]
        return guess + [name for name in rest if name == "numpy" or loaded(name)]

    @functools.cached_property
    def ready(self):
        """만들지 않고 바로 부를 수 있는지."""
        return not inspect.isclass(self.target) and not (
            self.kind.factory and self._makes()
        )

    def _makes(self):
        if framework(self.target) or not inspect.isroutine(self.target):
            return False
        names = [p.name for p in parameters(self.target)]
        if match(names, self.kind.arguments):
            return False
        try:
            made = construct(self.target, self.kind, self.kind.sizes[0])
        except Exception:  # 만드는 함수가 아닙니다
            return False
        return callable(made)

    def build(self, size):
        """그 크기로 만듭니다. 만들어진 것이면 그대로 돌려줍니다.

        배열에 담은 가중치는 만들 때마다 다른 수일 수 있습니다. 그러면 인자의 꼴마다
        결과가 달라 견줄 수 없으므로 한 번만 만듭니다.
        """
        if self.ready:
            return self.target
        if size in self._built:
            return self._built[size]
        made = construct(self.target, self.kind, size)
        if not framework(made) and weights.collect(made):
            self._built[size] = made
        return made

    def order(self):
        """인자를 이름대로 넣었는데 차례가 우리와 다르면 그 차례를 말합니다."""
        matched = match(self._names(), self.kind.arguments)
        ordered = [name for name in self._names() if matched and name in matched]
        if not matched or ordered == matched:
            return ()
        return (f"인자를 이름대로 넣었습니다. 차례는 {', '.join(ordered)}입니다.",)

    def unnamed(self):
        """인자의 이름을 알아보지 못해 차례대로 넣었으면 그렇다고 말합니다."""
        wanted, names = self.kind.arguments, self._names()
        if len(wanted) < 2 or len(names) < len(wanted) or match(names, wanted):
            return ()
        ours = ", ".join(aliases[0] for aliases in wanted)
        return (
            f"인자의 이름을 알아보지 못해 {ours}의 차례대로 넣었습니다. 차례가 다르면 "
            "adapter로 이어 주세요.",
        )

    def _names(self):
        """부를 때의 인자의 이름들. 어댑터나 만드는 함수이면 모릅니다."""
        target = self.target
        if self.adapter or not (self.ready or inspect.isclass(target)):
            return []
        if inspect.isclass(target):
            calls = (getattr(target, n, None) for n in ("call", "forward", "__call__"))
            target = next(filter(None, calls), target)
        return [p.name for p in parameters(target) if p.name != "self"]

    def takes(self, built):
        """부를 때 받는 인자의 이름들입니다. 어댑터를 거치면 모릅니다."""
        return () if self.adapter else tuple(p.name for p in parameters(built))

    def call(self, built, arguments, backend, case, training=False):
        """한 번 부릅니다. 결과는 `Outcome`이고 예외를 내지 않습니다."""
        values = [to_backend(value, backend) for value in arguments]
        names = [aliases[0] for aliases in self.kind.arguments]
        given = dict(zip(names, arguments))
        try:
            with evaluating(built, training):
                if self.adapter is not None:
                    raw = self.adapter(built, *values)
                else:
                    keywords = self._keywords(built, case, training)
                    raw = invoke(built, self.kind.arguments, values, keywords)
        except Exception as error:
            return Outcome(failure=failure_of(error, given))
        return self.outcome(raw, case)

    def _keywords(self, built, case, training):
        taken = parameters(built)
        names = [parameter.name for parameter in taken]
        needed = [p.name for p in taken if p.default is p.empty]
        known = self.kind.extras
        return {
            **({"training": training} if "training" in names else {}),
            **{name: known[name] for name in needed if name in known},
            **self.kind.options(names, case),
        }

    def outcome(self, raw, case):
        """돌려준 것을 견줄 꼴로 읽습니다."""
        part = raw[0] if isinstance(raw, tuple | list) and len(raw) else raw
        try:
            value = self.kind.read(raw, case)
        except Misfit as misfit:
            return Outcome(raw=raw, misfit=str(misfit))
        if self.kind.gives_mask and self.mask_true == "hide":
            value = 1 - value
        return Outcome(value, raw, tolerance_of(part))


def invoke(built, arguments, values, keywords):
    """이름을 알아볼 수 있으면 이름으로, 아니면 순서대로 넣습니다."""
    taken = parameters(built)
    names = [parameter.name for parameter in taken]
    matched = match(names, arguments)
    if matched and not any(p.kind is p.POSITIONAL_ONLY for p in taken):
        by_name, leading = dict(zip(matched, values)), []
        # Keras의 층은 텐서가 아닌 것을 첫째 자리에서만 이름 없이 받습니다
        if names[0] in by_name and taken[0].kind is not taken[0].KEYWORD_ONLY:
            leading = [by_name.pop(names[0])]
        return built(*leading, **by_name, **keywords)
    takes = [p for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes = [p for p in takes if p.name not in keywords]
    if taken and not any(p.kind is p.VAR_POSITIONAL for p in taken):
        values = values[: len(takes)]
        if framework(built) == "tensorflow":
            keywords |= {p.name: value for p, value in zip(takes[1:], values[1:])}
            values = values[:1]
    return built(*values, **keywords)


def construct(target, kind, size):
    """크기를 넣어 만듭니다. 이름을 모르면 순서대로, 남으면 뒤부터 뺍니다."""
    taken = parameters(target)
    names = [parameter.name for parameter in taken]
    matched = match(names, kind.factory)
    known = dict.fromkeys(DROPOUT, 0.0) | kind.filled(size)
    fill = {
        p.name: known[p.name.lower()]
        for p in taken
        if p.name.lower() in known
        and p.default is p.empty
        and p.name not in (matched or ())
    }
    if matched:
        return target(**dict(zip(matched, size)), **fill)
    needed = [
        p.name
        for p in taken
        if p.default is p.empty
        and p.name not in fill
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    partly = [match(names, (aliases,)) for aliases in kind.factory]
    named = {name[0]: value for name, value in zip(partly, size) if name}
    if set(needed) <= set(named):  # 크기의 일부만 받습니다
        return target(**(fill | named))
    return target(*size[: len(needed)], **fill)


def match(names, arguments):
    """인자마다 그 이름을 찾습니다. 뜻이 가장 뚜렷한 짝이고, 없으면 None입니다."""
    every = [
        [
            (aliases.index(name.lower()), name)
            for name in names
            if name.lower() in aliases
        ]
        for aliases in arguments
    ]
    pairings = [
        pairs
        for pairs in itertools.product(*every)
        if len({name for _, name in pairs}) == len(pairs)
    ]
    if not pairings or not arguments:
        return None
    best = min(pairings, key=lambda pairs: sum(rank for rank, _ in pairs))
    return [name for _, name in best]


def framework(target):
    """Keras의 층이면 "tensorflow", PyTorch의 모듈이면 "torch", 아니면 None입니다."""
    kind = target if inspect.isclass(target) else type(target)
    roots = {base.__module__.partition(".")[0] for base in kind.__mro__}
    for root, name in ROOTS.items():
        if root in roots:
            return name
    return None


@contextmanager
def evaluating(built, training):
    """PyTorch의 모듈을 평가하는 상태로 두고, 끝나면 되돌립니다."""
    torch = loaded("torch")
    states = [(module, module.training) for module in weights.torch_modules(built)]
    for module, _ in states:
        module.training = training
    try:
        with torch.no_grad() if torch else nullcontext():
            yield
    finally:
        for module, state in states:
            module.training = state


@contextmanager
def quiet():
    """경고를 끄고, 파이썬과 NumPy와 PyTorch의 난수를 고정했다가 되돌립니다."""
    python, arrays = random.getstate(), np.random.get_state()
    torch = loaded("torch")
    tensors = torch.get_rng_state() if torch else None
    random.seed(0)
    np.random.seed(0)
    if torch:
        torch.manual_seed(0)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(python)
        np.random.set_state(arrays)
        if torch:
            torch.set_rng_state(tensors)


def failure_of(error, inputs):
    """예외와, 후보의 코드에서 그것이 난 줄과, 넣은 것의 모양을 적습니다."""
    place, code = "", None
    frames = traceback.extract_tb(error.__traceback__)
    for frame, (raw, _) in zip(frames, traceback.walk_tb(error.__traceback__)):
        ours = PACKAGE in Path(frame.filename).parents
        if not ours and "-packages" not in frame.filename and frame.line:
            place = f"{Path(frame.filename).name}의 {frame.lineno}번째 줄: {frame.line}"
            code = raw.f_code
    shapes = ", ".join(
        f"{name} {value.shape}" if isinstance(value, np.ndarray) else f"{name} {value}"
        for name, value in inputs.items()
        if not callable(value)
    )
    said = _COLOURS.sub("", str(error)).partition("\nArguments received by")[0]
    said = _ADDRESS.sub("", said).strip()[:600]
    text = f"{type(error).__name__}: {said}"
    return Failure(text, place, f"넣은 것: {shapes}" if shapes else "", inputs, code)


def parameters(target):
    """부를 때 받는 인자들입니다. 알 수 없으면 비어 있습니다."""
    for name in ("call", "forward"):
        if framework(target) and not inspect.isclass(target):
            target = getattr(target, name, target)
    try:
        return list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return []


def _roots(target, depth):
    """코드가 쓰는 모듈의 이름 가운데 텐서의 방식을 알려 주는 것."""
    if depth < 0 or target is None:
        return set()
    if inspect.ismodule(target):
        return {ROOTS.get(target.__name__.partition(".")[0])} - {None}
    if found := framework(target):
        return {found}
    module = getattr(target, "__module__", None) or ""
    if root := ROOTS.get(module.partition(".")[0]):
        return {root}
    if inspect.isclass(target):
        parts = [vars(target).get(name) for name in ("__init__", "__call__", "call")]
        return set().union(*(_roots(part, depth) for part in parts))
    function = inspect.unwrap(getattr(target, "python_function", target))
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        attributes = list(getattr(target, "__dict__", {}).values())
        return set().union(
            _roots(type(target), depth - 1),
            *(_roots(part, depth - 1) for part in attributes),
        )
    parts = [value for _, value in weights.used_globals(function)]
    for cell in function.__closure__ or ():
        try:
            parts.append(cell.cell_contents)
        except ValueError:  # 아직 채워지지 않은 칸
            continue
    return set().union(*(_roots(part, depth - 1) for part in parts))
