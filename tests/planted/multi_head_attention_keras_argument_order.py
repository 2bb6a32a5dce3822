"""keras.layers.MultiHeadAttention을 (값, 키, 쿼리)로 부르는 옛 튜토리얼의 순서."""

import keras


class Attention(keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.mha = keras.layers.MultiHeadAttention(num_heads, d_model // num_heads)

    def call(self, query, key, value, attention_mask=None):
        v, k, q = query, key, value
        return self.mha(query=q, key=k, value=v, attention_mask=attention_mask)


candidate = Attention
mistakes = (11,)
