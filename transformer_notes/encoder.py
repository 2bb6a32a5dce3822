"""인코더의 층과 스택 (논문 3.1절)."""

import keras

from transformer_notes._keras_mask import StopsKerasMask
from transformer_notes.multi_head_attention import Attended


class Configured:
    """`TransformerConfig`로 만들어지는 층과 모델의 저장: 설정도 적고 되읽습니다."""

    def get_config(self):
        config = keras.saving.serialize_keras_object(self.config)
        return {**super().get_config(), "config": config}

    @classmethod
    def from_config(cls, config):
        inner = keras.saving.deserialize_keras_object(config["config"])
        return super().from_config({**config, "config": inner})


class ConfiguredLayer(Configured, StopsKerasMask, keras.layers.Layer):
    """`TransformerConfig` 하나로 만들어지는 층의 공통 부분: 하위 층.

    하위 층은 설정이 만듭니다. 여기서는 이름과 dtype을 붙일 뿐입니다.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config

    def add_and_norm(self, name):
        return self.config.add_and_norm(name=name, dtype=self.dtype_policy)

    def attention(self, name):
        return self.config.attention(name=name, dtype=self.dtype_policy)

    def position_wise(self, name):
        return self.config.feed_forward(name=name, dtype=self.dtype_policy)

    def final_norm(self):
        """pre-norm의 스택은 끝에서 한 번 더 정규화합니다. post-norm이면 None입니다."""
        if not self.config.norm_first:
            return None
        return self.config.norm(name="norm", dtype=self.dtype_policy)

    def compute_output_shape(self, x_shape, *_, **__):
        return x_shape

    def compute_output_spec(self, *args, **kwargs):
        # 출력이 하나일 때도 여럿일 때도 있으므로, call을 그려 보고 그 꼴을 알립니다.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)


@keras.saving.register_keras_serializable(package="transformer_notes")
class EncoderLayer(ConfiguredLayer):
    r"""인코더 층 하나: 셀프 어텐션, 그다음 피드포워드. 저마다 Add & Norm으로 감쌉니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        x: 실수, (batch, length, d_model).
        attention_mask: 불리언, (batch, num_heads, length, length)로 브로드캐스트되는
            모양. **True인 자리만 봅니다.** 보통 `padding_mask`입니다.
        training: 드롭아웃을 씌울지.
        return_weights: `Attended`를 돌려받을지.
        position_map: 쿼리와 키에 위치를 새기는 함수. `MultiHeadAttention`과 같습니다.

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model). `return_weights`이면
        `Attended`이고, 가중치는 (batch, num_heads, length, length)입니다.

    Raises:
        TypeError: 불리언이 아닌 마스크.
        ValueError: 점수의 모양에 맞지 않는 마스크.

    Examples:
        >>> from transformer_notes.config import TransformerConfig
        >>> layer = EncoderLayer(TransformerConfig(20, d_model=8, num_heads=2, d_ff=16))
        >>> output, weights, _ = layer(keras.ops.ones((1, 3, 8)), return_weights=True)
        >>> output.shape, weights.shape
        (TensorShape([1, 3, 8]), TensorShape([1, 2, 3, 3]))
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.self_attention = self.attention("self_attention")
        self.self_attention_norm = self.add_and_norm("self_attention_norm")
        self.feed_forward = self.position_wise("feed_forward")
        self.feed_forward_norm = self.add_and_norm("feed_forward_norm")

    def build(self, x_shape):
        self.self_attention.build(x_shape, x_shape, x_shape)
        self.self_attention_norm.build(x_shape)
        self.feed_forward.build(x_shape)
        self.feed_forward_norm.build(x_shape)

    def call(
        self,
        x,
        attention_mask=None,
        training=None,
        return_weights=False,
        position_map=None,
    ):
        options = {"training": training, "return_weights": True}
        options |= {"attention_mask": attention_mask, "position_map": position_map}

        def attend(x):
            return self.self_attention(x, x, x, **options)

        x, weights, _ = self.self_attention_norm(x, attend, training)
        x = self.feed_forward_norm(x, self.feed_forward, training)
        return Attended(x, weights, []) if return_weights else x


@keras.saving.register_keras_serializable(package="transformer_notes")
class Encoder(ConfiguredLayer):
    r"""인코더 층을 `num_layers`겹 쌓습니다. 층마다 가중치가 다릅니다.

    pre-norm이면 마지막 층의 출력을 한 번 더 정규화합니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        x: 실수, (batch, length, d_model). 임베딩과 위치 인코딩을 더한 것입니다.
        attention_mask: `EncoderLayer`와 같습니다. 모든 층이 함께 씁니다.
        training: 드롭아웃을 씌울지.
        return_weights: `Attended`를 돌려받을지.
        position_map: `EncoderLayer`와 같습니다. 모든 층이 함께 씁니다.

    Returns:
        층의 계산 dtype인 실수, (batch, length, d_model). 디코더가 보는 memory입니다.
        `return_weights`이면 `Attended`이고, 가중치는 층마다의 목록입니다.

    Raises:
        TypeError: 불리언이 아닌 마스크.
        ValueError: 점수의 모양에 맞지 않는 마스크.

    Examples:
        >>> from transformer_notes.config import TransformerConfig
        >>> config = TransformerConfig(20, d_model=8, num_heads=2, norm_first=True)
        >>> encoder = Encoder(config)
        >>> encoder.build((None, None, 8))
        >>> len(encoder.layers), encoder.norm.built
        (6, True)
    """

    layer_type = EncoderLayer  # 쌓는 층

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layers = [
            self.layer_type(config, name=f"layer_{index}", dtype=self.dtype_policy)
            for index in range(config.num_layers)
        ]
        self.norm = self.final_norm()

    def build(self, x_shape):
        for layer in self.layers:
            layer.build(x_shape)
        if self.norm is not None:
            self.norm.build(x_shape)

    def call(
        self,
        x,
        attention_mask=None,
        training=None,
        return_weights=False,
        position_map=None,
    ):
        options = {"training": training, "return_weights": True}
        options |= {"attention_mask": attention_mask, "position_map": position_map}
        weights = []
        for layer in self.layers:
            x, seen, _ = layer(x, **options)
            weights.append(seen)
        x = x if self.norm is None else self.norm(x)
        return Attended(x, weights, []) if return_weights else x
