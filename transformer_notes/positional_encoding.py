"""위치 인코딩: 사인파로 만든 것과 학습되는 것 (논문 3.5절)."""

import keras
import tensorflow as tf

from transformer_notes import checks


def sinusoidal_encoding(length, d_model):
    r"""위치 0부터 length - 1까지의 사인파 위치 인코딩 표를 만듭니다.

    .. math::
        PE_{(pos,\,2i)} &= \sin\left(pos / 10000^{2i / d_{model}}\right) \\
        PE_{(pos,\,2i+1)} &= \cos\left(pos / 10000^{2i / d_{model}}\right)

    i는 열이 아니라 (사인, 코사인) 쌍의 번호로, 0부터 d_model / 2 - 1까지입니다. 각은
    float64로 계산하고 마지막에 float32로 바꿉니다.

    Args:
        length: 1 이상의 정수, 또는 그래프 안에서 길이를 담은 정수 스칼라 텐서.
        d_model: 2 이상의 짝수. 사인과 코사인이 열을 하나씩 나누어 씁니다.

    Returns:
        float32, (length, d_model). 행마다 노름이 sqrt(d_model / 2)입니다.

    Raises:
        TypeError: 정수가 아닌 `length`나 `d_model`.
        ValueError: 1보다 작은 `length`, 스칼라가 아닌 텐서, 홀수 `d_model`.

    Examples:
        위치 0의 각은 모두 0입니다. 그래서 사인은 0, 코사인은 1입니다.

        >>> print(sinusoidal_encoding(3, 4).numpy().round(3))
        [[ 0.     1.     0.     1.   ]
         [ 0.841  0.54   0.01   1.   ]
         [ 0.909 -0.416  0.02   1.   ]]
    """
    d_model = _even_d_model(d_model)
    length = checks.integer_scalar("length", length, minimum=1)
    return tf.cast(_sinusoids(tf.range(length), d_model), tf.float32)


@keras.saving.register_keras_serializable(package="transformer_notes")
class SinusoidalPositionalEncoding(keras.layers.Layer):
    """사인파 위치 인코딩을 더합니다. 가중치도 길이의 한도도 없습니다 (논문 3.5절).

    각은 층의 정책이 mixed_float16이어도 float64로 계산하고, 더하기 직전에 한 번만 계산
    dtype으로 바꿉니다. Keras의 마스크는 다음 층에 넘기지 않습니다.

    Args:
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`).

    Call arguments:
        x: 실수, (batch, length, d_model). d_model은 짝수입니다.
        start: 첫 토큰의 위치. 0 이상의 정수, 또는 정수 스칼라 텐서. 토큰을 하나씩 만들
            때에는 앞서 만든 토큰의 수를 넣습니다.

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model). x에 위치 start부터
        start + length - 1까지의 인코딩을 더한 값입니다.

    Raises:
        TypeError: 실수가 아닌 x, 정수가 아닌 `start`.
        ValueError: (batch, length, d_model)이 아닌 x, 홀수 d_model, 음수이거나 스칼라가
            아닌 `start`.
        tf.errors.InvalidArgumentError: 그래프를 실행해야 알 수 있는 음수 `start`. XLA는
            검사를 지우므로 `jit_compile=True`에서는 예외 대신 출력이 NaN입니다.

    Examples:
        넷째 토큰 하나만 넣을 때에는 그 위치 3을 알려 줍니다.

        >>> x = tf.zeros((1, 4, 6))
        >>> layer = SinusoidalPositionalEncoding()
        >>> last = layer(x[:, 3:], start=3)
        >>> bool(tf.reduce_all(last == layer(x)[:, 3:]))
        True
    """

    # 마스크가 붙은 입력도 경고 없이 받습니다. compute_mask가 마스크를 끊습니다.
    supports_masking = True

    def build(self, input_shape):
        d_model = _even_d_model(_input_shape(input_shape)[-1])
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: d_model})

    def call(self, x, start=0):
        x = checks.float_tensor("x", x)
        length, d_model = _length_and_d_model(x)
        start = checks.integer_scalar("start", start, minimum=0)
        encoding = _sinusoids(_positions(start, length), d_model)  # (length, d_model)
        encoding = checks.nan_unless(
            start >= 0,
            encoding,
            f"{self.name}: start에는 0 이상의 정수가 필요합니다. 받은 것:",
            start,
        )
        return x + tf.cast(encoding, x.dtype)  # (batch, length, d_model)

    def compute_output_shape(self, input_shape):
        return _input_shape(input_shape)

    def compute_mask(self, inputs, previous_mask=None):
        return None


