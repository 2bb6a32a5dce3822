"""스케일드 닷 프로덕트 어텐션 (논문 3.2.1절, 식 1)."""

import tensorflow as tf

from transformer_notes import _tensors


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
        TypeError: 불리언이 아닌 마스크.
        ValueError: 점수의 모양에 맞지 않는 마스크.

    Examples:
        두 키 가운데 두 번째를 가리면 출력은 첫 번째 값 그대로입니다.

        >>> query = [[1.0, 0.0]]
        >>> key = [[1.0, 2.0], [0.0, 1.0]]
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
    query, key, value = map(tf.convert_to_tensor, (query, key, value))
    scale = tf.sqrt(tf.cast(tf.shape(key)[-1], tf.float64))
    # 곱한 뒤가 아니라 곱하기 전에 나눕니다. 값은 같고, float16에서 내적이 덜 넘칩니다.
    query = query / tf.cast(scale, query.dtype)
    scores = tf.matmul(query, key, transpose_b=True)  # (..., length_q, length_k)
    if mask is not None:
        mask = _tensors.attention_mask(mask, scores.shape)
    weights = tf.cast(_tensors.masked_softmax(scores, mask), value.dtype)
    return tf.matmul(weights, value), weights  # (..., length_q, d_v)
