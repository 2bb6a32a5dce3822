"""열 번호를 지수에 쓰고, 코사인은 이미 사인이 된 열에서 구하는 TensorFlow 사람."""

import numpy as np
import tensorflow as tf


def encoding(max_len, d_model):
    pos, i = np.meshgrid(np.arange(max_len), np.arange(d_model), indexing="ij")
    angles = pos / np.power(10000.0, 2 * i / d_model)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 0::2])
    return tf.constant(angles, tf.float32)[tf.newaxis]


candidate = encoding
mistakes = (15, 16)
