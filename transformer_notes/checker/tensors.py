"""NumPy, TensorFlow, PyTorch의 텐서를 오가고, 두 결과가 같은지 견줍니다.

TensorFlow와 PyTorch는 후보가 이미 가져왔을 때만 씁니다.
"""

import sys

import numpy as np

#: 후보가 텐서를 받는 세 방식.
BACKENDS = ("numpy", "tensorflow", "torch")
#: 텐서나 층의 모듈과 그 방식. 없는 것은 NumPy입니다.
ROOTS = {"torch": "torch", "tensorflow": "tensorflow", "keras": "tensorflow"}
#: 결과의 dtype마다 받아들이는 오차. 결과에서 가장 큰 수의 몇 배인지로 적습니다.
#: bfloat16에는 float16도 들어 있으므로 먼저 찾습니다.
TOLERANCE = {"bfloat16": 5e-2, "float16": 1e-2}
SINGLE = 2e-4


def loaded(name):
    """이미 가져온 모듈을 돌려줍니다. 가져오지 않았으면 None입니다."""
    return sys.modules.get(name)


def to_backend(value, backend):
    """NumPy 배열을 그 방식의 텐서로 바꿉니다. 배열이 아닌 것은 그대로 둡니다."""
    if not isinstance(value, np.ndarray):
        return value
    if backend == "tensorflow":
        narrow = value.astype(np.int32) if value.dtype == np.int64 else value
        return loaded("tensorflow").convert_to_tensor(narrow)
    if backend == "torch":
        return loaded("torch").from_numpy(np.array(value))
    if value.dtype == np.int64:
        return value.astype(np.intp)  # 32비트의 NumPy는 64비트의 번호를 받지 않습니다
    return value.copy()  # 후보가 제 입력을 고쳐 쓰기도 합니다


def like(value, model):
    """`value`를 `model`과 같은 방식의 텐서로 바꿉니다."""
    module = type(model).__module__.partition(".")[0]
    return to_backend(np.asarray(value), ROOTS.get(module, "numpy"))


def to_numpy(value):
    """텐서를 NumPy 배열로 바꿉니다. 바꾸지 못하면 None입니다.

    NumPy에 없는 bfloat16은 float32로 바꿉니다.
    """
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            wide = value.float() if "bfloat16" in str(value.dtype) else value
            return wide.numpy()
        if hasattr(value, "numpy"):
            value = value.numpy()
        array = np.asarray(value)
    except (TypeError, ValueError, AttributeError, RuntimeError, NotImplementedError):
        return None
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    return array if array.dtype.kind in "biuf" else None


def tolerance_of(value):
    """이 텐서의 dtype에서 받아들이는 오차입니다."""
    name = str(getattr(value, "dtype", "")).rpartition(".")[2]
    for dtype, tolerance in TOLERANCE.items():
        if dtype in name:
            return tolerance
    return SINGLE


def close(given, expected, tolerance=SINGLE):
    """모양이 같고 값이 오차 안에서 같은지 봅니다. NaN은 NaN과 같습니다."""
    given, expected = np.asarray(given), np.asarray(expected)
    if given.shape != expected.shape:
        return False
    given, expected = given.astype(np.float64), expected.astype(np.float64)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(finite.max(initial=0.0), 1e-30)
    return bool(
        np.allclose(given, expected, rtol=0, atol=tolerance * scale, equal_nan=True)
    )
