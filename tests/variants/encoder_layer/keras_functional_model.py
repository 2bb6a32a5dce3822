"""A functional Keras model with two inputs in a list, so it needs an adapter."""

import keras
import tensorflow as tf
from keras import layers


def encoder_layer(d_model, num_heads, d_ff):
    inputs = keras.Input((None, d_model), name="inputs")
    keep = keras.Input((1, None, None), dtype="bool", name="mask")
    attention = layers.MultiHeadAttention(num_heads, d_model // num_heads)
    attended = attention(inputs, inputs, attention_mask=keep)
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([inputs, attended]))
    y = layers.Dense(d_ff, "relu")(x)
    y = layers.Dropout(0.1)(layers.Dense(d_model)(y))
    y = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))
    return keras.Model([inputs, keep], y)


candidate = encoder_layer


def adapter(model, x, mask=None):
    shape = [tf.shape(x)[0], 1, tf.shape(x)[1], tf.shape(x)[1]]
    keep = tf.cast(1 if mask is None else mask, tf.bool)
    return model([x, tf.broadcast_to(keep, shape)])
