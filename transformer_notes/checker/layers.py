"""인코더 층과 디코더 층, 그리고 그것을 쌓은 것.

- `encoder_layer(x, mask)`: x (batch, length, d_model), mask는 키의 자리를 말합니다.
- `decoder_layer(x, memory, mask, memory_mask)`: mask는 셀프 어텐션의 것(룩어헤드와 답의
  패딩), memory_mask는 입력 문장의 패딩입니다.

`(d_model, num_heads, d_ff)`로 만드는 클래스나 함수, 또는 이미 만든 것을 받습니다.
마스크의 모양은 (batch, 1, 1 또는 length, length), 헤드의 축이 없는 3차원,
(batch, length)를 차례로 넣어 봅니다. 가중치를 읽어 기준과 견주고, 읽은 것으로 값을
재현하지 못하면 성질만 봅니다.
post-norm과 pre-norm, ReLU와 GELU, 스택의 끝에 있는 층 정규화는 모두 맞습니다.
"""

import dataclasses
import math

import numpy as np

from transformer_notes.checker.attention import attend
from transformer_notes.checker.kinds import Case, Kind, in_shape, to_array
from transformer_notes.checker.layer_weights import read_layers, width_of
from transformer_notes.checker.messages import Example
from transformer_notes.checker.tensors import close

D_MODEL = ("d_model", "dim", "embed_dim", "hidden_size", "model_dim", "d", "hidden")
HEADS = ("num_heads", "heads", "n_heads", "h", "nhead", "head", "n_head", "nheads")
D_FF = (
    *("d_ff", "dff", "ff_dim", "hidden_dim", "ffn_dim", "d_inner", "dim_feedforward"),
    *("feed_forward_dim", "inner_dim", "mlp_dim", "d_hidden", "ffn_hidden", "units"),
)
X = ("x", "inputs", "src", "tgt", "target", "input", "hidden_states", "h", "y")
MEMORY = ("memory", "enc_output", "encoder_output", "context", "enc_out", "enc", "mem")
MASK = (
    *("mask", "attention_mask", "attn_mask", "src_mask", "padding_mask", "m"),
    *("self_mask", "look_ahead_mask", "tgt_mask", "causal_mask", "lookahead_mask"),
    *("self_attention_mask", "trg_mask", "target_mask", "x_mask"),
)
MEMORY_MASK = (
    *("memory_mask", "src_mask", "padding_mask", "enc_mask", "cross_mask"),
    *("encoder_mask", "enc_padding_mask", "source_mask", "cross_attention_mask"),
    *("mem_mask", "context_mask", "encoder_attention_mask"),
)
EPSILON = 1e-6
#: 층 정규화의 ε이 무엇이든 맞는다고 볼 만큼.
LOOSE = 3e-3
_INSIDE = ("2", "3 zero", "3 large", "5", "8", "8 d_model", "9")
_BLOCK = ("10 both", "10 split", "12", "23", "24", "26 n-1", "26 joint", "28")


def activate(x, kind):
    """피드포워드의 활성 함수."""
    if kind == "gelu":
        return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2
    if kind == "swish":
        return x / (1 + np.exp(-x))
    return np.maximum(x, 0)


def normalise(x, norm, switches):
    """층 정규화. 26은 자리까지 함께 정규화하거나 d - 1로 나눕니다."""
    axis = (-2, -1) if "26 joint" in switches else -1
    centred = x - x.mean(axis, keepdims=True)
    spread = x.var(axis, keepdims=True, ddof=1 if "26 n-1" in switches else 0)
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


def layer(reading, part, x, memory, masks, switches):
    """층 하나의 (출력, 아무 값이나 되는 행)."""
    free = np.zeros(x.shape[:2], bool)
    for maps, cross, norm in zip(part.attentions, (False, True), part.norms):

        def attention(x, maps=maps, cross=cross):
            nonlocal free
            query, key, value, mask = x, x, x, masks[0]
            if cross:
                query, key, value = roles(x, memory, switches)
                mask = memory_mask(masks, switches)
            output, rows = multi_head(
                maps, query, key, value, mask, reading.heads, switches
            )
            free = free | rows
            return output

        x = residual(x, attention, norm, reading.norm_first, switches)

    def feed_forward(x):
        first, second = part.feed_forward
        hidden = first(x)
        if "23" not in switches:
            hidden = activate(hidden, reading.activation)
        hidden = second(hidden)
        return np.maximum(hidden, 0) if "24" in switches else hidden

    x = residual(x, feed_forward, part.norms[-1], reading.norm_first, switches)
    return x, free


def residual(x, sublayer, norm, norm_first, switches):
    """잔차와 층 정규화. 28은 정규화한 입력을 더합니다."""
    before = normalise(x, norm, switches) if norm_first or "28" in switches else x
    total = (before if "28" in switches else x) + sublayer(before)
    return total if norm_first else normalise(total, norm, switches)


