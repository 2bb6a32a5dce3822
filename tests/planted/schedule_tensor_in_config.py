"""Casts d_model in the constructor and hands that tensor out in get_config."""

import tensorflow as tf


class CustomSchedule(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps=4000):
        super().__init__()
        self.d_model = tf.cast(d_model, tf.float32)
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.maximum(tf.cast(step, tf.float32), 1.0)
        smaller = tf.minimum(tf.math.rsqrt(step), step * self.warmup_steps**-1.5)
        return tf.math.rsqrt(self.d_model) * smaller

    def get_config(self):
        return {"d_model": self.d_model, "warmup_steps": self.warmup_steps}


candidate = CustomSchedule
mistakes = (34,)
