"""인코더 층 (논문 3.1절)."""

import keras

from transformer_notes.multi_head_attention import MultiHeadAttention


class EncoderLayer(keras.layers.Layer):
    """셀프 어텐션과 피드포워드를, 저마다 잔차 연결과 층 정규화로 감싸 이으세요."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        # 어텐션, 선형 변환 둘, 층 정규화 둘을 만드세요.
        raise NotImplementedError

    def call(self, x, attention_mask=None):
        # x (batch, length, d_model)
        # attention_mask: (batch, heads, length, length)로 늘어나는 불리언. True는 봄
        # 돌려줄 것: (batch, length, d_model)
        raise NotImplementedError
