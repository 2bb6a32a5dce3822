"""Forgets activation= in the first Dense."""

import keras


def ffn(d_model, d_ff):
    return keras.Sequential([keras.layers.Dense(d_ff), keras.layers.Dense(d_model)])


candidate = ffn
mistakes = (23,)
