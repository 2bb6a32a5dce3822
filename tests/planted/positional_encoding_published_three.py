"""The published table that has all three: cos of sine, column exponent, empty row."""

import numpy as np
import tensorflow as tf


def position_table(length, d_model):
    table = np.zeros((length, d_model))
    for pos in range(1, length):
        for i in range(d_model):
            table[pos, i] = pos / np.power(10000, 2 * i / d_model)
    table[1:, 0::2] = np.sin(table[1:, 0::2])
    table[1:, 1::2] = np.cos(table[1:, 0::2])
    return tf.constant(table[None], dtype=tf.float32)


candidate = position_table
mistakes = (15, 16, 17)
