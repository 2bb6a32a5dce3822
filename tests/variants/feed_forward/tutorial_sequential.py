"""The well-known TensorFlow tutorial: a function that returns a Sequential."""

import tensorflow as tf


def point_wise_feed_forward_network(d_model, dff):
    return tf.keras.Sequential(
        [
            tf.keras.layers.Dense(dff, activation="relu"),  # (batch, seq_len, dff)
            tf.keras.layers.Dense(d_model),  # (batch, seq_len, d_model)
        ]
    )


candidate = point_wise_feed_forward_network
