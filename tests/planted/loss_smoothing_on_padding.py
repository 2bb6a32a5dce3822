"""레이블 스무딩을 패딩 토큰까지 모든 토큰에 고르게 나누는 사람."""

import tensorflow as tf


def smoothed_loss(labels, logits, epsilon=0.1):
    vocab = tf.shape(logits)[-1]
    target = tf.one_hot(labels, vocab) * (1 - epsilon)
    target += epsilon / tf.cast(vocab, tf.float32)
    nll = tf.nn.softmax_cross_entropy_with_logits(target, logits)
    mask = tf.cast(tf.not_equal(labels, 0), tf.float32)
    return tf.reduce_sum(nll * mask) / tf.reduce_sum(mask)


candidate = smoothed_loss
mistakes = (33,)
