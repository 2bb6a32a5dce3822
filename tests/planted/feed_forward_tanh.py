"""옛 신경망처럼 tanh를 쓰는 사람."""

import tensorflow as tf


def ffn(d_model, d_ff):
    return tf.keras.Sequential(
        [tf.keras.layers.Dense(d_ff, activation="tanh"), tf.keras.layers.Dense(d_model)]
    )


candidate = ffn
mistakes = ()
wrong = True
