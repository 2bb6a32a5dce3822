"""2017년 다음에 바뀐 것: 이 책의 층에 끼워 넣는 부품과, 그것을 고르는 설정.

부품은 대개 이 책의 층에서 메서드 한둘만, 설정은 `TransformerConfig`에서 그 부품을
만드는 메서드만 다시 적습니다.
"""

from transformer_notes.variants.attention import (
    GroupedQueryAttention,
    GroupedQueryConfig,
)
from transformer_notes.variants.blocks import (
    AttentionInBlocks,
    BlocksConfig,
    attention_in_blocks,
)
from transformer_notes.variants.decoder_only import DecoderOnly, Today
from transformer_notes.variants.feed_forward import (
    GELUConfig,
    GELUFeedForward,
    SwiGLU,
    SwiGLUConfig,
)
from transformer_notes.variants.norm import AddAndRMSNorm, RMSNorm, RMSNormConfig
from transformer_notes.variants.positions import (
    ALiBiAttention,
    ALiBiConfig,
    ALiBiPositions,
    RotaryConfig,
    RotaryPositions,
    alibi_slopes,
    rotate,
)

__all__ = [
    "ALiBiAttention",
    "ALiBiConfig",
    "ALiBiPositions",
    "AddAndRMSNorm",
    "AttentionInBlocks",
    "BlocksConfig",
    "DecoderOnly",
    "GELUConfig",
    "GELUFeedForward",
    "GroupedQueryAttention",
    "GroupedQueryConfig",
    "RMSNorm",
    "RMSNormConfig",
    "RotaryConfig",
    "RotaryPositions",
    "SwiGLU",
    "SwiGLUConfig",
    "Today",
    "alibi_slopes",
    "attention_in_blocks",
    "rotate",
]
