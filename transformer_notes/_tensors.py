"""공개 함수와 층이 받는 텐서의 검사와, 어텐션마다 쓰는 소프트맥스.

메시지는 언제나 세 가지를 말합니다: 무엇을 받았는지, 무엇을 기대했는지, 어떻게 고치는지.
"""

import tensorflow as tf

from transformer_notes import _arguments

# ---------------------------------------------------------------- 수와 이름


def integer_scalar(name, value, minimum):
    """값을 알면 파이썬 정수로, 그래프가 실행되어야 알면 int64 텐서로 돌려줍니다."""
    if tf.is_tensor(value):
        tensor = tf.convert_to_tensor(value)  # tf.Variable도 받습니다.
        _require_integer(name, tensor)
        if tensor.shape.rank not in (None, 0):
            raise ValueError(
                f"{name}에는 스칼라가 필요합니다. 받은 모양: {tensor.shape}. "
                "tf.shape(x)[1]처럼 정수 하나를 넘겨 주세요."
            )
        value = tf.get_static_value(tensor)
        if value is None:
            return tf.cast(tensor, tf.int64)
    return _arguments.integer(name, value, minimum)


# ---------------------------------------------------------------- 벡터


def float_tensor(name, value):
    """실수 텐서로 바꿉니다. 정수나 불리언이면 `TypeError`를 냅니다."""
    tensor = tf.convert_to_tensor(value)
    if not tensor.dtype.is_floating:
        raise TypeError(
            f"{name}에는 실수 텐서가 필요합니다. 받은 dtype: {tensor.dtype.name}. "
            f"tf.cast({name}, tf.float32)로 바꾸어 주세요."
        )
    return tensor


def vectors(name, value, depth=None):
    """벡터의 나열 (batch, length, depth)로 바꿉니다. 실수의 3차원이 아니면 거절합니다.

    depth를 주면 마지막 차원이 그것인지도 봅니다. 모양을 모르는 그래프에서는 봐줍니다.
    """
    tensor = float_tensor(name, value)
    if tensor.shape.rank is not None:
        _require_vectors(name, tensor.shape, depth)
    return tensor


def vector_shape(name, shape, depth=None):
    """모양 (batch, length, depth)를 튜플로 돌려줍니다. 마지막 차원을 알아야 합니다."""
    shape = tuple(shape)
    _require_vectors(name, shape, depth)
    if shape[-1] is None:
        raise ValueError(
            f"{name}에는 마지막 차원을 미리 아는 모양 (batch, length, depth)가 "
            f"필요합니다. 받은 모양: {shape}. keras.Input(shape=(None, depth))처럼 "
            "마지막 차원을 적어 주세요."
        )
    return shape


def _require_vectors(name, shape, depth):
    if not tf.TensorShape(shape).is_compatible_with((None, None, depth)):
        wanted = "" if depth is None else f", 필요한 depth: {depth}"
        raise ValueError(
            f"{name}에는 모양 (batch, length, depth)가 필요합니다. "
            f"받은 모양: {tuple(shape)}{wanted}. 토큰 번호가 아니라 벡터의 나열인지, "
            "앞선 층의 출력과 차원이 맞는지 살펴보세요."
        )


def same_batch(**shapes):
    """두 모양의 문장 수가 서로 같은지 봅니다. 아니면 `ValueError`를 냅니다."""
    (first, a), (second, b) = shapes.items()
    if not tf.TensorShape(a)[:1].is_compatible_with(tf.TensorShape(b)[:1]):
        raise ValueError(
            f"{first}와 {second}에는 같은 수의 문장이 필요합니다. 받은 모양: "
            f"{tuple(a)}, {tuple(b)}. 문장마다 그 문장의 {second}를 짝지어 주세요."
        )


# ---------------------------------------------------------------- 토큰 번호와 위치


