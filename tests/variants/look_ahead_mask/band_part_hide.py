"""The well-known TensorFlow tutorial: 1 − band_part(ones, −1, 0), 1 is hidden."""

import tensorflow as tf


def create_look_ahead_mask(size):
    mask = 1 - tf.linalg.band_part(tf.ones((size, size)), -1, 0)
    return mask  # (seq_len, seq_len)


candidate = create_look_ahead_mask
mask_true = "hide"
