"""Softmax with axis=-2: the columns add up to one."""

import tensorflow as tf


def dot_product_attention(q, k, v, mask=None):
    scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(float(q.shape[-1]))
    if mask is not None:
        scores = tf.where(tf.cast(mask, tf.bool), scores, -1e9)
    weights = tf.nn.softmax(scores, axis=-2)
    return tf.matmul(weights, v), weights


candidate = dot_product_attention
mistakes = (9,)
