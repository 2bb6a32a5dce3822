"""A functional Keras model: Embedding, then Rescaling by sqrt(d_model)."""

import keras


def make_embedding(vocab_size, d_model):
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(vocab_size, d_model, name="tokens")(ids)
    x = keras.layers.Rescaling(d_model**0.5)(x)
    return keras.Model(ids, x)


candidate = make_embedding
