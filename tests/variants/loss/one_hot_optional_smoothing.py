"""One-hot targets and log_softmax, label smoothing as an extra, off by default."""

import tensorflow as tf


def label_smoothed_loss(targets, scores, *, smoothing=0.0, pad=0):
    vocab = tf.shape(scores)[-1]
    dense = tf.one_hot(targets, vocab, 1.0 - smoothing, 0.0)
    if smoothing:
        dense += smoothing / tf.cast(vocab - 2, tf.float32) * (1 - dense)
    token = -tf.reduce_sum(dense * tf.nn.log_softmax(scores), axis=-1)
    real = tf.cast(targets != pad, tf.float32)
    return tf.math.divide_no_nan(tf.reduce_sum(token * real), tf.reduce_sum(real))


candidate = label_smoothed_loss
