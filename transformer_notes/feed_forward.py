"""위치별 피드포워드 신경망 (논문 3.3절)."""

import keras
import tensorflow as tf

from transformer_notes._keras_mask import StopsKerasMask


@keras.saving.register_keras_serializable(package="transformer_notes")
class PositionwiseFeedForward(StopsKerasMask, keras.layers.Layer):
    r"""자리마다 같은 가중치로 넓혔다가, 음수를 지우고, 다시 좁힙니다.

    .. math:: \mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2

    자리끼리는 섞이지 않습니다. Keras의 마스크는 다음 층에 넘기지 않습니다.

    Args:
        d_model: 입력과 출력의 차원.
        d_ff: 안쪽 층의 차원. 논문은 4 · d_model로 둡니다.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        x: 실수, (batch, length, d_model).

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model).

    Examples:
        >>> import numpy as np
        >>> layer = PositionwiseFeedForward(d_model=1, d_ff=2)
        >>> layer.build((None, None, 1))
        >>> print(layer.b1.numpy(), layer.b2.numpy())  # 편향은 0에서 시작합니다
        [0. 0.] [0.]
        >>> bent = [[1, -1]], [-2, 2], [[1], [1]], [10]  # w1, b1, w2, b2: |x - 2| + 10
        >>> layer.set_weights([np.array(weight) for weight in bent])
        >>> print(layer(np.array([[[3.0], [-2.0]]])).numpy().ravel())
        [11. 14.]
        >>> [weight.name for weight in layer.weights]
        ['w1', 'b1', 'w2', 'b2']
    """

    def __init__(self, d_model, d_ff, **kwargs):
        super().__init__(**kwargs)
        self.d_model, self.d_ff = d_model, d_ff

    def build(self, input_shape):
        self.w1, self.b1 = self._add_map(1, self.d_model, self.d_ff)
        self.w2, self.b2 = self._add_map(2, self.d_ff, self.d_model)

    def _add_map(self, number, rows, columns):
        kernel = self.add_weight(name=f"w{number}", shape=(rows, columns))
        return kernel, self.add_weight(
            name=f"b{number}", shape=(columns,), initializer="zeros"
        )

    def call(self, x):
        hidden = tf.tensordot(x, self.w1, axes=1) + self.b1  # (batch, length, d_ff)
        hidden = tf.nn.relu(hidden)
        return tf.tensordot(hidden, self.w2, axes=1) + self.b2  # (..., d_model)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.d_model)

    def get_config(self):
        return {**super().get_config(), "d_model": self.d_model, "d_ff": self.d_ff}
