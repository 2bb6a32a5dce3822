"""스케일드 닷 프로덕트 어텐션 (논문 3.2.1절, 식 1)."""

import tensorflow as tf

from transformer_notes import checks


def scaled_dot_product_attention(query, key, value, mask=None):
    r"""쿼리마다 키와의 유사도로 값의 가중 평균을 구합니다.

    .. math:: \mathrm{Attention}(Q, K, V)
              = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V

    소프트맥스는 입력이 float16이나 bfloat16이어도 float32로 계산합니다.
    볼 수 있는 키가 하나도 없는 행은 가중치와 출력이 모두 0이고, 기울기도 유한합니다.

    Args:
        query: 실수, (..., length_q, d_k).
        key: `query`와 같은 dtype, (..., length_k, d_k).
        value: `query`와 같은 dtype, (..., length_k, d_v).
        mask: 불리언, (..., length_q, length_k)로 브로드캐스트되는 모양.
            **True인 자리만 봅니다.** None이면 모든 자리를 봅니다.

    Returns:
        `(output, weights)`. output은 (..., length_q, d_v), weights는
        (..., length_q, length_k)이고 둘 다 입력과 dtype이 같습니다. weights의 각 행은
        더해서 1이거나, 볼 키가 없으면 모두 0입니다.

    Raises:
        TypeError: 실수가 아닌 입력, 서로 다른 dtype, 불리언이 아닌 마스크.
        ValueError: 서로 맞지 않는 모양.

    Examples:
        두 키 가운데 두 번째를 가리면 출력은 첫 번째 값 그대로입니다.

        >>> query = [[1.0, 0.0]]
        >>> key = [[1.0, 0.0], [0.0, 1.0]]
        >>> value = [[10.0], [20.0]]
        >>> output, weights = scaled_dot_product_attention(query, key, value)
        >>> print(weights.numpy().round(4))
        [[0.6698 0.3302]]
        >>> output, weights = scaled_dot_product_attention(
        ...     query, key, value, mask=[[True, False]]
        ... )
        >>> print(output.numpy())
        [[10.]]
    """
    query = checks.float_tensor("query", query)
    key = checks.float_tensor("key", key)
    value = checks.float_tensor("value", value)
    _check_inputs(query, key, value)

    precise = tf.float64 if query.dtype == tf.float64 else tf.float32
    scale = tf.cast(tf.sqrt(tf.cast(tf.shape(key)[-1], precise)), query.dtype)
    # 곱한 뒤가 아니라 곱하기 전에 나눕니다. 값은 같고, float16에서 내적이 덜 넘칩니다.
    query = query / scale
    scores = tf.matmul(query, key, transpose_b=True)  # (..., length_q, length_k)
    scores = tf.cast(scores, precise)

    if mask is None:
        weights = tf.nn.softmax(scores)  # 마지막 축(키)을 따라
    else:
        mask = _check_mask(mask, scores)
        # 더하지 않고 골라 넣으므로 무한대끼리 빼는 NaN이 생기지 않습니다.
        weights = tf.nn.softmax(tf.where(mask, scores, scores.dtype.min))
        # 모두 가려진 행의 소프트맥스는 균등 분포입니다. 가린 자리를 0으로 되돌립니다.
        weights = tf.where(mask, weights, tf.zeros((), weights.dtype))

    weights = tf.cast(weights, value.dtype)
    output = tf.matmul(weights, value)  # (..., length_q, d_v)
    return output, weights


def _check_inputs(query, key, value):
    tensors = {"query": query, "key": key, "value": value}
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
    if not key.shape[-2:-1].is_compatible_with(value.shape[-2:-1]):
        raise ValueError(
            f"key와 value에는 같은 길이가 필요합니다. 받은 것: {given}. "
            "인자의 순서가 (query, key, value)인지도 살펴보세요."
        )
    try:
        batch = tf.broadcast_static_shape(query.shape[:-2], key.shape[:-2])
        tf.broadcast_static_shape(batch, value.shape[:-2])
    except ValueError:
        raise ValueError(
            "query, key, value에는 서로 브로드캐스트되는 앞쪽 차원(배치, 헤드)이 "
            f"필요합니다. 받은 것: {given}. 모자란 축은 크기 1로 채워 주세요."
        ) from None


def _check_mask(mask, scores):
    mask = tf.convert_to_tensor(mask)
    if mask.dtype != tf.bool:
        raise TypeError(
            "mask에는 True인 자리를 보는 불리언이 필요합니다. 받은 dtype: "
            f"{mask.dtype.name}. 1이 '봄'이면 tf.cast(mask, tf.bool)로, "
            "1이 '가림'이면 tf.equal(mask, 0)으로 바꾸어 주세요."
        )
    try:
        # 더 큰 쪽으로 늘어나면 안 됩니다. 마스크가 점수의 모양에 맞추어져야 합니다.
        fits = tf.broadcast_static_shape(mask.shape, scores.shape).is_compatible_with(
            scores.shape
        )
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask에는 (..., length_q, length_k) = {scores.shape}로 브로드캐스트되는 "
            f"모양이 필요합니다. 받은 모양: {mask.shape}. 모자란 축은 크기 1로 채워 "
            "주세요."
        )
    return mask
