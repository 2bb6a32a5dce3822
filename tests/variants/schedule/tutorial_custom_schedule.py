"""The LearningRateSchedule of a well-known TensorFlow tutorial, step cast to float."""

import tensorflow as tf


class CustomSchedule(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps=4000):
        super().__init__()
        self.d_model = d_model
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.cast(step, dtype=tf.float32)
        arg1 = tf.math.rsqrt(step)
        arg2 = step * (self.warmup_steps**-1.5)
        scale = tf.math.rsqrt(tf.cast(self.d_model, tf.float32))
        return scale * tf.math.minimum(arg1, arg2)


candidate = CustomSchedule
