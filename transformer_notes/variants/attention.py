"""헤드 여럿이 키와 값을 함께 쓰는 어텐션 (Shazeer, 2019; Ainslie 외, 2023)."""

import dataclasses

import keras
import tensorflow as tf

from transformer_notes.config import TransformerConfig
from transformer_notes.multi_head_attention import MultiHeadAttention


@keras.saving.register_keras_serializable(package="transformer_notes")
class GroupedQueryAttention(MultiHeadAttention):
    """쿼리의 헤드를 무리로 묶고, 무리마다 키와 값을 하나씩만 둡니다.

    키와 값의 헤드가 하나뿐이면 멀티 쿼리 어텐션입니다. `num_heads`개이면 멀티 헤드
    어텐션과 같습니다. 캐시에는 키와 값의 헤드 수만큼만 담깁니다.

    Args:
        d_model: 출력의 차원.
        num_heads: 쿼리의 헤드 수.
        num_key_heads: 키와 값의 헤드 수. `num_heads`의 약수입니다.
        **kwargs: `MultiHeadAttention`의 나머지 인자.

    Raises:
        ValueError: `num_heads`의 약수가 아닌 `num_key_heads`.

    Examples:
        >>> layer = GroupedQueryAttention(d_model=8, num_heads=4, num_key_heads=2)
        >>> x = tf.ones((1, 3, 8))
        >>> layer(x, x, x).shape, layer.keys_and_values(x, x).keys.shape
        (TensorShape([1, 3, 8]), TensorShape([1, 2, 3, 2]))
    """

    def __init__(self, d_model, num_heads, num_key_heads, **kwargs):
        super().__init__(d_model, num_heads, **kwargs)
        self.num_key_heads = num_key_heads
        if self.num_heads % self.num_key_heads:
            raise ValueError(
                f"num_key_heads에는 num_heads({num_heads})의 약수가 필요합니다. "
                f"받은 것: {num_key_heads}. 무리마다 헤드의 수가 같게 해 주세요."
            )

    @property
    def key_heads(self):
        return self.num_key_heads

    def attend(self, query, keys, values, attention_mask=None, training=None):
        group = self.num_heads // self.num_key_heads
        keys, values = (tf.repeat(x, group, axis=1) for x in (keys, values))
        return super().attend(query, keys, values, attention_mask, training)

    def get_config(self):
        return {**super().get_config(), "num_key_heads": self.num_key_heads}


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class GroupedQueryConfig(TransformerConfig):
    """모든 어텐션이 `GroupedQueryAttention`인 모델의 설정입니다."""

    #: 키와 값의 헤드 수. 1이면 멀티 쿼리 어텐션입니다.
    num_key_heads: int = 1

    def attention(self, **options):
        heads = {"num_key_heads": self.num_key_heads}
        return super().attention(GroupedQueryAttention, **heads, **options)