def roles(x, memory, switches):
    """크로스 어텐션의 쿼리, 키, 값. 11은 차례가 뒤바뀝니다."""
    for switch in switches:
        if switch.startswith("11 "):
            return [(x, memory)[int(place)] for place in switch[3:]]
    return x, memory, memory


def memory_mask(masks, switches):
    """크로스 어텐션의 마스크. 7은 답의 것을 씁니다."""
    if "7 self" in switches:
        return masks[0]
    if "7 padding" in switches:
        return masks[0][..., -1:, :]
    return ~masks[1] if "2 memory" in switches else masks[1]


class _Block(Kind):
    """두 층이 함께 쓰는 것."""

    factory = (D_MODEL, HEADS, D_FF)
    sizes = ((8, 4, 12),)
    strict = False
    together = 3
    #: 마스크의 꼴이 틀리면 실행되지 않습니다. 처음 설명되는 꼴이 맞습니다.
    first_style = True
    unread = "가중치로 값을 다시 계산해 보지 못해 마스크와 자리의 성질만 보았습니다."
    #: 층마다 어텐션의 수.
    attentions = 1

    def sizes_of(self, built):
        width = width_of(built)
        return ((width, None, None),) if width else self.sizes

    def styles(self):
        return [(rank, kind) for rank in (4, 3, 2) for kind in ("bool", "float32")]

    def readings(self, built, size):
        return read_layers(built, *size[:2], self.attentions)

    def plausible(self, group, switches):
        return [one for one in group.readings if one.most >= len(switches)]

    def read(self, raw, case):
        part = raw[0] if isinstance(raw, tuple | list) and len(raw) else raw
        return in_shape(to_array(part), case.inputs["x"].shape)

    def result(self, case, switches, reading):
        x, memory, masks = self.parts(case)
        free = np.zeros(x.shape[:2], bool)
        for part in reading.layers:
            x, rows = layer(reading, part, x, memory, masks, switches)
            free |= rows
        if reading.final is not None:
            x = normalise(x, reading.final, switches)
        return x, free

    def reference(self, case, switches=frozenset(), reading=None):
        return None if reading is None else self.result(case, switches, reading)[0]

    def agrees(self, outcome, case, switches, reading):
        try:
            with np.errstate(all="ignore"):
                expected, free = self.result(case, switches, reading)
        except (ValueError, IndexError):
            return outcome.value is None
        if outcome.value is None:
            return False
        kept = ~free[..., np.newaxis]
        if not kept.any():
            return False  # 아무것도 견주지 못하면 설명이 아닙니다
        tolerance = max(outcome.tolerance, LOOSE)
        return close(outcome.value * kept, expected * kept, tolerance)

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


def changed(case, **inputs):
    return dataclasses.replace(case, inputs={**case.inputs, **inputs})


def turned(array):
    return array[:, ::-1].copy()


def _vectors(rng, *shape):
    return np.round(rng.normal(0.2, 0.7, shape), 2).astype(np.float32)


def _hidden_first(rng, batch, length, least=1):
    """문장마다 뒤쪽이 패딩인 (batch, length). 첫 문장에는 꼭 있습니다."""
    counts = rng.integers(least, length + 1, batch)
    counts[0] = max(length - 1, 1)
    return np.arange(length) < counts[:, np.newaxis]


class EncoderLayer(_Block):
    """`encoder_layer(x, mask)`는 (batch, length, d_model)을 냅니다."""

    name = "encoder_layer"
    title = "인코더 층"
    arguments = (X, MASK)
    switches = (*_INSIDE, *_BLOCK)
    shown = (25,)

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
        yield from _alone(self, trial)


class DecoderLayer(_Block):
    """`decoder_layer(x, memory, mask, memory_mask)`는 x와 같은 모양을 냅니다."""

    name = "decoder_layer"
    title = "디코더 층"
    arguments = (X, MEMORY, MASK, MEMORY_MASK)
    switches = (
        *("2", "2 memory", "3 zero", "3 large", "7 self", "7 padding", "8", "9"),
        *("11 110", "11 101", "11 100", *_BLOCK),
    )
    shown = (25,)
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
        yield from _alone(self, trial)


def _alone(kind, trial):
    """배치 속의 문장은 혼자 있을 때와 같습니다."""
    case = trial.groups[0].cases[-1]
    alone = Case({name: value[:1] for name, value in case.inputs.items()}, 1)
    together, single = trial.call(case), trial.call(alone)
    if together.value is None or single.value is None:
        return
    if not close(single.value, together.value[:1], 1e-3):
        sentence = "같은 문장인데 배치의 다른 문장에 따라 출력이 달라집니다."
        yield sentence, Example(alone.inputs, together.value[:1], single.value)
