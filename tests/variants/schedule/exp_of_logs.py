"""Works with logarithms in a tf.function and takes integer steps."""

import tensorflow as tf


class LogSchedule(tf.Module):
    def __init__(self, d_model, warmup_steps):
        super().__init__()
        self.log_d = tf.math.log(float(d_model))
        self.log_w = tf.math.log(float(warmup_steps))

    @tf.function(reduce_retracing=True)
    def __call__(self, step):
        log_s = tf.math.log(tf.maximum(tf.cast(step, tf.float32), 1.0))
        exponent = tf.minimum(-0.5 * log_s, log_s - 1.5 * self.log_w)
        return tf.exp(exponent - 0.5 * self.log_d)


candidate = LogSchedule
