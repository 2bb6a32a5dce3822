"""Keras: divides by the square root, by analogy with attention."""

import keras


class TokenEmbedding(keras.layers.Layer):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = keras.layers.Embedding(vocab_size, d_model)
        self.root = d_model**0.5

    def call(self, ids):
        return self.table(ids) / self.root


candidate = TokenEmbedding
mistakes = (22,)
