"""A Keras layer that takes one dictionary of inputs, as a chatbot tutorial does."""

import keras


class DecoderBlock(keras.layers.Layer):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        size = d_model // num_heads
        self.look = keras.layers.MultiHeadAttention(num_heads, size, use_bias=False)
        self.read = keras.layers.MultiHeadAttention(num_heads, size, use_bias=False)
        self.wide = keras.layers.Dense(d_ff, activation="relu")
        self.narrow = keras.layers.Dense(d_model)
        self.norm = [keras.layers.LayerNormalization(epsilon=1e-6) for _ in range(3)]

    def call(self, inputs):
        x, memory = inputs["x"], inputs["memory"]
        y = self.norm[0](x)
        x = x + self.look(y, y, attention_mask=inputs["self_mask"])
        y = self.norm[1](x)
        x = x + self.read(y, memory, attention_mask=inputs["memory_mask"])
        return x + self.narrow(self.wide(self.norm[2](x)))


candidate = DecoderBlock


def adapter(layer, x, memory, self_mask=None, memory_mask=None):
    names = "x", "memory", "self_mask", "memory_mask"
    return layer(dict(zip(names, (x, memory, self_mask, memory_mask))))
