"""층 하나를 만들어 두 번 부르고 두 층짜리 인코더라고 하는 사람."""

import keras
from keras import layers


class Block(layers.Layer):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = layers.MultiHeadAttention(num_heads, d_model // num_heads)
        self.wide = layers.Dense(d_ff, activation="relu")
        self.narrow = layers.Dense(d_model)
        self.norm1 = layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = layers.LayerNormalization(epsilon=1e-6)

    def call(self, x, attention_mask=None):
        x = self.norm1(x + self.attention(x, x, attention_mask=attention_mask))
        return self.norm2(x + self.narrow(self.wide(x)))


class Encoder(keras.layers.Layer):
    def __init__(self, d_model, num_heads, d_ff, num_layers=2):
        super().__init__()
        self.num_layers = num_layers
        self.block = Block(d_model, num_heads, d_ff)

    def call(self, x, attention_mask=None):
        for _ in range(self.num_layers):
            x = self.block(x, attention_mask)
        return x


candidate = Encoder
mistakes = (25,)
