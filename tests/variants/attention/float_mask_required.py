"""실수 마스크만 받고 (mask - 1) * 1e10을 더하며 logsumexp를 쓰는 사람."""

import tensorflow as tf


def attend(q, k, v, float_mask=None):
    logits = tf.linalg.matmul(q, k, transpose_b=True) / q.shape[-1] ** 0.5
    if float_mask is not None:
        logits = logits + (float_mask - 1.0) * 1e10
    log_w = logits - tf.reduce_logsumexp(logits, axis=-1, keepdims=True)
    w = tf.exp(log_w)
    return w @ v, w


candidate = attend
