"""Hides the diagonal as well, and hands the mask to a layer where 1 means look."""

import tensorflow as tf


def mask(length):
    return tf.cast(tf.linalg.band_part(tf.ones((1, length, length)), 0, -1), tf.bool)


candidate = mask
mistakes = (1, 2)
