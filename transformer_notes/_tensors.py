"""공개 함수와 층이 받는 텐서의 검사와, 어텐션마다 쓰는 소프트맥스.

틀린 줄 모르고 그럴듯한 답을 낼 것만 거절합니다. 나머지는 TensorFlow가 거절합니다.
메시지는 언제나 세 가지를 말합니다: 무엇을 받았는지, 무엇을 기대했는지, 어떻게 고치는지.
"""

import tensorflow as tf


def token_ids(name, value):
    """토큰 번호 텐서 (batch, length)로 바꿉니다. 정수의 2차원이 아니면 거절합니다."""
    tensor = tf.convert_to_tensor(value)
    _require_integer(name, tensor, "정수 토큰 번호")
    if tensor.shape.rank not in (None, 2):
        raise ValueError(
            f"{name}에는 모양 (batch, length)가 필요합니다. 받은 모양: {tensor.shape}. "
            f"문장이 하나라면 {name}[tf.newaxis, :]로 배치 축을 더해 주세요."
        )
    return tensor


def known_ids(name, ids, size):
    """번호가 모두 size행인 표 안에 있는지 보고, int64로 바꿉니다.

    없는 번호가 있으면 `tf.errors.InvalidArgumentError`를 냅니다.
    """
    # 작은 정수 dtype에는 size가 들어가지 않을 수 있으므로 먼저 넓힙니다.
    ids = tf.cast(ids, tf.int64)
    if tf.executing_eagerly():
        if message := unknown_ids(name, ids, size):
            raise tf.errors.InvalidArgumentError(None, None, message)
        return ids
    known = tf.reduce_all((ids >= 0) & (ids < size))
    given = tf.reduce_min(ids), tf.reduce_max(ids)
    expected, advice = _about_ids(name, size)
    checked = tf.debugging.Assert(known, [expected, *given, advice])
    with tf.control_dependencies([checked]):
        return tf.identity(ids)


def unknown_ids(name, ids, size):
    """표 밖의 번호가 있으면 그 까닭을 말합니다. 없으면 None입니다."""
    ids = ids.numpy()
    if not ids.size or (ids.min() >= 0 and ids.max() < size):
        return None
    expected, advice = _about_ids(name, size)
    return f"{expected} {ids.min()}부터 {ids.max()}까지. {advice}"


def _about_ids(name, size):
    return (
        f"{name}에는 0부터 {size - 1}까지의 번호가 필요합니다. 받은 번호의 범위:",
        "표의 크기(vocab_size, max_length)와 번호를 만든 것(토크나이저)이 서로 맞는지 "
        "살펴보세요.",
    )


def positions(name, value, length):
    """토큰마다의 위치를 int64 텐서 (length,)로 바꿉니다."""
    tensor = tf.convert_to_tensor(value)
    _require_integer(name, tensor, "정수")
    if not tensor.shape.is_compatible_with((length,)):
        raise ValueError(
            f"{name}에는 토큰마다 하나씩, 모양 ({length},)이 필요합니다. "
            f"받은 모양: {tensor.shape}. 토큰 하나라면 [{name}]처럼 감싸 주세요."
        )
    return tf.cast(tensor, tf.int64)


def same_batch(x, memory):
    """둘의 문장 수가 같은지 봅니다. 하나뿐인 쪽은 조용히 늘어나기 때문입니다."""
    if not x.shape[:1].is_compatible_with(memory.shape[:1]):
        raise ValueError(
            "x와 memory에는 같은 수의 문장이 필요합니다. 받은 모양: "
            f"{x.shape}, {memory.shape}. 문장마다 그 문장의 memory를 짝지어 주세요."
        )


def _require_integer(name, tensor, expected):
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"{name}에는 {expected}가 필요합니다. 받은 dtype: {tensor.dtype.name}. "
            f"tf.cast({name}, tf.int32)로 바꾸어 주세요."
        )


def attention_mask(mask, shape):
    """불리언 텐서로 바꿉니다. 점수의 모양 shape로 브로드캐스트되어야 합니다."""
    mask = tf.convert_to_tensor(mask)
    if mask.dtype != tf.bool:
        raise TypeError(
            "mask에는 True인 자리를 보는 불리언이 필요합니다. 받은 dtype: "
            f"{mask.dtype.name}. 1이 '봄'이면 tf.cast(mask, tf.bool)로, "
            "1이 '가림'이면 tf.equal(mask, 0)으로 바꾸어 주세요."
        )
    try:
        # 더 큰 쪽으로 늘어나면 안 됩니다. 마스크가 점수의 모양에 맞추어져야 합니다.
        fits = tf.broadcast_static_shape(mask.shape, shape).is_compatible_with(shape)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask에는 (..., length_q, length_k) = {shape}로 브로드캐스트되는 "
            f"모양이 필요합니다. 받은 모양: {mask.shape}. 모자란 축은 크기 1로 채워 "
            "주세요."
        )
    return mask


def masked_softmax(scores, mask=None):
    r"""볼 자리의 점수만으로 더해서 1이 되는 가중치를 만듭니다.

    .. math:: w_{ij} = \frac{m_{ij}\, e^{s_{ij}}}{\sum_k m_{ik}\, e^{s_{ik}}}

    m은 볼 자리에서 1, 가린 자리에서 0입니다. 볼 자리가 하나도 없는 행은 모두 0이고,
    기울기도 유한합니다. 점수가 float16이나 bfloat16이어도 float32로 계산합니다.

    Args:
        scores: 실수, (..., length_k).
        mask: 불리언, scores의 모양으로 브로드캐스트되는 모양. **True인 자리만 봅니다.**
            None이면 모든 자리를 봅니다.

    Returns:
        (..., length_k). float32, 점수가 float64이면 float64.

    Examples:
        >>> scores = tf.constant([[1.0, 1.0, 5.0]])
        >>> print(masked_softmax(scores, [[True, True, False]]).numpy())
        [[0.5 0.5 0. ]]
    """
    if scores.dtype != tf.float64:
        scores = tf.cast(scores, tf.float32)
    if mask is None:
        return tf.nn.softmax(scores)  # 마지막 축(키)을 따라
    # 더하지 않고 골라 넣으므로 무한대끼리 빼는 NaN이 생기지 않습니다.
    weights = tf.nn.softmax(tf.where(mask, scores, scores.dtype.min))
    # 모두 가려진 행의 소프트맥스는 균등 분포입니다. 가린 자리를 0으로 되돌립니다.
    return tf.where(mask, weights, tf.zeros((), weights.dtype))
