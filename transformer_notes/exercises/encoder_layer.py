"""인코더 층 (논문 3.1절)."""

from transformer_notes.exercises import parts


class EncoderLayer:
    """셀프 어텐션과 피드포워드를, 저마다 잔차 연결과 층 정규화로 감싸 이으세요."""

    def __init__(self, d_model, num_heads, d_ff):
        # parts에서 MultiHeadAttention(d_model, num_heads) 하나,
        # FeedForward(d_model, d_ff) 하나, LayerNorm(d_model) 둘을 만드세요.
        raise NotImplementedError

    def __call__(self, x, attention_mask=None):
        # x (batch, length, d_model)
        # attention_mask: (batch, heads, length, length)로 브로드캐스트. True는 봄
        # 어텐션은 (query, key, value, attention_mask)로 부릅니다.
        # 돌려줄 것: (batch, length, d_model)
        raise NotImplementedError
