"""점수에 넣는 위치: 회전 위치 인코딩과 ALiBi (Su 외, 2021; Press 외, 2022)."""

import dataclasses

import keras
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes.config import TransformerConfig
from transformer_notes.multi_head_attention import KeysValues, MultiHeadAttention
from transformer_notes.positional_encoding import PositionalEncoding, sinusoids


def rotate(x, position):
    r"""벡터의 (2i, 2i+1) 쌍을 저마다의 빠르기로 위치만큼 돌립니다.

    .. math:: x_t \mapsto x_t R_{t}, \qquad
              (x_s R_s)(y_t R_t)^\top = x_s R_{s-t}\, y_t^\top

    :math:`R_k`\ 는 사인파 위치 인코딩을 k칸 옮기는 바로 그 행렬입니다. 돌린 것끼리의
    내적에는 두 위치의 차만 남습니다. 각은 float64로, 곱은 float32나 그보다 정밀하게
    계산합니다.

    Args:
        x: 실수, (..., length, depth). depth는 짝수입니다.
        position: 토큰마다의 위치, 정수, (length,).

    Returns:
        x와 같은 모양과 dtype.

    Raises:
        ValueError: 홀수 depth.

    Examples:
        >>> x = tf.constant([[0.0, 1.0], [0.0, 1.0]])
        >>> print(rotate(x, [0, 1]).numpy().round(3))
        [[0.    1.   ]
         [0.841 0.54 ]]
    """
    depth = x.shape[-1]
    wide = tf.cast(x, tf.float64 if x.dtype == tf.float64 else tf.float32)
    waves = tf.cast(sinusoids(position, depth), wide.dtype)  # (length, depth)
    sine, cosine = waves[:, 0::2], waves[:, 1::2]
    first, second = wide[..., 0::2], wide[..., 1::2]
    turned = first * cosine + second * sine, second * cosine - first * sine
    return tf.cast(tf.reshape(tf.stack(turned, axis=-1), tf.shape(x)), x.dtype)


@keras.saving.register_keras_serializable(package="transformer_notes")
class RotaryPositions(PositionalEncoding):
    """회전 위치 인코딩. 임베딩에는 더하지 않고, 쿼리와 키를 위치만큼 돌립니다.

    가중치도 길이의 한도도 없습니다. 크로스 어텐션에는 새기지 않습니다. 헤드의 차원이
    홀수이면 부를 때 `ValueError`를 냅니다.

    Args:
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`).
    """

    def in_attention(self, query, key, position):
        return rotate(query, position), rotate(key, position)


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class RotaryConfig(TransformerConfig):
    """위치를 `RotaryPositions`로 알리는 모델의 설정입니다. `positions`는 안 씁니다."""

    def positional_encoding(self, **options):
        return RotaryPositions(**options)


def alibi_slopes(num_heads):
    r"""헤드마다 거리에 곱할 기울기.

    .. math:: m_h = 2^{-8h / H}, \qquad h = 1, \dots, H

    Args:
        num_heads: 헤드의 수 H.

    Returns:
        float32, (num_heads,). 큰 것부터입니다.

    Examples:
        >>> print(alibi_slopes(4).numpy())
        [0.25       0.0625     0.015625   0.00390625]
    """
    return 2.0 ** (-8.0 * tf.range(1, num_heads + 1, dtype=tf.float32) / num_heads)


@keras.saving.register_keras_serializable(package="transformer_notes")
class ALiBiPositions(PositionalEncoding):
    """쿼리와 키의 끝에 제 위치를 적어 둡니다. 거리는 `ALiBiAttention`이 셉니다.

    위치는 256으로 나눈 몫과 나머지로 적습니다. 그래서 bfloat16에서도 65,535까지
    정확합니다. 캐시에 담긴 키도 제 위치를 지니므로 칸의 순서와 상관이 없습니다.

    Args:
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`).
    """

    def in_attention(self, query, key, position):
        digits = tf.stack([position // 256, position % 256], axis=-1)  # (length, 2)

        def written(x):
            shape = tf.concat([tf.shape(x)[:-1], [2]], axis=0)
            columns = tf.broadcast_to(tf.cast(digits, x.dtype), shape)
            return tf.concat([x, columns], axis=-1)  # (..., length, key_dim + 2)

        return written(query), written(key)


@keras.saving.register_keras_serializable(package="transformer_notes")
class ALiBiAttention(MultiHeadAttention):
    r"""거리에 비례하는 벌점을 점수에서 뺍니다. 인자는 `MultiHeadAttention`과 같습니다.

    .. math:: s_{ij} = \frac{q_i k_j^\top}{\sqrt{d_k}} - m\,|i - j|

    기울기 m은 헤드마다 다르고 배우지 않습니다(`alibi_slopes`). 논문은 앞만 보는 모델을
    다룹니다. 뒤도 보는 인코더에서는 뒤쪽의 기울기를 거꾸로 늘어놓습니다. 두 쪽이 같으면
    순서를 뒤집은 문장을 구별하지 못하기 때문입니다.

    위치는 쿼리와 키의 끝 두 성분에서 읽습니다. 그것이 없는 크로스 어텐션은
    그대로입니다.
    """

    def weigh(self, query, keys, values, mask=None):
        if query.shape[-1] == self.key_dim:
            return super().weigh(query, keys, values, mask)
        query, start = self._content_and_place(query)  # 뒤의 것은 (..., length)
        keys, end = self._content_and_place(keys)
        scores = tf.matmul(query / self.key_dim**0.5, keys, transpose_b=True)
        distance = start[..., :, tf.newaxis] - end[..., tf.newaxis, :]
        slopes = alibi_slopes(self.num_heads)[:, tf.newaxis, tf.newaxis]
        penalty = tf.where(distance > 0, slopes, slopes[::-1]) * tf.abs(distance)
        scores = scores - tf.cast(penalty, scores.dtype)
        if mask is not None:
            mask = _tensors.attention_mask(mask, scores.shape)
        weights = tf.cast(_tensors.masked_softmax(scores, mask), values.dtype)
        return tf.matmul(weights, values), weights

    def _content_and_place(self, x):
        content, digits = tf.split(x, (self.key_dim, 2), axis=-1)
        digits = tf.cast(digits, tf.float32)
        wide = tf.float64 if x.dtype == tf.float64 else tf.float32
        return tf.cast(content, wide), digits[..., 0] * 256 + digits[..., 1]

    def start_cache(self, batch, slots):
        keys, values = super().start_cache(batch, slots)
        return KeysValues(tf.pad(keys, [[0, 0]] * 3 + [[0, 2]]), values)


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class ALiBiConfig(TransformerConfig):
    """위치를 ALiBi로 알리는 모델의 설정입니다. `positions`는 안 씁니다."""

    def positional_encoding(self, **options):
        return ALiBiPositions(**options)

    def attention(self, **options):
        return super().attention(ALiBiAttention, **options)
