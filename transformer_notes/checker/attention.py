"""스케일드 닷 프로덕트 어텐션을 봅니다. 멀티 헤드 어텐션도 이 기준을 씁니다."""

import dataclasses
import itertools

import numpy as np

from transformer_notes.checker import names
from transformer_notes.checker.kinds import (
    Case,
    Kind,
    changed,
    first,
    in_shape,
    subsets,
    to_array,
)
from transformer_notes.checker.messages import Example
from transformer_notes.checker.tensors import SINGLE, close, to_numpy

LARGE = 1e9
#: 가려진 점수를 다루는 정직한 방법. 볼 것이 하나도 없을 때에만 서로 다릅니다.
FILLS = ("select", "add", "nan", "zero")
#: (쿼리, 키, 값)의 자리에 온 인자의 번호.
ROLES = tuple(
    "11 " + "".join(order) for order in list(itertools.permutations("012"))[1:]
)
MASKING = ("47", "2", "3 zero", "3 large", "3 product", "3 infinite", "4", "5")


def attend(query, key, value, visible, switches, fill="select", scale=None):
    """실수를 켤 수 있는 어텐션의 (출력, 가중치, 아무 값이나 되는 행)입니다."""
    scores = query @ np.swapaxes(key, -1, -2)
    if "8" not in switches:
        scores = scores / np.sqrt(scale or query.shape[-1])
    if "47" in switches:
        visible = np.ones_like(visible)
    if "2" in switches:
        visible = ~visible
    if "5" in switches:
        visible = np.swapaxes(visible, -1, -2)
    visible = np.broadcast_to(visible, scores.shape)
    axis = -2 if "9" in switches else -1
    free = ~visible.any(-1) & (axis == -1)
    if "3 zero" in switches:
        scores = scores * visible
    elif "3 large" in switches:
        scores = np.where(visible, scores, scores * -LARGE)
    elif "3 product" in switches:
        scores = np.where(visible, 0, scores * -LARGE)
    elif "3 infinite" in switches:
        scores = np.where(visible, scores, scores * -np.inf)
    elif "4" in switches:
        scores = np.full(scores.shape, np.nan)
    elif fill == "add":
        scores = scores + np.where(visible, 0, -LARGE)
    else:
        hidden = -LARGE if fill == "select" else -np.inf
        scores = np.where(visible, scores, hidden)
    if any(switch.startswith(("3", "4")) for switch in switches):
        free = np.zeros_like(free)
    weights = np.exp(scores - scores.max(axis, keepdims=True))
    weights = weights / weights.sum(axis, keepdims=True)
    if fill == "zero":
        weights = np.where(visible.any(axis, keepdims=True), weights, 0)
    return weights @ value, weights, free


def roles(values, switches):
    """인자의 차례가 바뀐 실수를 켰으면 그 차례로 놓습니다."""
    for switch in switches:
        if switch.startswith("11 "):
            return [values[int(place)] for place in switch[3:]]
    return values


def weights_of(raw, shape):
    """함께 돌려준 가중치입니다. 없으면 None입니다."""
    for part in raw[1:] if isinstance(raw, tuple | list) else ():
        array = to_numpy(part)
        if array is not None and array.dtype.kind == "f" and array.size:
            if array.shape[-2:] == shape[-2:] and array.size == np.prod(shape):
                return array.reshape(shape).astype(np.float64)
    return None


def dropped(weights, expected):
    """기준의 가중치에서 몇을 지우고 나머지를 똑같이 키운 것인지 봅니다."""
    seen = expected > 1e-4  # 더 작은 가중치는 지워졌는지 알 수 없습니다
    ratio = weights[seen] / expected[seen]
    ratio = ratio[ratio != 0]
    if close(weights.sum(-1), expected.sum(-1), 1e-3) or not ratio.size:
        return False
    return ratio.min() > 0.99 and np.ptp(ratio) < 1e-2 * ratio.max()


def visible_at(rng, *shape):
    """행마다 볼 것이 하나는 있는 무작위 마스크입니다."""
    mask = rng.random(shape) < 0.5
    mask[..., 0] |= ~mask.any(-1)
    return mask


