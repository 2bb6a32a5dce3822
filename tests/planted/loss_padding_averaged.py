"""Multiplies by the mask and then takes reduce_mean over every position."""

import tensorflow as tf


def loss_function(y_true, y_pred):
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(y_true, y_pred)
    mask = tf.cast(tf.not_equal(y_true, 0), tf.float32)
    return tf.reduce_mean(tf.multiply(loss, mask))


candidate = loss_function
mistakes = (30,)
