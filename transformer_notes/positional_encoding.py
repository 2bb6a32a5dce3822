"""위치 인코딩: 사인파로 만든 것과 학습되는 것 (논문 3.5절)."""

import keras
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes._keras_mask import StopsKerasMask


def sinusoidal_encoding(length, d_model):
    r"""위치 0부터 length - 1까지의 사인파 위치 인코딩 표를 만듭니다.

    .. math::
        PE_{(pos,\,2i)} &= \sin\left(pos / 10000^{2i / d_\text{model}}\right) \\
        PE_{(pos,\,2i+1)} &= \cos\left(pos / 10000^{2i / d_\text{model}}\right)

    i는 열이 아니라 (사인, 코사인) 쌍의 번호로, 0부터 d_model / 2 - 1까지입니다. 각은
    float64로 계산하고 마지막에 float32로 바꿉니다.

    Args:
        length: 정수, 또는 그래프 안에서 길이를 담은 정수 스칼라 텐서.
        d_model: 2 이상의 짝수. 사인과 코사인이 열을 하나씩 나누어 씁니다.

    Returns:
        float32, (length, d_model). 행마다 노름이 sqrt(d_model / 2)입니다.

    Raises:
        ValueError: 홀수 `d_model`.

    Examples:
        위치 0의 각은 모두 0입니다. 그래서 사인은 0, 코사인은 1입니다.

        >>> print(sinusoidal_encoding(3, 4).numpy().round(3))
        [[ 0.     1.     0.     1.   ]
         [ 0.841  0.54   0.01   1.   ]
         [ 0.909 -0.416  0.02   1.   ]]
        >>> sinusoidal_encoding(3, 5)
        Traceback (most recent call last):
            ...
        ValueError: d_model에는 짝수가 필요합니다. 받은 것: 5...
    """
    return tf.cast(sinusoids(tf.range(length), d_model), tf.float32)


