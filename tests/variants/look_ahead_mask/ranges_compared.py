"""두 range를 견주는 사람: j <= i."""

import tensorflow as tf


def candidate(length):
    i = tf.range(length)[:, None]
    j = tf.range(length)[None, :]
    return (j <= i)[None, None]
