"""임베딩, 위치별 피드포워드 신경망, 잔차 연결과 층 정규화를 봅니다."""

import dataclasses
import itertools

import numpy as np

from transformer_notes.checker import names, projections
from transformer_notes.checker.kinds import (
    PRE_NORM,
    Case,
    Kind,
    first,
    in_shape,
    to_array,
)
from transformer_notes.checker.messages import Example
from transformer_notes.checker.tensors import SINGLE, close, like
from transformer_notes.checker.weights import collect

EPSILONS = (0.0, *(10.0**-k for k in range(2, 16)))


class Embedding(Kind):
    """`(vocab_size, d_model)`로 만들어 토큰 번호로 부르는 것.

    토큰 번호 (batch, length)를 √d_model배 한 벡터 (batch, length, d_model)로 바꿉니다.
    """

    name = "embedding"
    title = "토큰 임베딩"
    arguments = (names.TOKEN_IDS,)
    factory = (names.VOCAB_SIZE, names.D_MODEL)
    shapes = {"token_ids": "정수, (batch, length)"}
    returns = "(batch, length, d_model)"
    sizes = ((3, 4), (7, 6))
    switches = ("22 none", "22 divide")

    def sizes_of(self, built):
        shapes = {array.shape for _, array in collect(built) if array.ndim == 2}
        return [*shapes, *(shape[::-1] for shape in shapes)] or [(2, None)]

    def cases(self, rng, size):
        for shape in ((1, 2), (1, 3), (3, 3)):
            ids = rng.integers(0, size[0], shape)
            yield Case({"token_ids": ids}, batch=shape[0])

    def read(self, raw, case):
        array, shape = to_array(first(raw)), case.inputs["token_ids"].shape
        return in_shape(array, (*shape, array.shape[-1] if array.ndim else 1))

    def readings(self, group):
        tables = [array for _, array in collect(group.built) if array.ndim == 2]
        tables += [table.T for table in tables]
        shape = group.size if group.size[1] else None
        return [t for t in tables if t.shape == shape or shape is None]

    def reference(self, case, switches=frozenset(), reading=None):
        vectors = reading[case.inputs["token_ids"]]
        root = np.sqrt(reading.shape[1])
        if "22 none" in switches:
            return vectors
        return vectors / root if "22 divide" in switches else vectors * root

    def properties(self, trial):
        case = Case({"token_ids": np.array([[1, 0], [0, 1]])}, 2)
        value = trial.call(case).value
        if value is not None and not close(value[0], value[1, ::-1]):
            yield (
                "같은 토큰이 자리마다 다른 벡터가 됩니다.",
                Example(case.inputs, value[1, ::-1], value[0]),
            )


@dataclasses.dataclass(frozen=True, eq=False)
class _TwoMaps:
    wide: projections.Linear
    narrow: projections.Linear