def token_ids(name, value):
    """토큰 번호 텐서 (batch, length)로 바꿉니다. 정수의 2차원이 아니면 거절합니다."""
    tensor = _tensor_of_ids(name, value)
    _require_integer(name, tensor, "정수 토큰 번호")
    if tensor.shape.rank is not None and tensor.shape.rank != 2:
        raise ValueError(
            f"{name}에는 모양 (batch, length)가 필요합니다. 받은 모양: {tensor.shape}. "
            f"문장이 하나라면 {name}[tf.newaxis, :]로 배치 축을 더해 주세요."
        )
    return tensor


def sentences(name, value):
    """`token_ids`와 같지만 빈 배치와 빈 문장도 거절합니다."""
    tensor = _tensor_of_ids(name, value)
    # 빈 목록의 dtype은 float32입니다. dtype보다 먼저 비었는지 봅니다.
    if 0 in (tensor.shape.as_list() if tensor.shape.rank else ()):
        raise ValueError(
            f"{name}에는 토큰이 하나라도 있는 모양 (batch, length)가 필요합니다. "
            f"받은 모양: {tensor.shape}. 빈 배치를 걸러 주세요."
        )
    return token_ids(name, tensor)


def _tensor_of_ids(name, value):
    try:
        return tf.convert_to_tensor(value)
    except ValueError as error:
        raise ValueError(
            f"{name}의 목록을 (batch, length) 모양의 텐서로 바꾸지 못했습니다. "
            "문장의 길이가 서로 다르면 짧은 쪽을 패딩 토큰으로 채워 주세요."
        ) from error


def known_ids(name, ids, vocab_size):
    """번호가 모두 어휘 집합에 있는지 보고, 표 안의 번호로 바꾸어 줍니다.

    모르는 번호가 있으면 `tf.errors.InvalidArgumentError`를 냅니다. XLA는 검사를
    지우므로 부르는 쪽이 둘째 값으로 그 자리를 NaN으로 만듭니다.

    Returns:
        `(표 안의 번호, 아는 번호인지)`. int64와 불리언이고 모양은 ids와 같습니다.
    """
    # 작은 정수 dtype에는 vocab_size가 들어가지 않을 수 있으므로 먼저 넓힙니다.
    ids = tf.cast(ids, tf.int64)
    known = (ids >= 0) & (ids < vocab_size)
    if tf.executing_eagerly():
        if message := unknown_ids(name, ids, vocab_size):
            raise tf.errors.InvalidArgumentError(None, None, message)
        return ids, known
    expected, advice = _about_ids(name, vocab_size)
    given = ["받은 번호의 범위:", tf.reduce_min(ids), tf.reduce_max(ids)]
    checked = tf.debugging.Assert(tf.reduce_all(known), [expected, *given, advice])
    with tf.control_dependencies([checked]):
        # 표 밖을 읽는 방식은 장치마다 다릅니다. 언제나 표 안에서 찾게 합니다.
        return tf.where(known, ids, 0), known


def unknown_ids(name, ids, vocab_size):
    """모르는 번호가 있으면 그 까닭을 말합니다. 없으면 None입니다."""
    ids = ids.numpy()
    if not ids.size or (ids.min() >= 0 and ids.max() < vocab_size):
        return None
    expected, advice = _about_ids(name, vocab_size)
    return f"{expected} 받은 번호의 범위: {ids.min()}부터 {ids.max()}까지. {advice}"


def _about_ids(name, vocab_size):
    return (
        f"{name}에는 0부터 {vocab_size - 1}까지의 번호가 필요합니다 "
        f"(vocab_size={vocab_size}).",
        "토크나이저와 모델이 같은 어휘 집합을 쓰는지, vocab_size에 특수 토큰까지 "
        "세었는지 살펴보세요.",
    )


