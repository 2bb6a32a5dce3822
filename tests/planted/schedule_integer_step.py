"""정수 스텝을 실수로 바꾸지 않고 rsqrt에 넣는 Keras 스케줄."""

import tensorflow as tf


class Schedule(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps):
        self.d_model, self.warmup_steps = d_model, warmup_steps

    def __call__(self, step):
        rising = step * self.warmup_steps**-1.5
        return tf.minimum(tf.math.rsqrt(step), rising) * self.d_model**-0.5

    def get_config(self):
        return {"d_model": self.d_model, "warmup_steps": self.warmup_steps}


candidate = Schedule
mistakes = (34,)
