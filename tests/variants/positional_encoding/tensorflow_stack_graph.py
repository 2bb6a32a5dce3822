"""그래프 안에서도 도는 TensorFlow 함수. 쌍을 stack으로 묶어 펼칩니다."""

import tensorflow as tf


@tf.function(reduce_retracing=True)
def encode(length, d_model):
    i = tf.range(d_model // 2, dtype=tf.float32)
    freq = tf.pow(10000.0, -2.0 * i / tf.cast(d_model, tf.float32))
    angle = tf.einsum("p,i->pi", tf.range(length, dtype=tf.float32), freq)
    pairs = tf.stack([tf.sin(angle), tf.cos(angle)], axis=-1)
    return tf.reshape(pairs, [length, d_model])


def candidate(length, d_model):
    return encode(tf.constant(length), tf.constant(d_model))
