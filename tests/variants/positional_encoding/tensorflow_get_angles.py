"""A well-known TensorFlow tutorial: get_angles with i // 2, batch axis in front."""

import numpy as np
import tensorflow as tf


def get_angles(pos, i, d_model):
    rates = 1 / np.power(10000, (2 * (i // 2)) / np.float32(d_model))
    return pos * rates


def positional_encoding(position, d_model):
    angle_rads = get_angles(
        np.arange(position)[:, np.newaxis], np.arange(d_model)[np.newaxis, :], d_model
    )
    angle_rads[:, 0::2] = np.sin(angle_rads[:, 0::2])
    angle_rads[:, 1::2] = np.cos(angle_rads[:, 1::2])
    return tf.cast(angle_rads[np.newaxis, ...], dtype=tf.float32)


candidate = positional_encoding
