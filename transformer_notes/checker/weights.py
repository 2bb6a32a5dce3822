"""후보가 가진 가중치를 찾아 차례대로 읽습니다."""

import dis
import types

import numpy as np

from transformer_notes.checker.tensors import loaded, to_backend, to_numpy

#: 객체 안을 이만큼 깊이 들여다봅니다.
DEPTH = 6


def collect(target):
    """가중치의 (이름, 배열)을 만들어진 차례대로 늘어놓습니다."""
    found, seen = [], set()
    _walk(target, "", found, seen, DEPTH)
    return [(name, np.asarray(array, np.float64)) for name, array, _ in found]


def randomise(target, rng):
    """우리가 만든 것의 가중치를 무작위로 바꿉니다.

    편향이 0이거나 정규화의 배율이 1이면 잘못 쓰여도 드러나지 않습니다. 배열은 가중치가
    아닐 수도 있으므로, 0이나 1로만 채운 것을 바꾸고 아주 작은 것은 키웁니다.
    """
    found, seen = [], set()
    _walk(target, "", found, seen, DEPTH)
    for _, array, holder in found:
        # 0에서 떨어진 값이어야 쓰이지 않은 가중치가 드러납니다
        value = rng.uniform(0.2, 0.9, array.shape) * rng.choice([-1, 1], array.shape)
        if hasattr(holder, "assign"):
            holder.assign(value)
        elif holder is not None:
            with loaded("torch").no_grad():
                holder.copy_(to_backend(value, "torch"))
        elif array.ndim and array.size and array.flags.writeable:
            largest = np.abs(array).max()
            if largest in (0, 1) and np.ptp(array) == 0:
                array[...] = value
            elif 0 < largest < 0.2:
                array *= 0.9 / largest


def torch_modules(target):
    """그 안에 있는 PyTorch의 모듈을 모두 늘어놓습니다."""
    torch, modules = loaded("torch"), []

    def look(value, depth):
        if isinstance(value, torch.nn.Module):
            modules.extend(value.modules())
        elif depth:
            for _, part in _parts(value):
                look(part, depth - 1)

    if torch:
        look(target, 2)
    return modules


def used_globals(function):
    """함수와 그 안의 함수가 쓰는 전역 이름과 값. 속성의 이름은 세지 않습니다."""
    codes, found = [function.__code__], {}
    for code in codes:
        codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
        for step in dis.get_instructions(code):
            name = step.argval
            if step.opname == "LOAD_GLOBAL" and name in function.__globals__:
                found[name] = function.__globals__[name]
    return list(found.items())


def _walk(value, name, found, seen, depth):
    if value is None or id(value) in seen:
        return
    if isinstance(value, (str, bytes, int, float, types.ModuleType)):
        return
    seen.add(id(value))
    keras, torch = loaded("keras"), loaded("torch")
    if keras and isinstance(value, keras.layers.Layer):
        variables = value.trainable_weights or value.weights
        for weight in variables:
            if id(weight) not in seen and "float" in str(weight.dtype):
                seen.add(id(weight))
                found.append((f"{name}.{weight.path}", to_numpy(weight), weight))
    elif torch and isinstance(value, torch.nn.Module):
        for path, weight in value.named_parameters():
            found.append((f"{name}.{path}", to_numpy(weight), weight))
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        array = to_numpy(value)
        if array is not None and array.dtype.kind == "f":
            found.append((name, array, None))
    elif depth:
        for part_name, part in _parts(value):
            _walk(part, f"{name}.{part_name}", found, seen, depth - 1)


def _parts(value):
    """안에 든 것들의 (이름, 값): 목록, 사전, 속성, 클로저, 쓰인 전역 이름."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    value = getattr(value, "python_function", value)  # tf.function
    parts = []
    if isinstance(value, types.MethodType):
        parts.append(("self", value.__self__))
        value = value.__func__
    if isinstance(value, types.FunctionType):
        names = value.__code__.co_freevars
        for name, cell in zip(names, value.__closure__ or ()):
            try:
                parts.append((name, cell.cell_contents))
            except ValueError:
                continue
        parts += used_globals(value)
        parts += [
            (str(i), default) for i, default in enumerate(value.__defaults__ or ())
        ]
        return parts
    if isinstance(value, type):
        return parts
    if hasattr(value, "func") and hasattr(value, "args"):  # functools.partial
        parts += [("func", value.func), ("args", value.args)]
    return parts + list(getattr(value, "__dict__", {}).items())
