"""읽은 가중치를 선형 변환으로 보는 방법들.

이름을 믿지 않고 모양과 차례로 읽습니다. 어느 것이 쿼리의 것인지, 뒤집어 담았는지, 합쳐
담았는지는 기준이 후보의 출력을 되살리는지로 가립니다.
"""

import dataclasses
import itertools

import numpy as np

from transformer_notes.checker.names import D_MODEL, NUM_HEADS
from transformer_notes.checker.weights import collect

#: 배열에서 읽을 수 없을 때 넣어 볼 d_model.
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)


@dataclasses.dataclass(frozen=True, eq=False)
class Linear:
    """x @ kernel + bias."""

    kernel: np.ndarray
    bias: np.ndarray | float = 0.0
    #: 커널이 담겨 있던 이름.
    name: str = ""

    def __call__(self, x):
        return x @ self.kernel + self.bias


def kernels_and_biases(target, d_model):
    """(커널들, 커널마다의 편향이나 None)으로 보는 방법들입니다.

    여럿을 한 배열에 쌓아 담았을 수도 있습니다.
    """
    found = []
    for name, array in collect(target):
        word = name.rpartition(".")[2].rpartition("/")[2].lower()
        small = array.squeeze() if array.ndim > 2 and 1 in array.shape else array
        found.append(("bias" in word, small))
    yield from _paired(found, d_model)
    stacked = {len(array) for _, array in found if array.ndim == 3} & {2, 3, 4}
    for count in stacked:
        apart = []
        for bias, array in found:
            stack = len(array) == count and array.ndim in (2, 3)
            flat = bias or array.ndim == 2
            apart += [(flat, a) for a in array] if stack else [(bias, array)]
        yield from _paired(apart, d_model)


def _paired(found, d_model):
    kernels, biases, last = [], [], []
    for bias, array in found:
        if bias or array.ndim < 2 or d_model not in array.shape:
            biases.append(array.ravel())
            last.append(len(kernels) - 1)
        else:
            kernels.append(array)
    paired = [None] * len(kernels)
    if len(biases) == len(kernels):
        yield kernels, biases
    elif len(biases) == 1:  # 클로저에 든 것은 이름의 차례여서, 어디에든 넣어 봅니다
        for place in range(len(kernels)):
            yield kernels, [*paired[:place], biases[0], *paired[place + 1 :]]
    else:
        for bias, place in zip(biases, last):
            if 0 <= place:
                paired[place] = bias
        yield kernels, paired


def inward(kernel, d_model):
    """(d_model, 나머지)로 보는 방법들."""
    for axis in _axes(kernel, d_model):
        yield np.moveaxis(kernel, axis, 0).reshape(d_model, -1)


def outward(kernel, d_model):
    """(나머지, d_model)로 보는 방법들."""
    for axis in reversed(_axes(kernel, d_model)):
        yield np.moveaxis(kernel, axis, -1).reshape(-1, d_model)


def linear(kernel, bias):
    """편향이 없으면 0을 씁니다. 크기가 다르면 None입니다."""
    if bias is None:
        bias = np.zeros(kernel.shape[1])
    return Linear(kernel, bias) if bias.size == kernel.shape[1] else None


def divisors(number):
    return [n for n in range(1, number + 1) if number % n == 0]


def widths(target):
    """만들어진 것이 받을 만한 d_model. 커널의 축에 자주 나오는 것이 먼저입니다."""
    kernels = [array for _, array in collect(target) if array.ndim > 1]
    sizes = [n for kernel in kernels for n in kernel.shape if n > 1]
    common = tuple(sorted(set(sizes), key=sizes.count, reverse=True)) or WIDTHS
    told = _attribute(target, D_MODEL)
    return (told, *common) if told else common


def head_count(target):
    """만들어진 것이 적어 둔 헤드의 수. 없으면 None입니다."""
    return _attribute(target, NUM_HEADS)


def _attribute(target, names):
    """이름 가운데 하나로 적어 둔 양의 정수. 없으면 None입니다."""
    places = [target, *vars(target).values()] if hasattr(target, "__dict__") else []
    for place, name in itertools.product(places, names):
        value = getattr(place, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _axes(kernel, d_model):
    return [axis for axis, n in enumerate(kernel.shape) if n == d_model]
