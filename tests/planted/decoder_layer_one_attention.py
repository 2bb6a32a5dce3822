"""어텐션 층 하나를 셀프 어텐션과 크로스 어텐션에 함께 쓰는 Keras 사람."""

from keras import layers


class DecoderLayer(layers.Layer):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = layers.MultiHeadAttention(num_heads, d_model // num_heads)
        self.wide = layers.Dense(d_ff, activation="relu")
        self.narrow = layers.Dense(d_model)
        self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(3)]

    def call(self, x, memory, self_mask=None, memory_mask=None):
        y = self.attention(x, x, attention_mask=self_mask)
        x = self.norms[0](x + y)
        y = self.attention(x, memory, attention_mask=memory_mask)
        x = self.norms[1](x + y)
        return self.norms[2](x + self.narrow(self.wide(x)))


candidate = DecoderLayer
mistakes = (25,)
