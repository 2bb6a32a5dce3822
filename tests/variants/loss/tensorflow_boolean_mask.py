"""패딩을 boolean_mask로 덜어 낸 다음 tf.nn의 함수를 부르는 사람."""

import tensorflow as tf


@tf.function(reduce_retracing=True)
def compute(labels, logits):
    keep = tf.not_equal(labels, 0)
    labels, logits = tf.boolean_mask(labels, keep), tf.boolean_mask(logits, keep)
    nll = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return tf.reduce_mean(nll)


candidate = compute
