"""Multiplies hidden scores by −1e9 where it should have been added."""

import tensorflow as tf


def scaled_dot_product_attention(q, k, v, mask):
    logits = tf.matmul(q, k, transpose_b=True)
    logits = logits / tf.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))
    if mask is not None:
        hidden = 1.0 - tf.cast(mask, tf.float32)
        logits = logits * (1.0 - hidden + hidden * -1e9)
    weights = tf.nn.softmax(logits, axis=-1)
    return tf.matmul(weights, v), weights


candidate = scaled_dot_product_attention
mistakes = (3,)
