"""A bare TensorFlow function, 16 → 64 → 16, with its variables outside."""

import tensorflow as tf

init = tf.keras.initializers.GlorotUniform(seed=3)
w1 = tf.Variable(init((16, 64)))
w2 = tf.Variable(init((64, 16)))
b1 = tf.Variable(tf.zeros(64))
b2 = tf.Variable(tf.zeros(16))


@tf.function(reduce_retracing=True)
def ffn(x):
    """max(0, xW1 + b1)W2 + b2."""
    hidden = tf.nn.relu(tf.tensordot(x, w1, axes=1) + b1)
    return tf.tensordot(hidden, w2, axes=1) + b2


candidate = ffn
