"""key_dim에 d_model을 그대로 주는 Keras 사람."""

import keras


class SelfMadeAttention(keras.layers.Layer):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        self.mha = keras.layers.MultiHeadAttention(
            num_heads=num_heads, key_dim=d_model, dropout=dropout
        )

    def call(self, q, k, v, attention_mask=None):
        return self.mha(query=q, value=v, key=k, attention_mask=attention_mask)


candidate = SelfMadeAttention
mistakes = (13,)
