"""잔차를 더하는 것을 잊은 Keras 사람."""

import keras
from keras import layers


class Block(keras.Model):
    def __init__(self, d_model, num_heads, dff, rate=0.1):
        super().__init__()
        self.mha = layers.MultiHeadAttention(num_heads, d_model // num_heads)
        self.up = layers.Dense(dff, activation="relu")
        self.down = layers.Dense(d_model)
        self.ln1 = layers.LayerNormalization(epsilon=1e-6)
        self.ln2 = layers.LayerNormalization(epsilon=1e-6)
        self.drop = layers.Dropout(rate)

    def call(self, x, mask=None, training=False):
        a = self.drop(self.mha(x, x, attention_mask=mask), training=training)
        x = self.ln1(a)
        return self.ln2(self.down(self.up(x)))


candidate = Block
mistakes = (48,)
