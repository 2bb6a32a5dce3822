"""멀티 헤드 어텐션을 봅니다."""

import dataclasses
import itertools

import numpy as np

from transformer_notes.checker import names, projections
from transformer_notes.checker.attention import (
    MASKING,
    ROLES,
    Masked,
    attend,
    roles,
    visible_at,
)
from transformer_notes.checker.kinds import Case, first, in_shape, to_array
from transformer_notes.checker.messages import Example
from transformer_notes.checker.tensors import close, to_numpy


@dataclasses.dataclass(frozen=True, eq=False)
class Heads:
    """네 선형 변환과 헤드의 수."""

    query: projections.Linear
    key: projections.Linear
    value: projections.Linear
    output: projections.Linear
    count: int
    #: 헤드를 나눌 때와 이어 붙일 때, 헤드의 번호가 앞의 축인지. 달라도 W^O의 행의
    #: 차례가 다를 뿐입니다.
    major: bool
    joins_major: bool
    mistakes: tuple = ()
    wrong: str = ""

    def evidence(self, number):
        """읽기만으로 드러난 실수의 예입니다."""
        width, total = self.query.kernel.shape
        inputs = {"d_model": width, "num_heads": self.count}
        right = (
            f"헤드 하나의 차원 {width // self.count}, W^Q 전체의 모양 {width, width}"
        )
        given = (
            f"헤드 하나의 차원 {total // self.count}, W^Q 전체의 모양 {width, total}"
        )
        return Example(inputs, right, given)


