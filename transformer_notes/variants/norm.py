"""RMSNorm: 평균을 빼지 않는 정규화 (Zhang과 Sennrich, 2019)."""

import dataclasses

import keras
import tensorflow as tf

from transformer_notes._keras_mask import StopsKerasMask
from transformer_notes.add_norm import AddAndNorm
from transformer_notes.config import TransformerConfig


@keras.saving.register_keras_serializable(package="transformer_notes")
class RMSNorm(StopsKerasMask, keras.layers.Layer):
    r"""제곱 평균의 제곱근으로 나눕니다. 평균을 빼지도 편향을 더하지도 않습니다.

    .. math:: y = \gamma \odot \frac{x}{\sqrt{\frac{1}{d} \sum_i x_i^2 + \epsilon}}

    혼합 정밀도에서도 float32로 계산합니다.

    Args:
        epsilon: 0으로 나누기를 막는 수.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        x: 실수, (batch, length, d_model).

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model).

    Examples:
        >>> print(RMSNorm()(tf.constant([[[3.0, 4.0, 0.0, 0.0]]])).numpy().round(3))
        [[[1.2 1.6 0.  0. ]]]
    """

    def __init__(self, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, input_shape):
        d_model = input_shape[-1]
        self.gamma = self.add_weight(
            name="gamma", shape=(d_model,), initializer="ones", autocast=False
        )

    def call(self, x):
        wide = tf.cast(x, self.gamma.dtype)
        mean_square = tf.reduce_mean(wide * wide, axis=-1, keepdims=True)
        y = self.gamma * wide * tf.math.rsqrt(mean_square + self.epsilon)
        return tf.cast(y, x.dtype)  # (batch, length, d_model)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "epsilon": self.epsilon}


@keras.saving.register_keras_serializable(package="transformer_notes")
class AddAndRMSNorm(AddAndNorm):
    """층 정규화 자리에 `RMSNorm`을 둔 `AddAndNorm`입니다. 인자도 같습니다."""

    def make_norm(self, **options):
        return RMSNorm(self.epsilon, **options)


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class RMSNormConfig(TransformerConfig):
    """모든 정규화가 `RMSNorm`인 모델의 설정입니다."""

    def norm(self, **options):
        return RMSNorm(**options)

    def add_and_norm(self, **options):
        return AddAndRMSNorm(self.dropout, norm_first=self.norm_first, **options)
