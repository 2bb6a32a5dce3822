"""메모리를 아끼려고 float16으로 바꾼 다음 마스크에 -1e9을 곱해 더하는 사람."""

import tensorflow as tf


def attention(query, key, value, mask=None):
    q, k, v = (tf.cast(x, tf.float16) for x in (query, key, value))
    scores = tf.matmul(q, k, transpose_b=True) / tf.cast(q.shape[-1] ** 0.5, q.dtype)
    if mask is not None:
        scores += (1 - tf.cast(mask, scores.dtype)) * tf.cast(-1e9, scores.dtype)
    weights = tf.nn.softmax(scores, axis=-1)
    return tf.cast(tf.matmul(weights, v), tf.float32), weights


candidate = attention
mistakes = (4,)
