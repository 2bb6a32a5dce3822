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


def positive_int(name, value):
    """1 이상의 파이썬 정수를 돌려줍니다. 아니면 `TypeError`나 `ValueError`를 냅니다."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except (TypeError, AttributeError):  # 실수 텐서는 AttributeError를 냅니다
        raise TypeError(
            f"{name}에는 1 이상의 정수가 필요합니다. "
            f"받은 것: {type(value).__name__} {value!r}."
        ) from None
    if number < 1:
        raise ValueError(f"{name}에는 1 이상의 정수가 필요합니다. 받은 것: {number}.")
    return number
