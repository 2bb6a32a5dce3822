"""Both at once: equal instead of not_equal, and the new axis in the wrong place."""

import tensorflow as tf


def padding(ids):
    return tf.equal(ids, 0)[:, tf.newaxis, :, tf.newaxis]


candidate = padding
mistakes = (2, 5)
