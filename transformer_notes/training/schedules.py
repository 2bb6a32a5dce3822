"""학습률의 웜업 스케줄과 논문의 Adam (논문 5.3절)."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="transformer_notes")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    r"""학습률을 직선으로 올렸다가 스텝의 제곱근에 반비례하게 내립니다 (5.3절의 식 3).

    .. math:: \eta(s) = d_\text{model}^{-0.5}
              \min\left(s^{-0.5},\; s \cdot \text{warmup\_steps}^{-1.5}\right)

    Keras는 스텝을 0부터 셉니다. 0에서는 1의 값을 줍니다.

    Args:
        d_model: 모델의 차원.
        warmup_steps: 웜업의 스텝 수.

    호출 인자:
        step: 스텝. 정수나 실수, 파이썬의 수나 텐서.

    Returns:
        학습률. step이 float64이면 float64, 아니면 Keras의 기본 실수 dtype입니다.

    Examples:
        >>> schedule = WarmupSchedule(d_model=512)
        >>> print(f"{schedule(4000).numpy():.3e}")  # 가장 높은 곳
        6.988e-04
        >>> print(bool(schedule(0) == schedule(1)))
        True
    """

    def __init__(self, d_model, warmup_steps=4000):
        self.d_model = d_model
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.convert_to_tensor(step)
        if step.dtype != tf.float64:
            step = tf.cast(step, keras.config.floatx())
        step = tf.maximum(step, 1)
        slope = self.warmup_steps**-1.5
        return self.d_model**-0.5 * tf.minimum(tf.math.rsqrt(step), step * slope)

    def get_config(self):
        return {"d_model": self.d_model, "warmup_steps": self.warmup_steps}


def adam(d_model, warmup_steps=4000, **kwargs):
    """논문의 Adam입니다 (5.3절): β1 0.9, β2 0.98, ε 1e-9, 웜업 스케줄.

    Args:
        d_model: 모델의 차원.
        warmup_steps: 웜업의 스텝 수.
        **kwargs: `keras.optimizers.Adam`의 다른 인자 (`global_clipnorm` 따위).

    Examples:
        >>> optimizer = adam(d_model=512, global_clipnorm=1.0)
        >>> optimizer.beta_1, optimizer.beta_2, optimizer.epsilon
        (0.9, 0.98, 1e-09)
        >>> optimizer.global_clipnorm
        1.0
        >>> print(f"{optimizer.learning_rate.numpy():.4e}")  # 첫 스텝
        1.7469e-07
    """
    schedule = WarmupSchedule(d_model, warmup_steps)
    return keras.optimizers.Adam(
        schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9, **kwargs
    )
