"""Reshapes with the batch of shape[0] and puts the padding on the rows."""

import tensorflow as tf


def make_mask(token_ids):
    batch, keep = token_ids.shape[0], tf.not_equal(token_ids, 0)
    return tf.reshape(keep, [batch, 1, -1, 1])


candidate = make_mask
mistakes = (5, 41)
