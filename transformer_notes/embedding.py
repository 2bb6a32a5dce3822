"""토큰 번호를 벡터로 바꾸는 임베딩 (논문 3.4절)."""

import keras
import tensorflow as tf

from transformer_notes import checks


@keras.saving.register_keras_serializable(package="transformer_notes")
class TokenEmbedding(keras.layers.Layer):
    r"""토큰마다 벡터를 하나씩 두고, 번호로 찾아 sqrt(d_model)을 곱합니다 (논문 3.4절).

    .. math:: x_t = \sqrt{d_{model}} \, E_{w_t}

    E는 `embeddings`이고 w_t는 t번째 토큰의 번호입니다. E의 성분은 분산이 1 / d_model인
    정규 분포로 시작합니다. 그래서 E를 출력층과 함께 써도 로짓이 처음부터 치우치지
    않습니다. 곱한 뒤에는 분산이 1이어서, 위치 인코딩과 더해도 묻히지 않습니다.

    패딩 토큰도 다른 토큰과 똑같이 찾습니다. Keras 마스크는 넘기지 않으므로, 가릴
    자리는 `masking.padding_mask`로 만듭니다.

    Args:
        vocab_size: 어휘 집합의 크기, 1 이상의 정수. 토큰 번호는 0부터
            vocab_size - 1까지입니다.
        d_model: 벡터의 차원, 1 이상의 정수.

    호출 인자:

    - token_ids: 정수, (batch, length). 텐서, NumPy 배열, 파이썬 목록과 튜플을 받습니다.

    출력은 (batch, length, d_model)이고, dtype은 층의 계산 dtype입니다.

    Attributes:
        embeddings: sqrt(d_model)을 곱하기 전의 표, (vocab_size, d_model).

    Raises:
        TypeError: 정수가 아닌 `vocab_size`, `d_model`, 토큰 번호.
        ValueError: 1보다 작은 `vocab_size`나 `d_model`, 2차원이 아닌 토큰 번호, 길이가
            서로 다른 목록.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호. `jit_compile=True`에서는
            예외 대신 그 자리가 NaN입니다.

    Examples:
        >>> layer = TokenEmbedding(vocab_size=3, d_model=4)
        >>> layer.build((None, None))
        >>> layer.set_weights([tf.constant([[0.0] * 4, [1.0] * 4, [2.0] * 4])])
        >>> print(layer([[2, 0, 1]]).numpy())
        [[[4. 4. 4. 4.]
          [0. 0. 0. 0.]
          [2. 2. 2. 2.]]]
    """

    def __init__(self, vocab_size, d_model, **kwargs):
        super().__init__(**kwargs)
        self.vocab_size = checks.positive_int("vocab_size", vocab_size)
        self.d_model = checks.positive_int("d_model", d_model)

    def build(self, input_shape):
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocab_size, self.d_model),
            initializer=keras.initializers.RandomNormal(stddev=self.d_model**-0.5),
            autocast=False,  # 표 전체가 아니라 찾은 행만 계산 dtype으로 바꿉니다.
        )

    def __call__(self, token_ids, *args, **kwargs):
        # Keras는 층의 위치 인자로 텐서만 받습니다. 파이썬 목록은 먼저 텐서로 바꿉니다.
        if isinstance(token_ids, (list, tuple)):
            token_ids = _tensor_from_lists(token_ids)
        return super().__call__(token_ids, *args, **kwargs)

    def call(self, token_ids):
        token_ids = checks.token_id_tensor("token_ids", token_ids)
        # 작은 정수 dtype에는 vocab_size가 들어가지 않을 수 있으므로 먼저 넓힙니다.
        token_ids = tf.cast(token_ids, tf.int64)
        known = (token_ids >= 0) & (token_ids < self.vocab_size)  # (batch, length)
        with tf.control_dependencies(self._range_assertions(token_ids, known)):
            # 표 밖을 읽는 방식은 장치마다 다릅니다. 언제나 표 안에서 찾습니다.
            rows = tf.where(known, token_ids, 0)
        vectors = tf.gather(self.embeddings, rows) * self.d_model**0.5
        vectors = tf.cast(vectors, self.compute_dtype)  # (batch, length, d_model)
        # XLA는 위의 검사를 지웁니다. 그때에도 그럴듯한 수를 내지 않습니다.
        nan = tf.constant(float("nan"), vectors.dtype)
        return tf.where(known[..., tf.newaxis], vectors, nan)

    def compute_mask(self, inputs, previous_mask=None):
        """마스크를 다음 층에 넘기지 않습니다."""

    def compute_output_spec(self, token_ids):
        # keras.Input은 call을 거치지 않으므로, 모델을 만들 때 여기서 알려 줍니다.
        if not tf.as_dtype(token_ids.dtype).is_integer:
            raise TypeError(
                "token_ids에는 정수 토큰 번호가 필요합니다. "
                f"받은 dtype: {token_ids.dtype}. "
                'keras.Input(shape=(None,), dtype="int32")처럼 dtype을 적어 주세요.'
            )
        shape = self.compute_output_shape(token_ids.shape)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def compute_output_shape(self, input_shape):
        if len(input_shape) != 2:
            raise ValueError(
                "token_ids에는 모양 (batch, length)가 필요합니다. "
                f"받은 모양: {tuple(input_shape)}."
            )
        return (*input_shape, self.d_model)

    def get_config(self):
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "d_model": self.d_model,
        }

    def _range_assertions(self, token_ids, known):
        expected = (
            f"token_ids에는 0부터 {self.vocab_size - 1}까지의 번호가 필요합니다 "
            f"(vocab_size={self.vocab_size})."
        )
        advice = (
            "토크나이저와 모델이 같은 어휘 집합을 쓰는지, vocab_size에 특수 토큰까지 "
            "세었는지 살펴보세요."
        )
        if not tf.executing_eagerly():
            bounds = [tf.reduce_min(token_ids), tf.reduce_max(token_ids)]
            message = [f"{expected} 받은 번호의 범위:", *bounds, advice]
            return [tf.debugging.Assert(tf.reduce_all(known), message)]
        if not tf.reduce_all(known):
            ids = token_ids.numpy()
            received = f"받은 번호의 범위: {ids.min()}부터 {ids.max()}까지."
            raise tf.errors.InvalidArgumentError(
                None, None, f"{expected} {received} {advice}"
            )
        return []


def _tensor_from_lists(token_ids):
    try:
        return tf.convert_to_tensor(token_ids)
    except ValueError as error:
        raise ValueError(
            "token_ids의 목록을 (batch, length) 모양의 텐서로 바꾸지 못했습니다. "
            "문장의 길이가 서로 다르면 짧은 쪽을 패딩 토큰으로 채워 주세요."
        ) from error
