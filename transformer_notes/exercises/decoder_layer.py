"""디코더 층 (논문 3.1절)."""

from transformer_notes.exercises import parts


class DecoderLayer:
    """셀프 어텐션, 크로스 어텐션, 피드포워드를 저마다 감싸 이으세요."""

    def __init__(self, d_model, num_heads, d_ff):
        # parts에서 MultiHeadAttention(d_model, num_heads) 둘,
        # FeedForward(d_model, d_ff) 하나, LayerNorm(d_model) 셋을 만드세요.
        raise NotImplementedError

    def __call__(self, x, memory, attention_mask=None, memory_mask=None):
        # x (batch, n_t, d_model), memory (batch, n_s, d_model)
        # attention_mask: 답이 답을 볼 때. (batch, heads, n_t, n_t)로 브로드캐스트
        # memory_mask: 답이 원문을 볼 때. (batch, heads, n_t, n_s)로 브로드캐스트
        # 두 마스크는 불리언이고 True는 봄입니다.
        # 어텐션은 (query, key, value, attention_mask)로 부릅니다.
        # 돌려줄 것: (batch, n_t, d_model)
        raise NotImplementedError