class FeedForward(Kind):
    """`(d_model, d_ff)`로 만들어 (batch, length, d_model)로 부르는 것."""

    name = "feed_forward"
    title = "위치별 피드포워드 신경망"
    arguments = (names.X,)
    factory = (names.D_MODEL, names.D_FF)
    shapes = {"x": "(batch, length, d_model)"}
    returns = "x와 같은 모양"
    sizes = ((2, 3), (4, 7))
    switches = ("23", "24")

    def sizes_of(self, built):
        return [(width, None) for width in projections.widths(built)]

    def cases(self, rng, size):
        for shape in ((1, 1), (1, 3), (1, 8), (3, 3)):
            x = np.round(rng.normal(0, 1, (*shape, size[0])), 2).astype("float32")
            yield Case({"x": x}, batch=shape[0])
        # 큰 수에서만 다른 활성 함수가 있습니다
        yield Case({"x": 100 * x}, batch=shape[0])

    def read(self, raw, case):
        return in_shape(to_array(first(raw)), case.inputs["x"].shape)

    def readings(self, group):
        width = group.size[0]
        found = []
        for kernels, biases in projections.kernels_and_biases(group.built, width):
            if len(kernels) != 2:
                continue
            for a, b in ((0, 1), (1, 0)):
                ways = itertools.product(
                    projections.inward(kernels[a], width),
                    projections.outward(kernels[b], width),
                )
                for (wide, narrow), (one, two) in itertools.product(
                    ways, {(a, b), (b, a)}
                ):
                    first = projections.linear(wide, biases[one])
                    second = projections.linear(narrow, biases[two])
                    fits = wide.shape[1] == narrow.shape[0]
                    if fits and first is not None and second is not None:
                        found.append(_TwoMaps(first, second))
        return found

    def reference(self, case, switches=frozenset(), reading=None):
        hidden = reading.wide(np.asarray(case.inputs["x"], np.float64))
        if "23" not in switches:
            hidden = np.maximum(hidden, 0)
        output = reading.narrow(hidden)
        return np.maximum(output, 0) if "24" in switches else output

    def properties(self, trial):
        group = trial.groups[0]
        case, value = group.cases[1], group.outcomes[1].value
        other = Case({"x": case.inputs["x"][:, ::-1].copy()}, 1)
        turned = trial.call(other).value
        if turned is not None and not close(turned[:, ::-1], value):
            yield (
                "자리의 차례를 바꾸면 다른 값이 나옵니다.",
                Example(other.inputs, value[:, ::-1], turned),
            )


@dataclasses.dataclass(frozen=True, eq=False)
class _Norm:
    gamma: np.ndarray
    beta: np.ndarray
    epsilon: float
    #: 하위 층 앞에서 정규화하는지.
    before: bool
    #: 정규화를 한 번 더 할 때의 배율과 편향.
    other: tuple


