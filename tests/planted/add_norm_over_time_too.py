"""Normalises over time and features together: axis=(1, 2)."""

import tensorflow as tf


def add_norm(x, sublayer_output):
    y = x + sublayer_output
    mean, var = tf.nn.moments(y, axes=[-2, -1], keepdims=True)
    return (y - mean) / tf.sqrt(var + 1e-6)


candidate = add_norm
mistakes = (26,)