def sinusoids(position, d_model):
    """정해 둔 위치들의 사인파 인코딩을 float64로 계산합니다. 위치를 건너뛰어도 됩니다.

    Args:
        position: 정수, (length,).
        d_model: 짝수.

    Returns:
        float64, (length, d_model).

    Raises:
        ValueError: 홀수 `d_model`.
    """
    if d_model % 2:
        raise ValueError(
            f"d_model에는 짝수가 필요합니다. 받은 것: {d_model}. 사인과 코사인이 열을 "
            f"하나씩 나누어 쓰므로, {d_model + 1}처럼 짝수로 바꾸어 주세요."
        )
    pair = tf.range(d_model // 2, dtype=tf.float64)  # i
    angle_rates = 10000.0 ** (-2.0 * pair / d_model)  # (d_model/2,)
    angles = tf.cast(position, tf.float64)[:, tf.newaxis] * angle_rates
    # (length, d_model/2, 2)
    waves = tf.stack([tf.sin(angles), tf.cos(angles)], axis=-1)
    return tf.reshape(waves, (-1, d_model))  # 사인과 코사인이 번갈아 놓입니다.


class PositionalEncoding(StopsKerasMask, keras.layers.Layer):
    """위치를 알리는 방법의 부모. 새 방법은 두 자리 가운데 하나를 바꾸어 만듭니다.

    - `call`: 임베딩에 더합니다. 기본은 더하지 않고 그대로 돌려줍니다.
    - `in_attention`: 헤드로 나눈 쿼리와 키에 새깁니다. 기본은 새기지 않습니다.

    만든 방법은 `SCHEMES`에 이름을 붙여 넣으면 `TransformerConfig(positions=이름)`이
    씁니다.

    Attributes:
        max_length: 다룰 수 있는 위치의 수. 한도가 없으면 None입니다.
    """

    max_length = None

    def call(self, x, position=None):
        return x

    def in_attention(self, query, key, position):
        """셀프 어텐션이 점수를 매기기 전에 부릅니다.

        키는 새긴 뒤에 캐시에 담기므로, 위치마다 한 번만 새깁니다.

        Args:
            query: 실수, (batch, num_heads, length, key_dim).
            key: query와 같은 모양.
            position: 토큰마다의 위치, int64, (length,).

        Returns:
            `(query, key)`. 받은 것과 모양이 같습니다.
        """
        return query, key

    def compute_output_shape(self, input_shape):
        return input_shape


@keras.saving.register_keras_serializable(package="transformer_notes")
class SinusoidalPositionalEncoding(PositionalEncoding):
    """사인파 위치 인코딩을 더합니다. 가중치도 길이의 한도도 없습니다 (논문 3.5절).

    각은 층의 정책이 mixed_float16이어도 float64로 계산하고, 더하기 직전에 한 번만 계산
    dtype으로 바꿉니다. Keras의 마스크는 다음 층에 넘기지 않습니다.

    Args:
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`).

    호출 인자:
        x: 실수, (batch, length, d_model). d_model은 짝수입니다.
        position: 토큰마다의 위치. 0 이상의 정수, (length,). None이면 0부터 차례로
            셉니다. 토큰을 하나씩 만들 때에는 `[앞서 만든 토큰의 수]`를 넣습니다.

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model). 토큰마다 제 위치의 인코딩을
        더한 값입니다.

    Raises:
        TypeError: 정수가 아닌 `position`.
        ValueError: 홀수 d_model, 모양이 (length,)가 아닌 `position`.

    Examples:
        넷째 토큰 하나만 넣을 때에는 그 위치 3을 알려 줍니다.

        >>> x = tf.zeros((1, 4, 6))
        >>> layer = SinusoidalPositionalEncoding()
        >>> last = layer(x[:, 3:], position=[3])
        >>> bool(tf.reduce_all(last == layer(x)[:, 3:]))
        True
    """

    def call(self, x, position=None):
        position = _positions(position, x)  # (length,)
        encoding = sinusoids(position, x.shape[-1])  # (length, d_model)
        return x + tf.cast(encoding, x.dtype)  # (batch, length, d_model)


@keras.saving.register_keras_serializable(package="transformer_notes")
class LearnedPositionalEncoding(PositionalEncoding):
    r"""위치마다 벡터를 하나씩 두고 다른 가중치와 함께 배웁니다 (논문 3.5절, 표 3 E).

    .. math:: y_t = x_t + P_{pos_t}

    :math:`P`\ 는 `positions`입니다. 분산이 :math:`1 / d_\text{model}`\ 인 정규 분포로
    시작해 다른 가중치처럼 학습됩니다. 표에 없는 위치는 인코딩할 수 없고, 학습할 때
    나오지 않은 위치의 행은 처음 값에 머뭅니다. 표는 정책이 mixed_float16이어도
    float32로 두고, 꺼낸 행만 계산 dtype으로 바꿉니다. Keras의 마스크는 다음 층에
    넘기지 않습니다.

    Args:
        max_length: 표의 행 수. 어휘 집합의 크기가 아니라, 다루려는 가장 긴 문장의
            길이입니다.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    Attributes:
        positions: 배우는 표, (max_length, d_model).

    호출 인자:
        x: 실수, (batch, length, d_model).
        position: 토큰마다의 위치. 0 이상 max_length 미만의 정수, (length,). None이면
            0부터 차례로 셉니다. 토큰을 하나씩 만들 때에는 `[앞서 만든 토큰의 수]`를
            넣습니다.

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model).

    Raises:
        TypeError: 정수가 아닌 `position`.
        ValueError: `max_length`보다 긴 x, 모양이 (length,)가 아닌 `position`.
        tf.errors.InvalidArgumentError: 표를 벗어난 위치.

    Examples:
        >>> layer = LearnedPositionalEncoding(max_length=3, name="places")
        >>> layer.build((None, None, 2))
        >>> _ = layer.positions.assign([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
        >>> print(layer(tf.zeros((1, 2, 2)), position=[1, 2]).numpy())
        [[[1. 1.]
          [2. 2.]]]
        >>> layer.positions.path, layer(tf.zeros((1, 3, 2))).shape
        ('places/positions', TensorShape([1, 3, 2]))
    """

    def __init__(self, max_length, **kwargs):
        super().__init__(**kwargs)
        self.max_length = max_length

    def build(self, input_shape):
        d_model = input_shape[-1]
        self.positions = self.add_weight(
            name="positions",
            shape=(self.max_length, d_model),
            initializer=keras.initializers.RandomNormal(stddev=d_model**-0.5),
            autocast=False,
        )

    def call(self, x, position=None):
        length = x.shape[1] or 0
        if length > self.max_length:
            raise ValueError(
                f"위치가 {length}개 필요합니다. 받은 것: max_length={self.max_length}. "
                "입력을 줄이거나 max_length를 늘려 주세요."
            )
        position = _positions(position, x)  # (length,)
        rows = _tensors.known_ids("position", position, self.max_length)
        encoding = tf.gather(self.positions, rows)  # (length, d_model)
        return x + tf.cast(encoding, x.dtype)  # (batch, length, d_model)

    def get_config(self):
        return {**super().get_config(), "max_length": self.max_length}


#: 이름마다 위치 인코딩을 만드는 함수. 설정과 층의 인자(`name`, `dtype`)를 받습니다.
#: 설정도 명령줄도 이 표를 봅니다. 책에 더하는 방법은 이 모듈에 둡니다.
SCHEMES = {
    "sinusoidal": lambda config, **options: SinusoidalPositionalEncoding(**options),
    "learned": lambda config, **options: LearnedPositionalEncoding(
        config.max_length, **options
    ),
}


def _positions(position, x):
    """토큰마다의 위치, int64 (length,). None이면 0부터 셉니다."""
    if position is None:
        return tf.range(keras.ops.shape(x)[1], dtype=tf.int64)
    return _tensors.positions("position", position, x.shape[1])