class AddNorm(Kind):
    """`(x, sublayer_output)`으로 불러 LayerNorm(x + sublayer_output)을 내는 것.

    `(d_model)`이나 `()`로 만드는 것도 됩니다. 하위 층의 출력 대신 하위 층을 함수로
    받아도 되고, 그때는 x + sublayer(LayerNorm(x))도 맞습니다.
    """

    name = "add_norm"
    title = "잔차 연결과 층 정규화"
    arguments = (names.X, names.SUBLAYER)
    factory = (names.D_MODEL,)
    shapes = {
        "x": "(batch, length, d_model)",
        "sublayer_output": "x와 같은 모양, 또는 그것을 내는 함수",
    }
    returns = "x와 같은 모양"
    sizes = ((4,), (6,))
    switches = (
        "26 axes",
        "26 batch",
        "26 n-1",
        "26 outside",
        "28",
        "28 inner",
        "45",
        "48",
        "49 twice",
        "50",
    )
    shown = (27,)

    def sizes_of(self, built):
        flat = {a.size for _, a in collect(built) if a.ndim == 1}
        return [(size,) for size in sorted(flat)] or [(w,) for w in projections.WIDTHS]

    def styles(self):
        return ("array", "callable")

    def cases(self, rng, size):
        for batch, length, scale in (
            *((1, 2, 1.0), (1, 3, 1.0), (1, 3, 1e-2), (1, 2, 1e-4), (1, 2, 1e-6)),
            *((3, 2, 1.0), (3, 3, 1e-4)),
        ):
            x = np.round(rng.normal(0, 1, (batch, length, size[0])), 2)
            x = (x * scale).astype("float32")
            inputs = {"x": x, "sublayer_output": x @ _sublayer(size[0])}
            yield Case(inputs, batch)

    def arrange(self, case, style, mask_true):
        x, output = case.inputs.values()
        if style == "array":
            return x, output

        def sublayer(z, *_, **__):
            return z @ like(_sublayer(x.shape[-1]), z)

        return x, sublayer

    def read(self, raw, case):
        return in_shape(to_array(first(raw)), case.inputs["x"].shape)

    def readings(self, group):
        width = group.size[0]
        scales = [a.ravel() for _, a in collect(group.built) if a.size == width]
        ones, zeros = np.ones(width), np.zeros(width)
        ways = [(scale, zeros, scale, zeros) for scale in scales]
        if not scales:  # 있는데 쓰지 않은 것은 없는 것과 다릅니다
            ways.append((ones, zeros, ones, zeros))
        if len(scales) < 4:
            ways += [pair * 2 for pair in itertools.permutations(scales, 2)]
        elif len(scales) == 4:  # 정규화하는 층이 둘입니다
            ways += itertools.permutations(scales)
        return [
            _Norm(gamma, beta, epsilon, before, tuple(other))
            for before in (False, True)
            for gamma, beta, *other in ways
            for epsilon in EPSILONS
        ]

    def plausible(self, group, switches):
        """ε은 첫 사례를 거의 바꾸지 않으므로, 나머지로 먼저 걸러 냅니다."""
        case, outcome = group.cases[0], group.outcomes[0]
        loose = dataclasses.replace(outcome, tolerance=0.05)
        step = len(EPSILONS)
        for start in range(0, len(group.readings), step):
            alike = group.readings[start : start + step]
            if self.agrees(loose, case, switches, alike[-1]):
                yield from alike

    def compatible(self, switches):
        axes = {"26 axes", "26 batch"} & switches
        wrong = switches & {"28", "28 inner", "45", "48", "49 twice"}
        return len(axes) < 2 and len(wrong) < 2

    def reference(self, case, switches=frozenset(), reading=None):
        x = np.asarray(case.inputs["x"], np.float64)
        matrix = _sublayer(x.shape[-1]).astype(np.float64)

        def norm(z, gamma=reading.gamma, beta=reading.beta):
            axes = {"26 axes": (1, 2), "26 batch": (0, 1, 2)}
            axis = next((axes[s] for s in axes if s in switches), (2,))
            ddof = 1 if "26 n-1" in switches else 0
            center = z - z.mean(axis, keepdims=True)
            variance = z.var(axis, keepdims=True, ddof=ddof)
            if "26 outside" in switches:
                spread = np.sqrt(variance) + reading.epsilon
            else:
                spread = np.sqrt(variance + reading.epsilon)
            return center / spread * gamma + beta

        inner = x if reading.before and "50" in switches else norm(x, *reading.other)
        residual = inner if {"28", "28 inner", "45"} & switches else x
        residual = residual * (2 if "49 twice" in switches else "48" not in switches)
        if reading.before:
            return residual + inner @ matrix
        total = residual + (inner if "28 inner" in switches else x) @ matrix
        return total if {"45", "50"} & switches else norm(total)

    def agrees(self, outcome, case, switches, reading):
        tiny = np.abs(case.inputs["x"]).max() < 0.1
        if tiny and outcome.value is not None and outcome.tolerance > SINGLE:
            return True  # 반정밀도의 분산은 이렇게 작은 입력에서 0이 됩니다
        return super().agrees(outcome, case, switches, reading)

    def remark(self, trial, reading):
        return PRE_NORM if reading.before else ""

    def symptoms(self, trial):
        rng, width = np.random.default_rng(1), trial.groups[0].size[0]
        x = rng.normal(0, 1, (1, 16, width)).astype("float32")
        case = Case({"x": x, "sublayer_output": x @ _sublayer(width)}, 1)
        still, moved = trial.call(case).value, trial.call(case, training=True).value
        if still is None or moved is None or not (moved == 0).any():
            return
        kept = moved != 0
        ratio = moved[kept] / still[kept]
        if kept.any() and np.ptp(ratio) < 1e-2 and 0.99 < ratio.min():
            row = int(np.argmax((moved == 0).any(-1)[0]))
            inputs = {"training": True, "x": x[0, row]}
            yield 27, Example(inputs, still[0, row], moved[0, row])


def _sublayer(width):
    """하위 층으로 쓰는 행렬."""
    return np.random.default_rng(width).normal(0, 0.5, (width, width)).astype("float32")
