"""인코더와 디코더 층의 가중치를 모양과 차례로 읽습니다."""

import dataclasses
import itertools
import re

import numpy as np

from transformer_notes.checker import weights
from transformer_notes.checker.messages import Example
from transformer_notes.checker.projections import Linear, divisors

_ROLES = (
    ("q", r"(?:^|[._/])(?:w_?q|q|query|queries|to_q|q_?proj|q_?lin\w*|fc_?q|linear_q)"),
    ("k", r"(?:^|[._/])(?:w_?k|k|key|keys|to_k|k_?proj|k_?lin\w*|fc_?k|linear_k)"),
    ("v", r"(?:^|[._/])(?:w_?v|v|value|values|to_v|v_?proj|v_?lin\w*|fc_?v|linear_v)"),
    (
        "o",
        r"(?:^|[._/])(?:w_?o|o|out\w*|attention_output|dense|to_out|fc_?o\w*|o_?proj"
        r"|linear_o\w*|proj\w*)",
    ),
)
_TAIL = r"(?:_?dense|_?layer|_?kernel|_?weights?|_?\d+)?(?:[._/](?:kernel|weight|w))?$"


@dataclasses.dataclass(frozen=True, eq=False)
class Layer:
    """층 하나의 가중치."""

    #: 어텐션마다 쿼리, 키, 값, 출력의 `Linear`. 인코더는 하나, 디코더는 둘입니다.
    #: 가중치가 없으면 None입니다.
    attentions: list
    #: 피드포워드의 두 `Linear`. 없으면 None입니다.
    feed_forward: tuple | None
    #: 층 정규화마다 (감마, 베타). 없으면 None입니다.
    norms: list


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """가중치를 읽은 한 가지 방법."""

    layers: list
    heads: int
    norm_first: bool
    activation: str = "relu"
    #: 스택의 끝에 있는 층 정규화. 없으면 None입니다.
    final: tuple | None = None
    #: 읽는 방법에서 이미 드러난 실수.
    mistakes: tuple = ()
    #: 함께 켜 볼 스위치의 수. 드문 방법에서는 켜지 않습니다.
    most: int = 2
    #: 계산해 둔 어텐션의 출력과 걸음. 같은 층의 읽기가 함께 씁니다.
    memo: dict = dataclasses.field(default_factory=dict)

    def evidence(self, number):
        """가중치에서 드러난 실수의 예입니다."""
        if number in (50, 51, 52):
            part = self.layers[0]
            norms = {id(norm) for norm in part.norms if norm is not None}
            attentions = sum(one is not None for one in part.attentions)
            found = {
                "가중치를 가진 어텐션": attentions,
                "가중치를 가진 피드포워드": int(part.feed_forward is not None),
                "가중치를 가진 층 정규화": len(norms),
            }
            wanted = len(part.attentions)
            return Example(
                found, f"어텐션 {wanted}, 피드포워드 1, 층 정규화 {wanted + 1}"
            )
        if number == 25 and len(self.layers) == 1:
            return Example({"쓰인 어텐션": 1, "부른 곳": 2}, "어텐션 2")
        if number == 25:
            return Example({"가중치를 가진 층": 1, "부른 횟수": len(self.layers)})
        width = self.layers[0].attentions[0][0].kernel.shape[1]
        wide = {"헤드의 수": self.heads, "헤드마다의 너비": width // self.heads}
        return Example(wide, expected=f"너비 {width // self.heads**2}")


def width_of(built):
    """만들어진 층의 d_model을 가중치의 모양에서 짐작합니다. 모르면 None입니다."""
    sizes = [n for _, array in weights.collect(built) for n in array.shape]
    return max(set(sizes), key=sizes.count) if sizes else None


def read_layers(built, d_model, heads, attentions):
    """가중치를 층으로 나누어 읽습니다.

    Args:
        built: 후보.
        d_model: 모델의 차원.
        heads: 헤드의 수. 모르면 None이고, 3차원 커널에서 읽거나 여럿을 해 봅니다.
        attentions: 층마다 어텐션의 수. 인코더는 1, 디코더는 2입니다.

    Returns:
        `Reading`의 목록. 읽지 못하면 비어 있습니다.
    """
    entries = weights.collect(built)
    if not entries:
        return []
    found, torch = [], bool(weights.torch_modules(built))
    for transposed, parts in _ways(entries, d_model, torch):
        *arrays, seen_heads, width = parts
        known = seen_heads or heads
        wide = (13,) if known and known > 1 and width == known * d_model else ()
        if width != d_model and not wide:
            continue
        for layers, final, mistakes in _layers(*arrays, attentions, d_model):
            # 드문 방법에, 헤드의 수까지 찾으면서 여럿을 켜면 너무 오래 걸립니다
            rare = transposed != torch or {25, 50, 51, 52} & {*mistakes}
            for count in [known] if known else divisors(width):
                most = 1 if rare else 4 if known else 2
                found += _readings(
                    layers, final, count, wide + mistakes, attentions, most
                )
    return sorted(found, key=lambda reading: -reading.most)


def _ways(entries, d_model, torch):
    """(뒤집어 담았는지, `_parts`가 읽은 것)들. 흔한 것이 먼저입니다.

    이름 없는 벡터가 커널의 편향인지 정규화의 배율인지는 둘 다 넣어 봅니다.
    """
    for transposed in (torch, not torch):
        counts = set()
        for biased in (True, False):
            parts = _parts(entries, d_model, transposed, biased)
            if parts is not None and len(parts[2]) not in counts:
                counts.add(len(parts[2]))
                yield transposed, parts


def _readings(layers, final, heads, mistakes, attentions, most):
    norm_orders = list(itertools.permutations(range(attentions + 1)))
    orders = list(itertools.permutations(range(4)))
    kinds = (("relu", most), ("gelu", min(most, 2)))
    memo = {}  # 되풀이하는 스택은 앞의 층의 셈을 함께 씁니다
    for norm_first, (activation, few) in itertools.product((False, True), kinds):
        yield Reading(layers, heads, norm_first, activation, final, mistakes, few, memo)
    if {25, 50, 51, 52} & {*mistakes}:
        return
    for repeat in (2, 3, 4, 6) if len(layers) == 1 else ():
        for norm_first, (activation, _) in itertools.product((False, True), kinds):
            stack, shared = layers * repeat, (*mistakes, 25)
            yield Reading(stack, heads, norm_first, activation, final, shared, 1, memo)
    for order, norm_order in itertools.product(orders, norm_orders):
        turned = [
            Layer(
                [[maps[i] for i in order] for maps in layer.attentions],
                layer.feed_forward,
                [layer.norms[i] for i in norm_order],
            )
            for layer in layers
        ]
        activations = ("relu", "gelu", "swish") if order == orders[0] else ("relu",)
        for norm_first, kind in itertools.product((False, True), activations):
            yield Reading(turned, heads, norm_first, kind, final, mistakes, most=0)


def _parts(entries, d, transposed, biased):
    """(투영들, 피드포워드의 변환들, 정규화들, 헤드의 수, 헤드를 이은 너비)."""
    kernels, vectors, heads = [], [], None  # 커널과, 그 뒤에 오는 벡터들
    before = []
    width = _width(entries, d)
    for name, array in _unstacked(entries, d, width):
        shape = array.shape
        if array.ndim == 3 and d in (shape[0], shape[-1]):
            if shape[0] == d and array.size == d * width:
                heads = shape[1]
                kernels.append((name, array.reshape(d, -1)))
            elif shape[-1] == d and array.size == d * width:
                kernels.append((name, array.reshape(-1, d)))
            else:
                return None
            vectors.append([])
        elif array.ndim == 2 and d in shape and array.size > width:
            kernels.append((name, array.T if transposed else array))
            vectors.append([])
        elif array.ndim <= 2:
            (vectors[-1] if vectors else before).append((name, array.reshape(-1)))
        else:
            return None
    projections, inner = [], []
    # (d_ff, d)인 것은 피드포워드뿐입니다. d_ff가 2d여도 키와 값을 묶은 것과 구별합니다.
    hidden = {k.shape[0] for _, k in kernels if k.shape[1] == d} - {d, width}
    norms = [array for _, array in before]
    for (name, kernel), run in zip(kernels, vectors):
        bias, rest = _bias(name, kernel, run, biased)
        norms += [array for _, array in rest]
        rows, columns = kernel.shape
        fused = columns % width == 0 and rows == d and columns not in hidden
        pieces = columns // width if fused else 0
        if (rows, columns) == (width, d) or pieces in (1, 2, 3):
            count = max(pieces, 1)
            biases = np.split(bias, count) if np.ndim(bias) else [bias] * count
            for part, shift in zip(np.split(kernel, count, axis=1), biases):
                projections.append(Linear(part, shift, name))
        elif d in (rows, columns):
            inner.append(Linear(kernel, bias, name))
        else:
            return None
    if any(array.size != d for array in norms):
        return None
    return projections, inner, norms, heads, width


def _unstacked(entries, d, width):
    """한 배열에 쌓은 커널 (3, d, d)와 벡터 (3, d)를 하나씩 냅니다."""
    for name, array in entries:
        stacked = array.ndim == 3 and array.shape[1:] == (d, d) and width == d
        rows = array.ndim == 2 and array.shape[1] == d and len(array) < 5 < d
        if stacked or (rows and "bias" not in name.lower()):
            yield from ((name, part) for part in array)
        else:
            yield name, array


def _width(entries, d):
    """헤드를 이은 너비. 3차원 커널이 있으면 거기서 읽습니다."""
    for _, array in entries:
        if array.ndim == 3 and array.shape[0] == d != array.shape[1]:
            return array.shape[1] * array.shape[2]
    return d


def _bias(name, kernel, run, biased):
    """커널의 편향과 나머지 벡터들. `biased`이면 이름이 없어도 편향일 수 있습니다."""
    if not run or run[0][1].size != kernel.shape[1]:
        return 0.0, run
    first, size = run[0], run[0][1].size
    stem, own = _stem(name), _stem(first[0])
    same = [vector for vector in run if vector[1].size == size]
    named = first[0].rpartition("/")[2].rpartition(".")[2]
    if named in ("gamma", "scale") or (own != stem and named == "weight"):
        return 0.0, run
    if "bias" in named or (biased and len(same) % 2):
        return first[1], run[1:]
    return 0.0, run


def _stem(name):
    """이름에서 마지막 마디와, PyTorch의 in_proj_weight 같은 꼬리를 뗍니다."""
    head, _, last = name.replace("/", ".").rpartition(".")
    return head + last.removesuffix("weight").removesuffix("bias").removesuffix(
        "kernel"
    )


def _norms(vectors, places):
    """정규화의 벡터들을 `places`곳에 나누는 방법 (곳마다의 짝, 끝의 것, 실수)들입니다.

    벡터는 감마와 베타이거나 감마뿐이고, 없으면 배율과 편향이 없는 정규화입니다.
    모자라면 어느 곳에서는 빠졌거나, 한 짝을 여러 곳에 쓴 것입니다.
    """
    if not vectors:
        yield [(1.0, 0.0)] * places, None, ()
        return
    for step in (2, 1):
        if len(vectors) % step:
            continue
        pairs = [
            (*vectors[i : i + step], 0.0)[:2] for i in range(0, len(vectors), step)
        ]
        if len(pairs) == places:
            yield pairs, None, ()
        elif len(pairs) == places + 1:
            yield pairs[:-1], pairs[-1], ()
        elif len(pairs) < places <= 3:
            for chosen in itertools.product([None, *range(len(pairs))], repeat=places):
                if {*range(len(pairs))} <= {*chosen}:
                    given = [None if i is None else pairs[i] for i in chosen]
                    twice = len([i for i in chosen if i is not None]) > len(pairs)
                    mistakes = (50,) if None in chosen else ()
                    yield given, None, mistakes + ((51,) if twice else ())


def _layers(projections, inner, vectors, attentions, d_model):
    """차례대로 층에 나누어 담는 방법 (층들, 끝의 정규화, 드러난 실수)들입니다."""
    each = 4 * attentions
    if not inner and len(projections) % each == 2:  # d_ff가 d_model과 같습니다
        projections, inner = projections[:-2], projections[-2:]
    if len(inner) % 2:
        return
    count = len(inner) // 2 or max(len(projections) // each, 1)
    groups = [_in_order(projections[i : i + 4]) for i in range(0, len(projections), 4)]
    for owned, missing in _attentions(groups, count, attentions):
        if not inner and missing:
            continue
        none = () if inner else (52,)
        for norms, final, wrong in _norms(vectors, count * (attentions + 1)):
            layers = []
            for index in range(count):
                forward = _feed_forward(inner[2 * index : 2 * index + 2], d_model)
                mine = norms[index * (attentions + 1) : (index + 1) * (attentions + 1)]
                layers.append(Layer(owned[index], forward, mine))
            yield layers, final, tuple({*missing, *none, *wrong})


def _attentions(groups, count, attentions):
    """(층마다의 어텐션, 드러난 실수)로 보는 방법들입니다."""
    if any(len(maps) != 4 for maps in groups):
        return
    if len(groups) == count * attentions:
        yield [groups[i * attentions : (i + 1) * attentions] for i in range(count)], ()
        if attentions == 2 and count == 1:  # 둘을 만들고 하나만 두 곳에서 부릅니다
            yield from (([[maps, maps]], (25,)) for maps in groups)
    elif not groups:
        yield [[None] * attentions] * count, (52,)
    elif attentions == 2 and len(groups) == count:
        yield [[maps, maps] for maps in groups], (25,)  # 셀프와 크로스에 함께 씁니다
        yield [[maps, None] for maps in groups], (52,)
        yield [[None, maps] for maps in groups], (52,)


def _feed_forward(maps, d_model):
    """(d_model, d_ff)인 것이 먼저인 두 변환입니다. 없으면 None입니다."""
    return tuple(sorted(maps, key=lambda m: m.kernel.shape[0] != d_model)) or None


def _in_order(maps):
    """이름에서 알 수 있으면 쿼리, 키, 값, 출력의 차례로 놓습니다."""
    found = {}
    for projection in maps:
        name = projection.name.lower()
        roles = [role for role, form in _ROLES if re.search(form + _TAIL, name)]
        if len(roles) == 1:
            found.setdefault(roles[0], projection)
    named = [found.get(role) for role in "qkvo"]
    return named if None not in named and len(set(map(id, named))) == 4 else maps