def positions(name, value, length, end=None):
    """토큰마다의 위치를 int64 텐서 (length,)로 바꿉니다. 음수는 거절합니다.

    end를 주면 그보다 작은지도 봅니다. 값을 미리 알면 `ValueError`를 내고, 그래프가
    실행되어야 알면 부르는 쪽이 `nan_unless`로 거절합니다.
    """
    tensor = tf.convert_to_tensor(value)
    _require_integer(name, tensor)
    if not tensor.shape.is_compatible_with((length,)):
        raise ValueError(
            f"{name}에는 토큰마다 하나씩, 모양 ({length},)이 필요합니다. "
            f"받은 모양: {tensor.shape}. 토큰 하나라면 [{name}]처럼 감싸 주세요."
        )
    known = tf.get_static_value(tensor)
    if known is not None and known.size:
        least, most = int(known.min()), int(known.max())
        if least < 0 or (end is not None and most >= end):
            within = "0 이상의" if end is None else f"0부터 {end - 1}까지의"
            raise ValueError(
                f"{name}에는 {within} 위치가 필요합니다. 받은 위치: {least}부터 "
                f"{most}까지. 위치 표가 모자라면 max_length를 늘려 주세요."
            )
    return tf.cast(tensor, tf.int64)


def _require_integer(name, tensor, expected="정수"):
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"{name}에는 {expected}가 필요합니다. 받은 dtype: {tensor.dtype.name}. "
            f"tf.cast({name}, tf.int32)로 바꾸어 주세요."
        )


# ---------------------------------------------------------------- 어텐션


def attention_inputs(query, key, value):
    """같은 dtype의 실수로 바꾸고, 모양이 서로 맞는지 봅니다."""
    tensors = {"query": query, "key": key, "value": value}
    tensors = {name: float_tensor(name, value) for name, value in tensors.items()}
    query, key, value = tensors.values()
    given = ", ".join(f"{n} {t.dtype.name} {t.shape}" for n, t in tensors.items())
    if not query.dtype == key.dtype == value.dtype:
        raise TypeError(
            f"query, key, value에는 같은 dtype이 필요합니다. 받은 것: {given}. "
            "tf.cast로 하나에 맞추어 주세요."
        )
    for name, tensor in tensors.items():
        if tensor.shape.rank is not None and tensor.shape.rank < 2:
            raise ValueError(
                f"{name}에는 모양 (..., length, depth)가 필요합니다. 받은 모양: "
                f"{tensor.shape}. 벡터 하나라면 {name}[tf.newaxis, :]로 길이 축을 "
                "더해 주세요."
            )
    if not query.shape[-1:].is_compatible_with(key.shape[-1:]):
        raise ValueError(
            f"query와 key에는 같은 마지막 차원 d_k가 필요합니다. 받은 것: {given}. "
            "둘을 같은 크기로 바꾼 뒤에 넘겨 주세요."
        )
    if query.shape[-1] == 0:
        raise ValueError(
            f"query와 key에는 1 이상의 d_k가 필요합니다. 받은 것: {given}. "
            "마지막 축이 비어 있지 않은지 살펴보세요."
        )
    same_length(key, value)
    try:
        batch = tf.broadcast_static_shape(query.shape[:-2], key.shape[:-2])
        tf.broadcast_static_shape(batch, value.shape[:-2])
    except ValueError:
        raise ValueError(
            "query, key, value에는 서로 브로드캐스트되는 앞쪽 차원(배치, 헤드)이 "
            f"필요합니다. 받은 것: {given}. 모자란 축은 크기 1로 채워 주세요."
        ) from None
    return query, key, value


def same_length(key, value):
    """키마다 값이 하나씩 있는지 봅니다."""
    if not key.shape[-2:-1].is_compatible_with(value.shape[-2:-1]):
        raise ValueError(
            "key와 value에는 같은 길이가 필요합니다. "
            f"받은 모양: key {key.shape}, value {value.shape}. "
            "인자의 순서가 (query, key, value)인지도 살펴보세요."
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


# ---------------------------------------------------------------- 그래프 안에서


def nan_unless(valid, tensor, *message):
    """그래프에서는 예외를 내고, 예외가 없는 XLA에서는 그럴듯한 값 대신 NaN을 줍니다."""
    if isinstance(valid, bool):  # 그래프를 만들 때 이미 검사했습니다.
        return tensor
    with tf.control_dependencies([tf.debugging.Assert(valid, message)]):
        return tf.where(valid, tensor, tf.constant(float("nan"), tensor.dtype))