class Masked(Kind):
    """쿼리, 키, 값, 마스크를 받는 것들이 함께 쓰는 것."""

    arguments = (names.QUERY, names.KEY, names.VALUE, names.MASK)
    masks = ("mask",)

    def prepare(self, trial):
        """후보가 반정밀도로 계산하는지를 결과마다 적어 둡니다."""
        if self._in_half(trial):
            for group in trial.groups:
                group.outcomes = [
                    dataclasses.replace(outcome, half=True)
                    for outcome in group.outcomes
                ]

    def _in_half(self, trial):
        """결과가 모두 NaN이면 마스크 없이 불러서 반정밀도인지 봅니다."""
        group = trial.groups[0]
        if any(outcome.tolerance > SINGLE for outcome in group.outcomes):
            return True
        broken = [
            outcome.value is not None and np.isnan(outcome.value).all()
            for outcome in group.outcomes
        ]
        if not any(broken):
            return False
        case = group.cases[-1]
        outcome = trial.call(changed(case, mask=None))
        if outcome.value is None:
            return False
        plain = changed(case, mask=np.ones_like(case.inputs["mask"]))
        expected = [
            self.expected(plain, switches, reading)[0]
            for switches in subsets([s for s in self.switches if s not in MASKING], 2)
            if self.compatible(switches)
            for reading in group.readings
        ]
        return not any(close(outcome.value, e, 1e-5) for e in expected) and any(
            close(outcome.value, e, 1e-2) for e in expected
        )

    def forgives(self, case):
        """볼 것이 하나도 없는 행은 무엇이 나와도 됩니다."""
        return not case.inputs["mask"].any(-1).all()

    def compatible(self, switches):
        crowded = "47" in switches and bool(switches & {*MASKING[1:]})
        return not crowded and super().compatible(switches)

    def styles(self):
        return [(rank, kind) for kind in ("bool", "float32") for rank in self.ranks]

    def placed(self, mask, style, mask_true):
        """마스크를 그 꼴로, 후보의 뜻대로 바꿉니다."""
        if mask is None:
            return None
        rank, dtype = style
        mask = ~mask if mask_true == "hide" else mask
        if rank == 4:
            mask = mask[:, np.newaxis]
        return (mask[0] if rank == 2 else mask).astype(dtype)

    def reference(self, case, switches=frozenset(), reading=None):
        return self.expected(case, switches, reading)[0]

    def agrees(self, outcome, case, switches, reading):
        try:
            expected, weights, free = self.expected(case, switches, reading)
        except (ValueError, IndexError):
            return outcome.value is None
        if outcome.value is None or ("4" in switches) > outcome.half:
            return False
        seen = outcome.value[~free]
        if "4" not in switches and seen.size and np.isnan(seen).all():
            return False  # NaN뿐이면 무엇이든 설명하고, 아무것도 설명하지 않습니다
        given = np.where(free[..., np.newaxis], 0, outcome.value)
        expected = np.where(free[..., np.newaxis], 0, expected)
        if "14" not in switches and not close(given, expected, outcome.tolerance):
            return False
        shown = weights_of(outcome.raw, weights.shape)
        return ("14" in switches) == (shown is not None and dropped(shown, weights))

    def compared(self, case, outcome, reading=None, switches=frozenset()):
        example = super().compared(case, outcome, reading, switches)
        _, weights, _ = self.expected(case, switches - {"14"}, reading)
        shown = weights_of(outcome.raw, weights.shape)
        if shown is None or not dropped(shown, weights):
            return example
        return Example(case.inputs, weights, shown, "나와야 할 가중치")

    def symptoms(self, trial):
        """학습할 때의 가중치는 행의 합이 1이 아니면 지워진 것입니다."""
        width = trial.groups[0].cases[0].inputs["query"].shape[-1]
        x = np.random.default_rng(1).normal(0, 0.3, (1, 12, width)).astype("float32")
        mask = np.ones((1, 12, 12), bool)
        case = Case({"query": x, "key": x, "value": x, "mask": mask}, 1)
        still, moved = trial.call(case), trial.call(case, training=True)
        if still.value is None or moved.value is None:
            return
        for part in still.raw[1:] if isinstance(still.raw, tuple | list) else ():
            array = to_numpy(part)
            if array is None or array.shape[-2:] != mask.shape[-2:]:
                continue
            train = weights_of(moved.raw, array.shape)
            if train is None or not close(array.sum(-1), np.ones(array.shape[:-1])):
                continue
            if (train == 0).any() and dropped(train, array.astype(np.float64)):
                sums = train.reshape(-1, train.shape[-1])[0]
                inputs = {"training": True, "첫 행의 가중치": sums}
                yield 14, Example(inputs, 1.0, float(sums.sum()))
            return

    def properties(self, trial):
        case, start = next(trial.groups[0].pairs())

        def compared(sentence, other, expected):
            outcome = trial.call(other)
            if outcome.value is not None and not close(outcome.value, expected):
                yield sentence, Example(other.inputs, expected, outcome.value)

        key, value, mask = (case.inputs[name] for name in ("key", "value", "mask"))
        if self.name == "attention":
            yield from compared(
                "값이 모두 1이면 출력도 1이어야 합니다. 가중치의 합이 1이 아닙니다.",
                changed(case, value=np.ones_like(value), mask=np.ones_like(mask)),
                np.ones_like(start.value),
            )
        hidden = np.ones_like(mask)
        hidden[..., -1] = False
        shown = trial.call(changed(case, mask=hidden))
        louder = np.array(value)
        louder[..., -1, :] += 7
        other = changed(case, value=louder, mask=hidden)
        if shown.value is not None:
            yield from compared("가린 키의 값이 출력을 바꿉니다.", other, shown.value)
        turned = changed(
            case,
            key=key[..., ::-1, :].copy(),
            value=value[..., ::-1, :].copy(),
            mask=mask[..., ::-1].copy(),
        )
        yield from compared(
            "키와 값의 차례를 함께 바꾸었는데 출력이 달라집니다.", turned, start.value
        )


