"""TensorFlow: an Embedding layer multiplied by sqrt(d_model) in call."""

import tensorflow as tf


class InputEmbedding(tf.keras.layers.Layer):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.d_model = d_model
        self.embedding = tf.keras.layers.Embedding(vocab_size, d_model, mask_zero=True)

    def call(self, x):
        x = self.embedding(x)
        return x * tf.math.sqrt(tf.cast(self.d_model, tf.float32))


candidate = InputEmbedding
