"""어텐션이 볼 자리를 고르는 마스크 (논문 3.1절, 3.2.3절).

마스크는 모두 불리언이고 **True인 자리를 봅니다.**
두 마스크를 함께 쓸 때는 `&`로 묶습니다.
"""

import operator

import tensorflow as tf

from transformer_notes import _checks


def padding_mask(token_ids, pad_id=0):
    """진짜 토큰만 보게 하는 마스크를 만듭니다. 키의 축을 가립니다.

    Args:
        token_ids: 정수, (batch, length).
        pad_id: 패딩 토큰의 번호.

    Returns:
        불리언, (batch, 1, 1, length). 가운데 두 축은 헤드와 쿼리로 늘어납니다.

    Raises:
        TypeError: 정수가 아닌 토큰 번호나 `pad_id`.
        ValueError: 2차원이 아닌 토큰 번호, 토큰 번호의 dtype에 담을 수 없는 `pad_id`.

    Examples:
        >>> mask = padding_mask([[5, 7, 2, 0]])
        >>> print(mask.numpy()[0, 0])
        [[ True  True  True False]]
    """
    token_ids = _checks.token_id_tensor("token_ids", token_ids)
    try:
        if isinstance(pad_id, bool):
            raise TypeError
        pad_id = operator.index(pad_id)
    except (AttributeError, TypeError):  # 실수 EagerTensor는 AttributeError를 냅니다.
        raise TypeError(
            f"pad_id는 파이썬 정수 하나여야 하는데 {pad_id!r}입니다. "
            "int(pad_id)로 바꾸어 주세요."
        ) from None
    dtype = token_ids.dtype
    if not dtype.min <= pad_id <= dtype.max:
        raise ValueError(
            f"pad_id는 토큰 번호의 dtype {dtype.name}에 담을 수 있어야 하는데 "
            f"{pad_id}입니다. 토큰 번호를 tf.int64로 바꾸거나 pad_id를 고쳐 주세요."
        )
    visible = tf.not_equal(token_ids, tf.constant(pad_id, dtype))
    return visible[:, tf.newaxis, tf.newaxis, :]  # (batch, 1, 1, length)


def look_ahead_mask(length):
    """자기 자신과 앞선 자리만 보게 하는 마스크를 만듭니다.

    Args:
        length: 1 이상의 정수, 또는 그래프 안에서 길이를 담은 정수 스칼라 텐서.

    Returns:
        불리언, (1, 1, length, length). 쿼리 i의 행은 키 0..i에서 True입니다.

    Raises:
        TypeError: 정수가 아닌 길이.
        ValueError: 1보다 작은 길이, 스칼라가 아닌 텐서.

    Examples:
        >>> print(look_ahead_mask(3).numpy()[0, 0].astype(int))
        [[1 0 0]
         [1 1 0]
         [1 1 1]]
    """
    if tf.is_tensor(length):
        if not length.dtype.is_integer:
            raise TypeError(
                f"length는 정수여야 하는데 dtype이 {length.dtype.name}입니다. "
                "tf.cast(length, tf.int32)로 바꾸어 주세요."
            )
        if length.shape.rank not in (None, 0):
            raise ValueError(
                f"length는 스칼라여야 하는데 모양 {length.shape}를 받았습니다. "
                "tf.shape(token_ids)[1]처럼 길이 하나를 넘겨 주세요."
            )
    if tf.is_symbolic_tensor(length):
        length = tf.cast(length, tf.int32)  # tf.range는 8비트 정수를 받지 않습니다.
    else:
        length = _checks.positive_int("length", length)
    position = tf.range(length)
    visible = position[:, tf.newaxis] >= position[tf.newaxis, :]  # (length, length)
    return visible[tf.newaxis, tf.newaxis]  # (1, 1, length, length)
