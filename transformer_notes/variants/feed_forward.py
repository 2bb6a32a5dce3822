"""ReLU를 바꾼 피드포워드: GELU와 SwiGLU (Hendrycks와 Gimpel, 2016; Shazeer, 2020)."""

import dataclasses

import keras
import tensorflow as tf

from transformer_notes.config import TransformerConfig
from transformer_notes.feed_forward import PositionwiseFeedForward


@keras.saving.register_keras_serializable(package="transformer_notes")
class GELUFeedForward(PositionwiseFeedForward):
    r"""ReLU 자리에 GELU를 둔 피드포워드입니다. 가중치와 인자는 그대로입니다.

    .. math:: \mathrm{FFN}(x) = \mathrm{GELU}(x W_1 + b_1)\, W_2 + b_2,
              \qquad \mathrm{GELU}(z) = z\, \Phi(z)

    :math:`\Phi`\ 는 표준 정규 분포의 누적 분포 함수입니다.
    """

    def call(self, x):
        hidden = tf.tensordot(x, self.w1, axes=1) + self.b1  # (batch, length, d_ff)
        hidden = tf.nn.gelu(hidden)
        return tf.tensordot(hidden, self.w2, axes=1) + self.b2  # (..., d_model)


@keras.saving.register_keras_serializable(package="transformer_notes")
class SwiGLU(PositionwiseFeedForward):
    r"""은닉 하나를 다른 은닉이 여닫는 피드포워드입니다. 편향은 없습니다.

    .. math:: \mathrm{SwiGLU}(x) = (\mathrm{SiLU}(x W) \odot x V)\, W_2,
              \qquad \mathrm{SiLU}(z) = z\, \sigma(z)

    행렬이 셋이므로, 파라미터를 그대로 두려면 `d_ff`를 3분의 2로 줄입니다.

    Args:
        d_model: 입력과 출력의 차원.
        d_ff: 안쪽 층의 차원.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        x: 실수, (batch, length, d_model).

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model).
    """

    def build(self, input_shape):
        inner, outer = (self.d_model, self.d_ff), (self.d_ff, self.d_model)
        self.gate = self.add_weight(name="gate", shape=inner)  # W
        self.value = self.add_weight(name="value", shape=inner)  # V
        self.w2 = self.add_weight(name="w2", shape=outer)

    def call(self, x):
        gate = tf.nn.silu(tf.tensordot(x, self.gate, axes=1))  # (batch, length, d_ff)
        hidden = gate * tf.tensordot(x, self.value, axes=1)
        return tf.tensordot(hidden, self.w2, axes=1)  # (batch, length, d_model)


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class GELUConfig(TransformerConfig):
    """피드포워드가 `GELUFeedForward`인 모델의 설정입니다."""

    def feed_forward(self, **options):
        return GELUFeedForward(self.d_model, self.d_ff, **options)


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class SwiGLUConfig(TransformerConfig):
    """피드포워드가 `SwiGLU`인 모델의 설정입니다.

    안쪽 차원은 `d_ff`의 3분의 2입니다. 그래서 같은 `d_ff`이면 파라미터의 수가 거의
    같습니다.
    """

    def feed_forward(self, **options):
        return SwiGLU(self.d_model, max(1, 2 * self.d_ff // 3), **options)
