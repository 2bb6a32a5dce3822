"""배치의 크기를 ids.shape[0]에서 꺼내 모양을 만드는 TensorFlow 사람."""

import tensorflow as tf


def padding(ids):
    batch_size = ids.shape[0]
    keep = tf.cast(tf.not_equal(ids, 0), tf.float32)
    return tf.reshape(keep, (batch_size, 1, 1, -1))


candidate = padding
mistakes = (41,)
