"""토큰 번호를 벡터로 바꾸는 임베딩 (논문 3.4절)."""

import keras
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes._keras_mask import StopsKerasMask


@keras.saving.register_keras_serializable(package="transformer_notes")
class TokenEmbedding(StopsKerasMask, keras.layers.Layer):
    r"""토큰마다 벡터를 하나씩 두고, 번호로 찾아 sqrt(d_model)을 곱합니다 (논문 3.4절).

    .. math:: x_t = \sqrt{d_\text{model}} \, E_{w_t}

    E는 `embeddings`이고 w_t는 t번째 토큰의 번호입니다. E의 성분은 분산이 1 / d_model인
    정규 분포로 시작합니다. 그래서 E를 출력층과 함께 써도 로짓이 처음부터 치우치지
    않습니다. 곱한 뒤에는 분산이 1이어서, 위치 인코딩과 더해도 묻히지 않습니다.

    패딩 토큰도 다른 토큰과 똑같이 찾습니다. Keras 마스크는 넘기지 않으므로, 가릴
    자리는 `masking.padding_mask`로 만듭니다.

    Args:
        vocab_size: 어휘 집합의 크기. 토큰 번호는 0부터
            vocab_size - 1까지입니다.
        d_model: 벡터의 차원.

    호출 인자:

    - token_ids: 정수, (batch, length). 텐서, NumPy 배열, 파이썬 목록과 튜플을 받습니다.

    출력은 (batch, length, d_model)이고, dtype은 층의 계산 dtype입니다.

    Attributes:
        embeddings: sqrt(d_model)을 곱하기 전의 표, (vocab_size, d_model).

    Raises:
        TypeError: 정수가 아닌 토큰 번호.
        ValueError: 2차원이 아닌 토큰 번호, 길이가 서로 다른 목록.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호.

    Examples:
        >>> layer = TokenEmbedding(vocab_size=3, d_model=4)
        >>> layer.build((None, None))
        >>> layer.set_weights([tf.constant([[0.0] * 4, [1.0] * 4, [2.0] * 4])])
        >>> print(layer([[2, 0, 1]]).numpy())
        [[[4. 4. 4. 4.]
          [0. 0. 0. 0.]
          [2. 2. 2. 2.]]]
        >>> layer(keras.Input((5,), dtype="int32")).shape
        (None, 5, 4)
    """

    def __init__(self, vocab_size, d_model, **kwargs):
        super().__init__(**kwargs)
        self.vocab_size, self.d_model = vocab_size, d_model

    def build(self, input_shape):
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocab_size, self.d_model),
            initializer=keras.initializers.RandomNormal(stddev=self.d_model**-0.5),
            autocast=False,  # 표 전체가 아니라 찾은 행만 계산 dtype으로 바꿉니다.
        )

    def __call__(self, token_ids, **kwargs):
        # Keras는 층의 위치 인자로 텐서만 받습니다. 파이썬 목록은 먼저 텐서로 바꿉니다.
        if isinstance(token_ids, (list, tuple)):
            token_ids = _tensors.token_ids("token_ids", token_ids)
        return super().__call__(token_ids, **kwargs)

    def call(self, token_ids):
        token_ids = _tensors.token_ids("token_ids", token_ids)
        rows = _tensors.known_ids("token_ids", token_ids, self.vocab_size)
        vectors = tf.gather(self.embeddings, rows) * self.d_model**0.5
        return tf.cast(vectors, self.compute_dtype)  # (batch, length, d_model)

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.d_model)

    def get_config(self):
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "d_model": self.d_model,
        }