class Attention(Masked):
    """`attention(query, key, value, mask)`는 출력이나 (출력, 가중치)를 냅니다.

    query (batch, length_q, d_k), key (batch, length_k, d_k), value (batch, length_k,
    d_v), mask (batch, length_q, length_k)입니다. 헤드의 축이 하나 더 있는 4차원이나,
    배치가 없는 2차원을 받는 것도 됩니다. 볼 것이 하나도 없는 행의 출력은 보지 않습니다.
    """

    name = "attention"
    title = "스케일드 닷 프로덕트 어텐션"
    switches = (*MASKING, "8", "9", *ROLES, "14")
    ranks = (3, 4, 2)
    shapes = {
        "query": "(batch, length_q, d_k)",
        "key": "(batch, length_k, d_k)",
        "value": "(batch, length_k, d_v)",
        "mask": "(batch, length_q, length_k)",
    }
    returns = "(batch, length_q, d_v), 또는 (출력, 가중치)"

    def cases(self, rng, size):
        def case(batch, length_q, length_k, d_k, d_v, mask):
            lengths = {"query": (length_q, d_k), "key": (length_k, d_k)}
            lengths["value"] = length_k, d_v
            inputs = {
                name: np.round(rng.normal(0, 1.5, (batch, *shape)), 2).astype("float32")
                for name, shape in lengths.items()
            }
            mask = np.broadcast_to(mask, (batch, length_q, length_k))
            return Case({**inputs, "mask": np.array(mask, bool)}, batch)

        yield case(1, 2, 2, 2, 2, [[1, 0], [1, 1]])
        yield case(1, 3, 3, 4, 4, [[1, 1, 0]])
        yield case(1, 3, 3, 3, 3, [[0, 1, 1], [1, 0, 0], [1, 1, 0]])
        yield case(1, 3, 3, 4, 4, 1)
        yield case(1, 2, 4, 4, 3, visible_at(rng, 2, 4))
        yield case(1, 3, 2, 2, 4, 1)
        yield case(1, 3, 3, 4, 4, [[1, 1, 0], [0, 0, 0], [1, 0, 1]])
        yield case(1, 4, 4, 8, 8, 1)
        yield case(3, 4, 4, 8, 8, visible_at(rng, 3, 4, 4))

    def takes(self, case, style):
        return style[0] != 2 or case.batch == 1

    def arrange(self, case, style, mask_true):
        *values, mask = case.inputs.values()
        rank = style[0]
        if rank == 4:
            values = [value[:, np.newaxis] for value in values]
        elif rank == 2:
            values = [value[0] for value in values]
        return *values, self.placed(mask, style, mask_true)

    def read(self, raw, case):
        # 배치가 둘인 사례는 없으므로, 둘을 담은 목록은 출력과 가중치입니다
        pair = isinstance(raw, list) and len(raw) == 2
        array = to_array(raw[0] if pair else first(raw))
        batch, length = case.inputs["query"].shape[:2]
        shape = (batch, length, case.inputs["value"].shape[-1])
        if array.ndim == 4 and array.shape[1] == 1:
            array = array[:, 0]
        elif array.ndim == 2 and batch == 1:
            array = array[np.newaxis]
        return in_shape(array, shape)

    def readings(self, group):
        return FILLS

    def expected(self, case, switches, reading):
        *values, mask = case.inputs.values()
        values = [np.asarray(value, np.float64) for value in values]
        return attend(*roles(values, switches), mask, switches, reading)
