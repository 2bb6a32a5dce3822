"""band_part의 두 인자를 뒤집어 대각선까지 가린 TensorFlow 초보."""

import tensorflow as tf


def create_look_ahead_mask(size):
    return tf.linalg.band_part(tf.ones((size, size)), 0, -1)


candidate = create_look_ahead_mask
mask_true = "hide"
mistakes = (1,)
