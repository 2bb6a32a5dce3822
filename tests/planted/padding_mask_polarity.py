"""튜토리얼의 create_padding_mask(1이 패딩)를 Keras 층에 그대로 주는 사람."""

import tensorflow as tf


def create_padding_mask(x):
    mask = tf.cast(tf.math.equal(x, 0), tf.float32)
    return mask[:, tf.newaxis, tf.newaxis, :]


candidate = create_padding_mask
mistakes = (2,)
