"""공개 함수와 층이 함께 쓰는 입력 검사.

메시지는 언제나 세 가지를 말합니다: 무엇을 받았는지, 무엇을 기대했는지, 어떻게 고치는지.
"""

import operator

import tensorflow as tf


def float_tensor(name, value):
    """실수 텐서로 바꿉니다. 정수나 불리언이면 `TypeError`를 냅니다."""
    tensor = tf.convert_to_tensor(value)
    if not tensor.dtype.is_floating:
        raise TypeError(
            f"{name}에는 실수 텐서가 필요합니다. 받은 dtype: {tensor.dtype.name}. "
            f"tf.cast({name}, tf.float32)로 바꾸어 주세요."
        )
    return tensor


def token_id_tensor(name, value):
    """토큰 번호 텐서 (batch, length)로 바꿉니다. 정수의 2차원이 아니면 거절합니다."""
    tensor = tf.convert_to_tensor(value)
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"{name}에는 정수 토큰 번호가 필요합니다. 받은 dtype: {tensor.dtype.name}. "
            f"tf.cast({name}, tf.int32)로 바꾸어 주세요."
        )
    if tensor.shape.rank is not None and tensor.shape.rank != 2:
        raise ValueError(
            f"{name}에는 모양 (batch, length)가 필요합니다. 받은 모양: {tensor.shape}. "
            f"문장이 하나라면 {name}[tf.newaxis, :]로 배치 축을 더해 주세요."
        )
    return tensor


def integer(name, value, minimum=None):
    """파이썬 정수를 돌려줍니다. 아니면 `TypeError`, minimum보다 작으면 `ValueError`."""
    expected = "정수" if minimum is None else f"{minimum} 이상의 정수"
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except (TypeError, AttributeError):  # 실수 텐서는 AttributeError를 냅니다
        raise TypeError(
            f"{name}에는 {expected}가 필요합니다. "
            f"받은 것: {type(value).__name__} {value!r}."
        ) from None
    if minimum is not None and number < minimum:
        raise ValueError(f"{name}에는 {expected}가 필요합니다. 받은 것: {number}.")
    return number


def positive_int(name, value):
    """1 이상의 파이썬 정수를 돌려줍니다. 아니면 `TypeError`나 `ValueError`를 냅니다."""
    return integer(name, value, minimum=1)


def integer_scalar(name, value, minimum):
    """값을 알면 파이썬 정수로, 그래프가 실행되어야 알면 int64 텐서로 돌려줍니다."""
    if tf.is_tensor(value):
        tensor = tf.convert_to_tensor(value)  # tf.Variable도 받습니다.
        if not tensor.dtype.is_integer:
            raise TypeError(
                f"{name}에는 정수가 필요합니다. 받은 dtype: {tensor.dtype.name}. "
                f"tf.cast({name}, tf.int32)로 바꾸어 주세요."
            )
        if tensor.shape.rank not in (None, 0):
            raise ValueError(
                f"{name}에는 스칼라가 필요합니다. 받은 모양: {tensor.shape}. "
                "tf.shape(x)[1]처럼 정수 하나를 넘겨 주세요."
            )
        value = tf.get_static_value(tensor)
        if value is None:
            return tf.cast(tensor, tf.int64)
    return integer(name, value, minimum)


def rate(name, value):
    """0 이상 1 미만의 비율을 돌려줍니다. 아니면 `TypeError`나 `ValueError`를 냅니다."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(
            f"{name}에는 0 이상 1 미만의 수가 필요합니다. "
            f"받은 것: {type(value).__name__} {value!r}."
        )
    if not 0 <= value < 1:
        raise ValueError(
            f"{name}에는 0 이상 1 미만의 수가 필요합니다. 받은 것: {value}."
        )
    return float(value)


def sequence(name, value):
    """벡터의 열 (batch, length, depth)로 바꿉니다. 실수의 3차원이 아니면 거절합니다."""
    tensor = float_tensor(name, value)
    if tensor.shape.rank is not None and tensor.shape.rank != 3:
        raise ValueError(
            f"{name}에는 모양 (batch, length, depth)가 필요합니다. "
            f"받은 모양: {tensor.shape}."
        )
    return tensor


def nan_unless(valid, tensor, *message):
    """그래프에서는 예외를 내고, 예외가 없는 XLA에서는 그럴듯한 값 대신 NaN을 줍니다."""
    if isinstance(valid, bool):  # 그래프를 만들 때 이미 검사했습니다.
        return tensor
    with tf.control_dependencies([tf.debugging.Assert(valid, message)]):
        return tf.where(valid, tensor, tf.constant(float("nan"), tensor.dtype))
