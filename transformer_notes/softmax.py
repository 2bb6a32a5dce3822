"""마스크를 쓰는 소프트맥스. 이 책의 모든 어텐션이 함께 씁니다."""

import tensorflow as tf


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