@keras.saving.register_keras_serializable(package="transformer_notes")
class LearnedPositionalEncoding(keras.layers.Layer):
    r"""위치마다 벡터를 하나씩 두고 다른 가중치와 함께 배웁니다 (논문 3.5절, 표 3 E).

    .. math:: y_t = x_t + P_{start + t}

    :math:`P`\ 는 `positions`입니다. 분산이 :math:`1 / d_{model}`\ 인 정규 분포로 시작해
    다른 가중치처럼 학습됩니다. 표에 없는 위치는 인코딩할 수 없고, 학습할 때 나오지 않은
    위치의 행은 처음 값에 머뭅니다. 표는 정책이 mixed_float16이어도 float32로 두고, 꺼낸
    행만 계산 dtype으로 바꿉니다. Keras의 마스크는 다음 층에 넘기지 않습니다.

    Args:
        max_length: 표의 행 수. 어휘 집합의 크기가 아니라, 다루려는 가장 긴 문장의
            길이입니다.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    Attributes:
        positions: 배우는 표, (max_length, d_model).

    Call arguments:
        x: 실수, (batch, length, d_model).
        start: 첫 토큰의 위치. 0 이상의 정수, 또는 정수 스칼라 텐서. 토큰을 하나씩 만들
            때에는 앞서 만든 토큰의 수를 넣습니다.

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model).

    Raises:
        TypeError: 정수가 아닌 `max_length`나 `start`, 실수가 아닌 x.
        ValueError: 1보다 작은 `max_length`, (batch, length, d_model)이 아닌 x, 음수
            이거나 스칼라가 아닌 `start`, `max_length`를 넘는 start + length.
        tf.errors.InvalidArgumentError: 그래프를 실행해야 알 수 있는, 표를 벗어난 위치.
            XLA는 검사를 지우므로 `jit_compile=True`에서는 예외 대신 출력이 NaN입니다.

    Examples:
        >>> layer = LearnedPositionalEncoding(max_length=3)
        >>> layer.build((None, None, 2))
        >>> _ = layer.positions.assign([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
        >>> print(layer(tf.zeros((1, 2, 2)), start=1).numpy())
        [[[1. 1.]
          [2. 2.]]]
    """

    # 마스크가 붙은 입력도 경고 없이 받습니다. compute_mask가 마스크를 끊습니다.
    supports_masking = True

    def __init__(self, max_length, **kwargs):
        super().__init__(**kwargs)
        self.max_length = checks.positive_int("max_length", max_length)

    def build(self, input_shape):
        d_model = _input_shape(input_shape)[-1]
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: d_model})
        self.positions = self.add_weight(
            name="positions",
            shape=(self.max_length, d_model),
            initializer=keras.initializers.RandomNormal(stddev=d_model**-0.5),
            autocast=False,
        )

    def call(self, x, start=0):
        x = checks.float_tensor("x", x)
        length, _ = _length_and_d_model(x)
        start = checks.integer_scalar("start", start, minimum=0)
        end = start + length
        if isinstance(end, int):
            self._check_end(end, start)
        # 표 밖의 번호를 gather가 다루는 방식은 장치마다 다릅니다. 표 안으로 몰아 두고
        # 아래에서 한 가지 방식으로 거절합니다.
        rows = tf.clip_by_value(_positions(start, length), 0, self.max_length - 1)
        encoding = tf.gather(self.positions, rows)  # (length, d_model)
        encoding = checks.nan_unless(
            (start >= 0) & (end <= self.max_length),
            encoding,
            f"{self.name}: 표를 벗어난 위치가 있습니다. 첫 위치:",
            start,
            "마지막 위치:",
            end - 1,
            f"표의 마지막 위치: {self.max_length - 1}",
        )
        return x + tf.cast(encoding, x.dtype)  # (batch, length, d_model)

    def compute_output_shape(self, input_shape):
        shape = _input_shape(input_shape)
        if shape[1] is not None:
            self._check_end(shape[1], start=0)
        return shape

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def get_config(self):
        return {**super().get_config(), "max_length": self.max_length}

    def _check_end(self, end, start):
        if end > self.max_length:
            raise ValueError(
                f"max_length={self.max_length}인 표는 위치 {self.max_length - 1}까지만 "
                f"담습니다. 받은 위치: {start}부터 {end - 1}까지. max_length를 {end} "
                "이상으로 두거나 문장을 잘라 주세요."
            )


def _sinusoids(positions, d_model):
    """정수 위치 (length,)의 사인파 인코딩을 float64, (length, d_model)로 계산합니다."""
    pair = tf.range(d_model // 2, dtype=tf.float64)  # i
    angle_rates = 10000.0 ** (-2.0 * pair / d_model)  # (d_model/2,)
    angles = tf.cast(positions, tf.float64)[:, tf.newaxis] * angle_rates
    waves = tf.stack([tf.sin(angles), tf.cos(angles)], axis=-1)  # (length, i, 2)
    return tf.reshape(waves, (-1, d_model))  # 사인과 코사인이 번갈아 놓입니다.


def _positions(start, length):
    """위치 start, ..., start + length - 1을 int64, (length,)로 돌려줍니다."""
    return tf.cast(start, tf.int64) + tf.range(length, dtype=tf.int64)


def _length_and_d_model(x):
    _, length, d_model = _input_shape(x.shape)
    # 길이를 알면 파이썬 정수로 두어야 그래프를 만들 때 검사할 수 있습니다.
    return (tf.shape(x, tf.int64)[1] if length is None else length), d_model


def _input_shape(shape):
    shape = tuple(shape)
    if len(shape) != 3 or shape[-1] is None:
        raise ValueError(
            "x에는 d_model을 미리 아는 모양 (batch, length, d_model)이 필요합니다. "
            f"받은 모양: {shape}. 토큰 번호가 아니라 임베딩을 넘겼는지 살펴보세요."
        )
    return shape


def _even_d_model(d_model):
    d_model = checks.positive_int("d_model", d_model)
    if d_model % 2:
        raise ValueError(
            f"d_model에는 짝수가 필요합니다. 받은 것: {d_model}. 사인과 코사인이 열을 "
            f"하나씩 나누어 쓰므로, {d_model + 1}처럼 짝수로 바꾸어 주세요."
        )
    return d_model
