"""어텐션이 볼 자리를 고르는 마스크 (논문 3.1절, 3.2.3절).

마스크는 모두 불리언이고 **True인 자리를 봅니다.**
두 마스크를 함께 쓸 때는 `&`로 묶습니다.
"""

import tensorflow as tf

from transformer_notes import _tensors


def padding_mask(token_ids, pad_id=0):
    """진짜 토큰만 보게 하는 마스크를 만듭니다. 키의 축을 가립니다.

    Args:
        token_ids: 정수, (batch, length).
        pad_id: 패딩 토큰의 번호.

    Returns:
        불리언, (batch, 1, 1, length). 가운데 두 축은 헤드와 쿼리로 늘어납니다.

    Raises:
        TypeError: 정수가 아닌 토큰 번호.
        ValueError: 2차원이 아닌 토큰 번호.

    Examples:
        >>> mask = padding_mask([[5, 7, 2, 0]])
        >>> print(mask.numpy()[0, 0])
        [[ True  True  True False]]
        >>> print(padding_mask(tf.constant([[5, 0]], tf.uint8)).numpy()[0, 0])
        [[ True False]]
    """
    token_ids = _tensors.token_ids("token_ids", token_ids)
    # 작은 정수 dtype으로 바꾸면 담지 못하는 pad_id가 다른 번호가 됩니다.
    visible = tf.cast(token_ids, tf.int64) != tf.cast(pad_id, tf.int64)
    return visible[:, tf.newaxis, tf.newaxis, :]  # (batch, 1, 1, length)


def look_ahead_mask(length):
    """자기 자신과 앞선 자리만 보게 하는 마스크를 만듭니다.

    Args:
        length: 정수, 또는 그래프 안에서 길이를 담은 정수 스칼라 텐서.

    Returns:
        불리언, (1, 1, length, length). 쿼리 i의 행은 키 0..i에서 True입니다.

    Examples:
        >>> print(look_ahead_mask(3).numpy()[0, 0].astype(int))
        [[1 0 0]
         [1 1 0]
         [1 1 1]]
        >>> look_ahead_mask(1).shape
        TensorShape([1, 1, 1, 1])
    """
    position = tf.range(length)
    visible = position[:, tf.newaxis] >= position[tf.newaxis, :]  # (length, length)
    return visible[tf.newaxis, tf.newaxis]  # (1, 1, length, length)