class MultiHeadAttention(Masked):
    """`(d_model, num_heads)`로 만들어 `(query, key, value, mask)`로 부르는 것.

    만들어진 것이나, 가중치를 품은 함수도 됩니다. query는
    (batch, length_q, d_model)이고 mask는 (batch, 1, length_q, length_k)입니다.
    마스크가 3차원이나 2차원이어도 됩니다.
    출력이나 (출력, 가중치)를 냅니다.
    """

    name = "multi_head_attention"
    title = "멀티 헤드 어텐션"
    factory = (names.D_MODEL, names.NUM_HEADS)
    sizes = ((4, 2), (12, 3))
    switches = (
        *MASKING,
        *("8", "8 d_model", "9", "10 both", "10 split", "10 join"),
        *(*ROLES, "12", "14"),
    )
    shown = (13,)
    together = 2
    ranks = (4, 3, 2)
    shapes = {
        "query": "(batch, length_q, d_model)",
        "key": "(batch, length_k, d_model)",
        "value": "(batch, length_k, d_model)",
        "mask": "(batch, 1, length_q, length_k)",
    }
    returns = "(batch, length_q, d_model), 또는 (출력, 가중치)"

    def filled(self, size):
        d_model, heads = size
        return dict.fromkeys(names.HEAD_DIM, d_model // heads) if heads else {}

    def sizes_of(self, built):
        return [(width, None) for width in projections.widths(built)]

    def cases(self, rng, size):
        width = size[0]

        def case(batch, length_q, length_k, mask):
            inputs = {
                name: np.round(rng.normal(0, 1, (batch, length, width)), 2)
                for name, length in (
                    ("query", length_q),
                    ("key", length_k),
                    ("value", length_k),
                )
            }
            inputs = {name: value.astype("float32") for name, value in inputs.items()}
            mask = np.broadcast_to(mask, (batch, length_q, length_k))
            return Case({**inputs, "mask": np.array(mask, bool)}, batch)

        yield case(1, 2, 2, [[1, 0], [1, 1]])
        yield case(1, 3, 3, [[1, 1, 0]])
        yield case(1, 3, 3, [[0, 1, 1], [1, 0, 0], [1, 1, 0]])
        yield case(1, 4, 4, 1)
        yield case(1, 2, 4, visible_at(rng, 2, 4))
        yield case(1, 3, 2, 1)
        yield case(1, 3, 3, [[1, 1, 0], [0, 0, 0], [1, 0, 1]])
        yield case(2, 3, 3, visible_at(rng, 3, 3))
        yield case(3, 4, 4, visible_at(rng, 3, 4, 4))

    def takes(self, case, style):
        mask = case.inputs["mask"]
        return style[0] != 2 or bool((mask == mask[:1]).all())

    def arrange(self, case, style, mask_true):
        *values, mask = case.inputs.values()
        return *values, self.placed(mask, style, mask_true)

    def read(self, raw, case):
        return in_shape(to_array(first(raw)), case.inputs["query"].shape)

    def readings(self, group):
        built, (width, heads) = group.built, group.size
        known = heads or projections.head_count(built)
        found = []
        for kernels, biases in projections.kernels_and_biases(built, width):
            for query, key, value, output in _maps(kernels, biases, width, known):
                total = query.kernel.shape[1]
                if total != key.kernel.shape[1]:
                    continue
                wrong = "" if output else "이어 붙인 뒤의 선형 변환 W^O가 없습니다."
                output = output or projections.linear(np.eye(width), None)
                for count in [known] if known else projections.divisors(total):
                    if total % count or value.kernel.shape[1] % count:
                        continue
                    # 가중치가 없던 층의 d_model은 우리가 골랐으니 나무라지 않습니다
                    wide = count > 1 and total == count * width and not group.fresh
                    majors = (True, False)[: 1 + (1 < count < total)]
                    for way in itertools.product(majors, majors):
                        maps = query, key, value, output, count, *way
                        found.append(Heads(*maps, (13,) if wide else (), wrong))
        return found

    def plausible(self, group, switches):
        """첫 사례로 걸러 냅니다. 읽는 방법이 많아서 한꺼번에 계산합니다."""
        pair = next(((c, o) for c, o in group.pairs() if o.value is not None), None)
        if pair is None or "14" in switches:
            return group.readings if pair and _lost_some(pair[1].raw) else []
        if not hasattr(group, "stacks"):
            group.stacks = list(_stacks(group.readings))
        found = []
        case, outcome = pair
        for alike, stacked in group.stacks:
            try:
                expected, _, free = self.expected(case, switches, stacked)
            except ValueError:
                continue
            rows = free[..., np.newaxis]
            given, expected = (
                np.where(rows, 0, outcome.value),
                np.where(rows, 0, expected),
            )
            far = np.abs(given - expected) > 2 * outcome.tolerance * np.nanmax(
                np.abs(expected), initial=1.0
            )
            far |= np.isnan(given) != np.isnan(expected)
            places = np.flatnonzero(~far.any((1, 2, 3)))
            found += [alike[place] for place in places]
        return found

    def expected(self, case, switches, reading):
        *inputs, mask = case.inputs.values()
        inputs = [np.asarray(value, np.float64) for value in inputs]
        maps = reading.query, reading.key, reading.value
        query, key, value = (
            _split(each(x), reading, bool({"10 both", "10 split"} & switches))
            for each, x in zip(maps, roles(inputs, switches))
        )
        scale = inputs[0].shape[-1] if "8 d_model" in switches else None
        output, weights, free = attend(
            query, key, value, mask[:, np.newaxis], switches, scale=scale
        )
        joined = _join(output, reading, bool({"10 both", "10 join"} & switches))
        result = reading.output(joined)
        if "12" in switches:
            result = np.maximum(result, 0)
        return result, weights, free.any(-2)


def _lost_some(raw):
    """함께 돌려준 것에 행의 합이 1이 아닌, 그래서 지워졌을 수 있는 가중치가 있는지."""
    parts = raw[1:] if isinstance(raw, tuple | list) else ()
    rows = [np.sum(a, -1) for a in map(to_numpy, parts) if a is not None and a.ndim]
    return any(not close(sums, np.ones(sums.shape), 1e-3) for sums in rows)


def _split(x, reading, wrong):
    """(..., length, count · depth)를 (..., count, length, depth)로 나눕니다."""
    *lead, length, total = x.shape
    count, depth = reading.count, total // reading.count
    if wrong:
        return x.reshape(*lead, count, length, depth)
    if reading.major:
        return np.swapaxes(x.reshape(*lead, length, count, depth), -2, -3)
    return np.moveaxis(x.reshape(*lead, length, depth, count), -1, -3)


def _join(x, reading, wrong):
    *lead, count, length, depth = x.shape
    if not wrong:
        x = np.swapaxes(x, -2, -3) if reading.joins_major else np.moveaxis(x, -3, -1)
    return x.reshape(*lead, length, count * depth)


def _stacks(readings):
    """모양이 같은 읽기들을 한꺼번에 계산할 수 있게 쌓습니다."""
    groups = {}
    for reading in readings:
        shapes = reading.query.kernel.shape, reading.value.kernel.shape
        ways = reading.major, reading.joins_major
        key = reading.count, *ways, bool(reading.wrong), *shapes
        groups.setdefault(key, []).append(reading)
    for alike in groups.values():
        maps = []
        for name in ("query", "key", "value", "output"):
            every = [getattr(reading, name) for reading in alike]
            kernel = np.stack([each.kernel for each in every])[:, np.newaxis]
            bias = np.stack([each.bias for each in every])[:, np.newaxis, np.newaxis]
            maps.append(projections.Linear(kernel, bias))
        one = alike[0]
        yield alike, Heads(*maps, one.count, one.major, one.joins_major)


def _maps(kernels, biases, width, heads):
    """(쿼리, 키, 값, 출력)의 선형 변환으로 보는 방법들."""
    places = range(len(kernels))
    for three in _inputs([*places], kernels, biases, width, heads):
        if three[2].kernel.shape[1] == width:
            yield *three, None
    for last in reversed(places):
        rest = [place for place in places if place != last]
        outs = [
            projections.linear(kernel, biases[last])
            for kernel in projections.outward(kernels[last], width)
        ]
        for output in filter(None, outs):
            for three in _inputs(rest, kernels, biases, width, heads):
                if three[2].kernel.shape[1] == output.kernel.shape[0]:
                    yield *three, output


def _inputs(places, kernels, biases, width, heads):
    """남은 커널에서 쿼리, 키, 값을 찾습니다."""
    if not places:
        return
    flat = [list(projections.inward(kernels[p], width)) for p in places]
    for chosen in itertools.product(*flat):
        if len(chosen) > 4 and len(chosen) % 3 == 0:  # 헤드마다 따로 담은 것
            count = len(chosen) // 3
            order = np.arange(len(chosen))
            for table in (order.reshape(count, 3).T, order.reshape(3, count)):
                joined = [
                    projections.linear(
                        np.concatenate([chosen[i] for i in row], 1),
                        _joined([biases[places[i]] for i in row]),
                    )
                    for row in table
                ]
                if None not in joined:
                    yield from itertools.permutations(joined)
            return  # 헤드가 많으면 뒤집어 담은 것까지 섞어 보지 않습니다
        total = sum(kernel.shape[1] for kernel in chosen)
        ways = (_cut_plain, _cut_by_head, _cut_inside)
        for cut in ways[: 1 if len(chosen) > 2 else 3]:
            parts = []
            for kernel, place in zip(chosen, places):
                pieces = round(3 * kernel.shape[1] / total)
                parts += cut(kernel, biases[place], pieces, heads)
            if len(parts) == 3 and None not in parts:
                yield from itertools.permutations(parts)


def _joined(biases):
    return None if any(b is None for b in biases) else np.concatenate(biases)


def _cut(kernel, bias, pieces, view):
    """합쳐 담은 것을 나눕니다. `view`가 마지막 축을 (pieces, 나머지)로 바꿉니다."""
    if (
        not pieces
        or kernel.shape[1] % pieces
        or (bias is not None and bias.size != kernel.shape[1])
    ):
        return [None]
    bias = np.zeros(kernel.shape[1]) if bias is None else bias
    both = view(np.concatenate([kernel, bias[np.newaxis]]))
    return [projections.Linear(part[:-1], part[-1]) for part in both]


def _cut_plain(kernel, bias, pieces, heads):
    return _cut(
        kernel, bias, pieces, lambda a: a.reshape(len(a), pieces, -1).swapaxes(0, 1)
    )


def _cut_by_head(kernel, bias, pieces, heads):
    """헤드마다 쿼리, 키, 값을 나란히 담은 것."""
    if pieces == 1 or not heads or kernel.shape[1] % (pieces * heads):
        return _cut_plain(kernel, bias, pieces, heads)

    def view(a):
        split = a.reshape(len(a), heads, pieces, -1)
        return split.transpose(2, 0, 1, 3).reshape(pieces, len(a), -1)

    return _cut(kernel, bias, pieces, view)


def _cut_inside(kernel, bias, pieces, heads):
    """성분마다 쿼리, 키, 값을 나란히 담은 것."""
    return _cut(
        kernel,
        bias,
        pieces,
        lambda a: a.reshape(len(a), -1, pieces).transpose(2, 0, 1),
    )
