"""인코더 층과 디코더 층, 그리고 그것을 쌓은 것.

- `encoder_layer(x, mask)`: x (batch, length, d_model), mask는 키의 자리를 말합니다.
- `decoder_layer(x, memory, mask, memory_mask)`: mask는 셀프 어텐션의 것(룩어헤드와 답의
  패딩), memory_mask는 입력 문장의 패딩입니다.

`(d_model, num_heads, d_ff)`로 만드는 클래스나 함수, 또는 이미 만든 것을 받습니다.
마스크의 모양은 (batch, 1, 1 또는 length, length), 헤드의 축이 없는 3차원,
(batch, length)나 (length, length)를 차례로 넣어 봅니다. 가중치를 읽어 기준과 견줍니다.
기준은 하위 층마다 무엇을 하고, 잔차로 무엇을 더하고, 어느 것으로 정규화하는지를 한
걸음(`Step`)으로 적은 것이고, 구조의 실수는 걸음을 바꿉니다. 읽은 것으로 값을 되살리지
못하면 성질만 보고, 어긋난 성질이 없으면 모르는 것입니다.
post-norm과 pre-norm, ReLU와 GELU, 스택의 끝에 있는 층 정규화는 모두 맞습니다.
"""

import functools
import hashlib
import itertools
import math
from typing import NamedTuple

import numpy as np

from transformer_notes.checker import names
from transformer_notes.checker.attention import attend, roles
from transformer_notes.checker.kinds import (
    PRE_NORM,
    Case,
    Kind,
    changed,
    first,
    in_shape,
    to_array,
)
from transformer_notes.checker.layer_weights import read_layers, width_of
from transformer_notes.checker.messages import Example
from transformer_notes.checker.tensors import close

EPSILON = 1e-6
#: 층 정규화의 ε이 무엇이든 맞는다고 볼 만큼.
LOOSE = 3e-3
_MASKED = ("47", "2", "3 zero", "3 large")
_INSIDE = ("8", "8 d_model", "9", "10 both", "10 split", "12", "23", "24")
_NORMED = ("26 n-1", "26 joint", "26 batch", "28", "45")


class Step(NamedTuple):
    """하위 층 하나를 지나는 걸음."""

    #: 몇째 하위 층인지. None이면 하위 층 없이 정규화만 합니다.
    place: int | None
    #: 잔차로 더하는 것: "x", "" (없음), "twice", "first" (층의 입력), "previous" (앞
    #: 하위 층의 입력), "normed".
    residual: str
    #: 몇째 정규화를 쓰는지. None이면 하지 않습니다.
    norm: int | None


def structural(count):
    """하위 층이 `count`개인 층에서 구조를 바꾸는 스위치들입니다."""
    places = range(count)
    each = ("all", *places)
    pairs = itertools.permutations(places, 2)
    orders = list(itertools.permutations(places))[1:]
    return (
        *(f"48 {place}" for place in each),
        *(f"49 first {place}" for place in places[1:]),
        *(f"49 previous {place}" for place in places[2:]),
        *(f"49 twice {place}" for place in each),
        *(f"50 {place}" for place in each),
        *(f"51 {place}={other}" for place, other in pairs),
        *(f"51 all={place}" for place in places if count > 2),
        *(f"52 {place}" for place in places),
        *(f"52 {place} normed" for place in places),
        *("53 " + "".join(map(str, order)) for order in orders),
        *("53 " + "".join(map(str, order)) + " norms" for order in orders),
    )


@functools.cache
def steps(switches, count):
    """스위치를 켠 층의 걸음들입니다."""

    def on(what, place):
        return bool({f"{what} all", f"{what} {place}"} & switches)

    def step(turn, place):
        norm, residual = (turn if turned_norms else place), "x"
        for switch in switches:
            if switch.startswith("51 "):
                who, _, other = switch[3:].partition("=")
                norm = int(other) if who in ("all", str(place)) else norm
        if {"28", "45"} & switches:
            residual = "normed"
        for kind in ("first", "previous", "twice"):
            residual = kind if on(f"49 {kind}", place) else residual
        residual = "" if on("48", place) else residual
        runs = f"52 {place} normed" not in switches
        norm = None if on("50", place) else norm
        return Step(place if runs else None, residual, norm)

    order, turned_norms = range(count), False
    for switch in switches:
        if switch.startswith("53 "):
            order = map(int, switch.split()[1])
            turned_norms = switch.endswith("norms")
    return tuple(
        step(turn, place)
        for turn, place in enumerate(order)
        if f"52 {place}" not in switches
    )


