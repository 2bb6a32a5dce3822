"""The float mask of a well-known TensorFlow tutorial: 1.0 where it is padding."""

import tensorflow as tf


def create_padding_mask(seq):
    seq = tf.cast(tf.math.equal(seq, 0), tf.float32)
    return seq[:, tf.newaxis, tf.newaxis, :]


candidate = create_padding_mask
mask_true = "hide"
