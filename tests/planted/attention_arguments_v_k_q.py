"""Declares (v, k, q, mask) as an old tutorial did and is called as (q, k, v, mask)."""

import tensorflow as tf


def attention(v, k, q, mask=None):
    scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(float(k.shape[-1]))
    if mask is not None:
        scores += (1.0 - tf.cast(mask, tf.float32)) * -1e9
    weights = tf.nn.softmax(scores)
    return tf.matmul(weights, v), weights


def candidate(query, key, value, mask=None):
    return attention(query, key, value, mask)


mistakes = (11,)