def activate(x, kind):
    """피드포워드의 활성 함수."""
    if kind == "gelu":
        return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2
    if kind == "swish":
        return x / (1 + np.exp(-x))
    return np.maximum(x, 0)


def normalise(x, norm, switches):
    """층 정규화. 26은 자리나 배치까지 함께 정규화하거나 d - 1로 나눕니다."""
    if norm is None:
        return x
    axis = -1
    if "26 joint" in switches or "26 batch" in switches:
        axis = (-2, -1) if "26 joint" in switches else (0, 1, 2)
    centred = x - x.mean(axis, keepdims=True)
    spread = (centred * centred).mean(axis, keepdims=True)
    if "26 n-1" in switches:
        spread = spread * x.shape[-1] / (x.shape[-1] - 1)
    gamma, beta = norm
    return gamma * centred / np.sqrt(spread + EPSILON) + beta


def multi_head(maps, query, key, value, visible, heads, switches):
    """멀티 헤드 어텐션의 (출력, 아무 값이나 되는 행)."""
    q, k, v = (one(x) for one, x in zip(maps, (query, key, value)))

    def split(x):
        batch, length, width = x.shape
        if {"10 both", "10 split"} & switches:
            return x.reshape(batch, heads, length, width // heads)
        return x.reshape(batch, length, heads, width // heads).swapaxes(1, 2)

    scale = query.shape[-1] if "8 d_model" in switches else None
    output, _, free = attend(
        split(q), split(k), split(v), visible, switches, scale=scale
    )
    if "10 both" not in switches:
        output = output.swapaxes(1, 2)
    output = maps[3](output.reshape(*query.shape[:2], -1))
    if "12" in switches:
        output = np.maximum(output, 0)
    return output, free.any(1)


def digest(array):
    """배열의 지문. 셈해 둔 것을 찾는 열쇠로 씁니다."""
    return hashlib.sha1(array.tobytes()).digest()


def layer(reading, part, case, x, memory, masks, switches):
    """층 하나의 (출력, 아무 값이나 되는 행). 지나 본 걸음은 다시 셈하지 않습니다."""
    first, previous, free = x, x, np.zeros(x.shape[:2], bool)
    for step in steps(switches & _STRUCTURE, len(part.norms)):
        kept = {"first": first, "previous": previous}.get(step.residual, x)
        known = (case, id(part), step, reading.norm_first, reading.activation)
        known += (switches - _STRUCTURE, digest(x), digest(kept))
        if known not in reading.memo:
            reading.memo[known] = walk(
                reading, part, step, x, kept, memory, masks, switches
            )
        previous, (x, rows) = x, reading.memo[known]
        free = free | rows
    return x, free


def walk(reading, part, step, x, kept, memory, masks, switches):
    """한 걸음의 (출력, 아무 값이나 되는 행). kept는 잔차로 더할 것입니다."""
    pair = None if step.norm is None else part.norms[step.norm]
    norm_before = reading.norm_first or step.residual == "normed"
    before = normalise(x, pair, switches) if norm_before else x
    output, rows = 0.0, False
    if step.place is not None:
        output, rows = sublayer(
            reading, part, step.place, before, memory, masks, switches
        )
    changed = {"normed": before, "twice": 2 * x, "": np.zeros_like(x)}
    total = changed.get(step.residual, kept) + output
    return (total if reading.norm_first else normalise(total, pair, switches)), rows


def sublayer(reading, part, place, x, memory, masks, switches):
    """하위 층 하나의 (출력, 아무 값이나 되는 행). 어텐션은 계산해 둔 것을 씁니다."""
    if place < len(part.attentions):
        if part.attentions[place] is None:
            return 0.0, False
        query, key, value, mask = x, x, x, masks[0]
        if not place and "47 self" in switches:
            mask = np.ones_like(mask)
        if place:
            query, key, value = roles((x, memory, memory), switches)
            mask = memory_mask(masks, switches)
        inside = switches & _ATTENDS
        known = (id(part), place, inside, *map(digest, (query, key, value, mask)))
        if known not in reading.memo:
            reading.memo[known] = multi_head(
                part.attentions[place], query, key, value, mask, reading.heads, inside
            )
        return reading.memo[known]
    if part.feed_forward is None:
        return 0.0, False
    first, second = part.feed_forward
    hidden = first(x)
    if "23" not in switches:
        hidden = activate(hidden, reading.activation)
    hidden = second(hidden)
    return (np.maximum(hidden, 0) if "24" in switches else hidden), False


def memory_mask(masks, switches):
    """크로스 어텐션의 마스크. 7은 답의 것을 씁니다."""
    if "7 self" in switches:
        return masks[0]
    if "7 padding" in switches:
        return masks[0][..., -1:, :]
    if "47 memory" in switches:
        return np.ones_like(masks[1])
    return ~masks[1] if "2 memory" in switches else masks[1]


#: 구조를 바꾸는 스위치.
_STRUCTURE = frozenset(("28", "45", *structural(2), *structural(3)))
#: 어텐션의 값을 바꾸는 스위치.
_ATTENDS = frozenset(
    (*_MASKED, "5", "8", "8 d_model", "9", "10 both", "10 split", "12")
)


class _Block(Kind):
    """두 층이 함께 쓰는 것."""

    factory = (names.D_MODEL, names.NUM_HEADS, names.D_FF)
    sizes = ((8, 4, 12),)
    strict = False
    #: 마스크의 꼴이 틀리면 실행되지 않습니다. 처음 설명되는 꼴이 맞습니다.
    first_style = True
    looked = (
        "마스크로 가린 것이 새는지, 자리의 차례, 보이는 것을 읽는지, 배치의 다른 문장"
    )
    comparable = (
        "어텐션의 네 변환, 피드포워드의 두 변환, 정규화의 배율과 편향을 배열이나 "
        "변수나 파라미터로 객체의 속성에 두세요. 부품은 따로 확인할 수 있습니다: "
        "multi_head_attention, feed_forward, add_norm."
    )
    unexplained = (
        "읽은 가중치로 값을 되살리지 못했습니다. 논문과 다른 구조(RMSNorm, SwiGLU, "
        "병렬 블록)이거나, 목록에 없는 잘못이 있거나, 실수가 너무 많습니다."
    )
    returns = "x와 같은 모양"
    #: 층마다 어텐션의 수.
    attentions = 1
    together = 2
    #: 셋과 넷도 함께 켜 보는 스위치.
    common = ()

    def sizes_of(self, built):
        width = width_of(built)
        return ((width, None, None),) if width else self.sizes

    def styles(self):
        return [(rank, kind) for rank in (4, 3, 2) for kind in ("bool", "float32")]

    def filled(self, size):
        d_model, heads, _ = size
        return dict.fromkeys(names.HEAD_DIM, d_model // heads) if heads else {}

    def readings(self, group):
        return read_layers(group.built, *group.size[:2], self.attentions)

    def compatible(self, switches):
        if {"47", "2"} <= switches or {"47", "5"} <= switches:
            return False
        return super().compatible(switches)

    def combinations(self):
        yield from super().combinations()
        for size in (3, 4):
            yield from filter(
                self.compatible,
                map(frozenset, itertools.combinations(self.common, size)),
            )

    def plausible(self, group, switches):
        return [one for one in group.readings if one.most >= len(switches)]

    def read(self, raw, case):
        return in_shape(to_array(first(raw)), case.inputs["x"].shape)

    def result(self, case, switches, reading):
        x, memory, masks = self.parts(case)
        free = np.zeros(x.shape[:2], bool)
        for part in reading.layers:
            x, rows = layer(reading, part, case, x, memory, masks, switches)
            free |= rows
        if reading.final is not None:
            x = normalise(x, reading.final, switches)
        return x, free

    def reference(self, case, switches=frozenset(), reading=None):
        return self.result(case, switches, reading)[0]

    def agrees(self, outcome, case, switches, reading):
        if ("28" if reading.norm_first else "45") in switches:
            return False
        try:
            expected, free = self.result(case, switches, reading)
        except (ValueError, IndexError):
            return outcome.value is None
        if outcome.value is None or free.all():
            return False  # 아무것도 견주지 못하면 설명이 아닙니다
        far = np.abs(outcome.value - expected)
        if free.any():
            far, expected = far[~free], expected[~free]
        scale = np.abs(expected).max()
        # 유한하지 않으면 아래의 비교는 거짓입니다
        return bool(far.max() <= max(outcome.tolerance, LOOSE) * scale)

    def remark(self, trial, reading):
        return PRE_NORM if reading.norm_first else ""

    def placed(self, mask, style, mask_true):
        """마스크 (batch, 1 또는 length, length)를 그 꼴로, 후보의 뜻대로 바꿉니다."""
        rank, dtype = style
        mask = ~mask if mask_true == "hide" else mask
        if rank == 4:
            mask = mask[:, np.newaxis]
        elif rank == 2:
            mask = mask[:, 0] if mask.shape[1] == 1 else mask[0]
        return mask.astype(dtype)

    def compare(self, trial, case, other, keep, sentence):
        """두 사례의 결과가 keep의 자리에서 다르면 그 문장과 예를 냅니다."""
        start, changed = trial.call(case), trial.call(other)
        if start.value is None or changed.value is None:
            return
        expected, given = start.value[keep], changed.value[keep]
        if not close(given, expected, 1e-3):
            yield sentence, Example(other.inputs, expected, given)

    def deaf(self, trial, case, name, sentence):
        """name의 둘째 자리를 여러 번 바꾸어도 첫 자리의 출력이 그대로인지 봅니다.

        소프트맥스가 한쪽으로 쏠려 있으면 한 번은 그대로일 수도 있습니다.
        """
        start = trial.call(case)
        for size in (0.3, -0.3, 1.0, -1.0, 3.0, -3.0):
            other = np.array(case.inputs[name])
            other[:, 1] += np.linspace(-size, size, other.shape[-1])
            moved = changed(case, **{name: other})
            found = trial.call(moved)
            if start.value is None or found.value is None:
                return
            if not close(found.value[:, 0], start.value[:, 0], 1e-6):
                return
        example = Example(moved.inputs, given=found.value[:, 0])
        yield f"{sentence} 출력이 그대로입니다.", example


def turned(array):
    return array[:, ::-1].copy()


def _vectors(rng, *shape):
    return np.round(rng.normal(0.2, 0.7, shape), 2).astype(np.float32)


def _hidden_first(rng, batch, length):
    """문장마다 뒤쪽이 패딩인 (batch, length). 첫 문장에는 꼭 있습니다."""
    counts = rng.integers(1, length + 1, batch)
    counts[0] = length - (2 if length > 3 else 1)
    return np.arange(length) < counts[:, np.newaxis]


class EncoderLayer(_Block):
    """`encoder_layer(x, mask)`는 (batch, length, d_model)을 냅니다."""

    name = "encoder_layer"
    title = "인코더 층"
    arguments = (names.X, names.SOURCE_MASK)
    masks = ("mask",)
    shapes = {
        "x": "(batch, length, d_model)",
        "mask": "(batch, 1, 1, length), 키의 자리",
    }
    switches = (*_MASKED, "5", *_INSIDE, *_NORMED, *structural(2))
    common = (
        *("47", "2", "3 zero", "5", "8", "8 d_model", "9", "10 both", "12", "23"),
        *("24", "26 n-1", "26 joint", "28", "45", "48 all", "50 all", "52 0", "52 1"),
    )
    shown = (13, 25)

    def cases(self, rng, size):
        for batch, length in ((1, 2), (1, 3), (1, 5), (3, 4)):
            x = _vectors(rng, batch, length, size[0])
            mask = _hidden_first(rng, batch, length)[:, np.newaxis]
            yield Case({"x": x, "mask": mask}, batch)

    def arrange(self, case, style, mask_true):
        x, mask = case.inputs.values()
        return x, self.placed(mask, style, mask_true)

    def parts(self, case):
        x, mask = case.inputs.values()
        return x.astype(np.float64), None, (mask[:, np.newaxis],)

    def properties(self, trial):
        case = trial.groups[0].cases[2]
        x, mask = case.inputs.values()
        other = np.array(x)
        other[:, -1] += 3
        yield from self.compare(
            trial,
            case,
            changed(case, x=other),
            np.s_[:, :-1],
            "패딩의 벡터를 바꾸었는데 다른 자리의 출력이 달라집니다.",
        )
        whole = changed(case, mask=np.ones_like(mask))
        start, back = trial.call(whole), trial.call(changed(whole, x=turned(x)))
        if start.value is not None and back.value is not None:
            if not close(turned(back.value), start.value, 1e-3):
                yield (
                    "자리의 차례를 바꾸면 출력도 그 차례로 바뀌어야 합니다.",
                    Example({"x": turned(x)}, turned(start.value), back.value),
                )
        yield from self.deaf(trial, case, "x", "보이는 자리를 바꾸었는데")
        yield from _alone(trial)


class DecoderLayer(_Block):
    """`decoder_layer(x, memory, mask, memory_mask)`는 x와 같은 모양을 냅니다."""

    name = "decoder_layer"
    title = "디코더 층"
    arguments = (names.X, names.MEMORY, names.SELF_MASK, names.MEMORY_MASK)
    masks = ("mask", "memory_mask")
    shapes = {
        "x": "(batch, length, d_model)",
        "memory": "(batch, length_memory, d_model)",
        "mask": "(batch, 1, length, length), 셀프 어텐션의 것",
        "memory_mask": "(batch, 1, 1, length_memory), 입력 문장의 것",
    }
    switches = (
        *("47 memory", "47 self", *_MASKED, "2 memory", "7 self", "7 padding"),
        *("11 110", "11 101", "11 100", *_INSIDE, *_NORMED, *structural(3)),
    )
    common = (
        *("47 memory", "47", "2", "7 self", "7 padding", "11 110", "8", "9", "10 both"),
        *("12", "23", "24", "26 n-1", "28", "45", "48 all", "50 all", "52 1", "52 2"),
    )
    shown = (13, 25)
    attentions = 2

    def cases(self, rng, size):
        for batch, length, source in ((1, 2, 2), (1, 3, 3), (1, 4, 3), (3, 3, 4)):
            visible = np.tri(length, dtype=bool)[np.newaxis]
            real = _hidden_first(rng, batch, length)[:, np.newaxis]
            known = np.ones((batch, 1, source), bool)
            known[:, :, 0] = False  # 답의 패딩과 다른 자리
            yield Case(
                {
                    "x": _vectors(rng, batch, length, size[0]),
                    "memory": _vectors(rng, batch, source, size[0]),
                    "mask": visible & real,
                    "memory_mask": known,
                },
                batch,
            )

    def arrange(self, case, style, mask_true):
        x, memory, mask, known = case.inputs.values()
        placed = (self.placed(one, style, mask_true) for one in (mask, known))
        return x, memory, *placed

    def takes(self, case, style):
        return style[0] != 2 or case.batch == 1

    def parts(self, case):
        x, memory, *masks = case.inputs.values()
        masks = [mask[:, np.newaxis] for mask in masks]
        return x.astype(np.float64), memory.astype(np.float64), masks

    def properties(self, trial):
        case = trial.groups[0].cases[2]
        x, memory, mask, known = case.inputs.values()
        causal = changed(case, mask=np.tri(x.shape[1], dtype=bool)[np.newaxis])
        later = np.array(x)
        later[:, -1] += 3
        yield from self.compare(
            trial,
            causal,
            changed(causal, x=later),
            np.s_[:, :-1],
            "뒤의 토큰이 앞의 출력을 바꿉니다.",
        )
        hidden = np.array(memory)
        hidden[:, 0] += 3
        yield from self.compare(
            trial,
            case,
            changed(case, memory=hidden),
            np.s_[:],
            "memory_mask로 가린 자리가 출력을 바꿉니다.",
        )
        yield from self.compare(
            trial,
            case,
            changed(case, memory=turned(memory), memory_mask=known[..., ::-1].copy()),
            np.s_[:],
            "메모리와 그 마스크의 차례를 함께 바꾸었는데 출력이 달라집니다.",
        )
        yield from self.deaf(trial, case, "memory", "보이는 메모리를 바꾸었는데")
        yield from _alone(trial)


def _alone(trial):
    """배치 속의 문장은 혼자 있을 때와 같습니다."""
    case = trial.groups[0].cases[-1]
    alone = Case({name: value[:1] for name, value in case.inputs.items()}, 1)
    together, single = trial.call(case), trial.call(alone)
    if together.value is None or single.value is None:
        return
    if not close(single.value, together.value[:1], 1e-3):
        sentence = "같은 문장인데 배치의 다른 문장에 따라 출력이 달라집니다."
        yield sentence, Example(alone.inputs, together.value[:1], single.value)
