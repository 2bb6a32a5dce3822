"""A ready keras.layers.MultiHeadAttention, whose order is query, value, key."""

import keras

candidate = keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)


def adapter(layer, query, key, value, mask=None):
    return layer(query, value, key=key, attention_mask=mask)
