"""잔차 연결과 층 정규화 (논문 3.1절, 5.4절)."""

import keras
import tensorflow as tf

from transformer_notes._keras_mask import StopsKerasMask
from transformer_notes.multi_head_attention import Attended


@keras.saving.register_keras_serializable(package="transformer_notes")
class AddAndNorm(StopsKerasMask, keras.layers.Layer):
    r"""하위 층을 잔차 연결과 층 정규화로 감쌉니다.

    .. math::
        \text{post-norm:}\quad & \mathrm{LayerNorm}(x + \mathrm{Dropout}(f(x))) \\
        \text{pre-norm:}\quad & x + \mathrm{Dropout}(f(\mathrm{LayerNorm}(x)))

    논문은 post-norm입니다. 혼합 정밀도에서도 정규화는 float32로 계산합니다. Keras의
    마스크는 다음 층에 넘기지 않습니다.

    하위 층은 이 층의 것이 아닙니다. 하위 층의 가중치는 이 층을 부르는 층이나 모델이
    가지고 있어야 하므로, `keras.Input`에 곧바로 씌우지 않고 `call` 안에서 부릅니다.

    Args:
        dropout: 하위 층의 출력에 씌울 드롭아웃의 비율 (5.4절).
        epsilon: 분산에 더해 0으로 나누기를 막는 수.
        norm_first: True이면 pre-norm입니다.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        x: 실수, (batch, length, d_model).
        sublayer: x와 같은 모양과 dtype을 돌려주는 함수나 층. `Attended`를 돌려주면 그
            output을 더합니다.
        training: 드롭아웃을 씌울지.

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model). `sublayer`가 `Attended`를
        돌려주었으면 그 output만 이것으로 바꾼 `Attended`입니다.

    Raises:
        TypeError: `keras.Input`.
        ValueError: 다른 모양이나 dtype을 돌려주는 `sublayer`.

    Examples:
        >>> x = tf.constant([[[1.0, 0.0, 0.0, 0.0]]])
        >>> print(AddAndNorm()(x, lambda x: 0 * x).numpy().round(3))
        [[[ 1.732 -0.577 -0.577 -0.577]]]
        >>> print(AddAndNorm(norm_first=True)(x, lambda x: 2 * x).numpy().round(3))
        [[[ 4.464 -1.155 -1.155 -1.155]]]
        >>> AddAndNorm()(x, lambda x: x[..., :2])
        Traceback (most recent call last):
            ...
        ValueError: ...x와 같은 float32 (1, 1, 4)을... 돌려준 것: float32 (1, 1, 2)...
    """

    def __init__(self, dropout=0.0, epsilon=1e-5, norm_first=False, **kwargs):
        super().__init__(**kwargs)
        self.dropout, self.epsilon = dropout, epsilon
        self.norm_first = norm_first
        # 하위 층은 전역 정책을 따르므로, 이 층의 dtype을 넘겨주어야 합니다.
        self.norm = self.make_norm(dtype=self.dtype_policy, name="norm")
        self._dropout = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)

    def make_norm(self, **options):
        """정규화하는 층을 만듭니다. 다른 정규화는 이 메서드를 다시 적어 씁니다."""
        return keras.layers.LayerNormalization(epsilon=self.epsilon, **options)

    def build(self, x_shape):
        self.norm.build(x_shape)

    def __call__(self, x, sublayer, training=None):
        if isinstance(x, keras.KerasTensor):
            raise TypeError(
                "AddAndNorm에는 keras.Input이 아니라 텐서가 필요합니다. 하위 층의 "
                "가중치가 모델에 등록되지 않기 때문입니다. 하위 층을 가진 층을 만들고 "
                "그 call 안에서 불러 주세요."
            )
        # Keras는 층의 위치 인자로 텐서만 받습니다. 함수는 이름을 붙여 넘깁니다.
        options = {"sublayer": sublayer}
        if training is not None:  # None을 넘기면 바깥 층의 training을 잇지 못합니다.
            options["training"] = training
        return super().__call__(x, **options)

    def call(self, x, sublayer, training=None):
        result = sublayer(self.norm(x) if self.norm_first else x)
        attended = isinstance(result, Attended)
        changed = result.output if attended else result
        check_addable(x, changed)
        added = x + self._dropout(changed, training=training)
        output = added if self.norm_first else self.norm(added)
        return result._replace(output=output) if attended else output

    def compute_output_shape(self, x_shape, *_):
        return x_shape

    def get_config(self):
        return {
            **super().get_config(),
            "dropout": self.dropout,
            "epsilon": self.epsilon,
            "norm_first": self.norm_first,
        }


def check_addable(x, changed):
    if tf.is_tensor(changed):
        given = f"{changed.dtype.name} {changed.shape}"
        if changed.dtype == x.dtype and changed.shape.is_compatible_with(x.shape):
            return
    else:
        given = type(changed).__name__
    raise ValueError(
        f"sublayer에는 x와 같은 {x.dtype.name} {x.shape}을 돌려주는 함수가 필요합니다. "
        f"돌려준 것: {given}. 모양과 dtype이 같아야 x에 더할 수 있습니다."
    )
