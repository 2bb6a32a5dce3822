"""인코더의 층과 스택 (논문 3.1절)."""

import keras
import tensorflow as tf

from transformer_notes import checks
from transformer_notes.add_norm import AddAndNorm
from transformer_notes.feed_forward import PositionwiseFeedForward
from transformer_notes.multi_head_attention import MultiHeadAttention


class ConfiguredLayer(keras.layers.Layer):
    """`TransformerConfig` 하나로 만들어지는 층의 공통 부분: 저장과 Keras의 마스크."""

    # 마스크가 붙은 입력도 경고 없이 받습니다. compute_mask가 마스크를 끊습니다.
    supports_masking = True

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        if not hasattr(config, "norm_first"):
            raise TypeError(
                "config에는 TransformerConfig가 필요합니다. 받은 것: "
                f"{type(config).__name__} {config!r}. "
                "TransformerConfig(vocab_size)로 만들어 주세요."
            )
        self.config = config

    def add_and_norm(self, name):
        config = self.config
        return AddAndNorm(
            config.dropout,
            norm_first=config.norm_first,
            name=name,
            dtype=self.dtype_policy,
        )

    def attention(self, name):
        config = self.config
        return MultiHeadAttention(
            config.d_model,
            config.num_heads,
            config.key_dim,
            config.value_dim,
            use_bias=config.attention_bias,
            name=name,
            dtype=self.dtype_policy,
        )

    def position_wise(self, name):
        config = self.config
        return PositionwiseFeedForward(
            config.d_model, config.d_ff, name=name, dtype=self.dtype_policy
        )

    def final_norm(self):
        """pre-norm의 스택은 끝에서 한 번 더 정규화합니다. post-norm이면 None입니다."""
        if not self.config.norm_first:
            return None
        return keras.layers.LayerNormalization(
            epsilon=1e-5, name="norm", dtype=self.dtype_policy
        )

    def check_width(self, name, shape):
        """가중치를 만들기 전에 거절합니다. 만든 뒤에는 고칠 수 없습니다."""
        d_model = self.config.d_model
        if not tf.TensorShape(shape).is_compatible_with((None, None, d_model)):
            raise ValueError(
                f"{name}에는 모양 (batch, length, d_model)이 필요합니다. 받은 모양: "
                f"{tuple(shape)}, 설정의 d_model: {d_model}. 임베딩의 d_model과 설정의 "
                "d_model을 맞추어 주세요."
            )

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def compute_output_shape(self, x_shape, *_, **__):
        return x_shape

    def compute_output_spec(self, x, *_, **__):
        return keras.KerasTensor(x.shape, self.compute_dtype)

    def get_config(self):
        config = keras.saving.serialize_keras_object(self.config)
        return {**super().get_config(), "config": config}

    @classmethod
    def from_config(cls, config):
        inner = keras.saving.deserialize_keras_object(config["config"])
        return super().from_config({**config, "config": inner})


@keras.saving.register_keras_serializable(package="transformer_notes")
class EncoderLayer(ConfiguredLayer):
    r"""인코더 층 하나: 셀프 어텐션, 그다음 피드포워드. 저마다 Add & Norm으로 감쌉니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    Call arguments:
        x: 실수, (batch, length, d_model).
        attention_mask: 불리언, (batch, num_heads, length, length)로 브로드캐스트되는
            모양. **True인 자리만 봅니다.** 보통 `padding_mask`입니다.
        training: 드롭아웃을 씌울지.

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model).

    Raises:
        TypeError: 실수가 아닌 입력, 불리언이 아닌 마스크.
        ValueError: 맞지 않는 모양.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.self_attention = self.attention("self_attention")
        self.self_attention_norm = self.add_and_norm("self_attention_norm")
        self.feed_forward = self.position_wise("feed_forward")
        self.feed_forward_norm = self.add_and_norm("feed_forward_norm")

    def build(self, x_shape):
        self.check_width("x", x_shape)
        self.self_attention.build(x_shape, x_shape, x_shape)
        self.self_attention_norm.build(x_shape)
        self.feed_forward.build(x_shape)
        self.feed_forward_norm.build(x_shape)

    def call(self, x, attention_mask=None, training=None):
        x = checks.sequence("x", x)
        x = self.self_attention_norm(
            x,
            lambda x: self.self_attention(
                x, x, x, attention_mask=attention_mask, training=training
            ),
            training=training,
        )
        return self.feed_forward_norm(x, self.feed_forward, training=training)


@keras.saving.register_keras_serializable(package="transformer_notes")
class Encoder(ConfiguredLayer):
    r"""인코더 층을 `num_layers`겹 쌓습니다. 층마다 가중치가 다릅니다.

    pre-norm이면 마지막 층의 출력을 한 번 더 정규화합니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    Call arguments:
        x: 실수, (batch, length, d_model). 임베딩과 위치 인코딩을 더한 것입니다.
        attention_mask: `EncoderLayer`와 같습니다. 모든 층이 함께 씁니다.
        training: 드롭아웃을 씌울지.

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model). 디코더가 보는 memory입니다.

    Raises:
        TypeError: 실수가 아닌 입력, 불리언이 아닌 마스크.
        ValueError: 맞지 않는 모양.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layers = [
            EncoderLayer(config, name=f"layer_{index}", dtype=self.dtype_policy)
            for index in range(config.num_layers)
        ]
        self.norm = self.final_norm()

    def build(self, x_shape):
        for layer in self.layers:
            layer.build(x_shape)
        if self.norm is not None:
            self.norm.build(x_shape)

    def call(self, x, attention_mask=None, training=None):
        x = checks.sequence("x", x)
        for layer in self.layers:
            x = layer(x, attention_mask=attention_mask, training=training)
        return x if self.norm is None else self.norm(x)
