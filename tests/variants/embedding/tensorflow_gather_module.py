"""tf.Module과 tf.gather를 쓰고 그래프로 도는 사람."""

import tensorflow as tf


class Embed(tf.Module):
    def __init__(self, vocab_size, d_model, *, stddev=0.02):
        super().__init__()
        table = tf.random.normal([vocab_size, d_model], stddev=stddev)
        self.table = tf.Variable(table, name="table")
        self.scale = float(d_model) ** 0.5

    @tf.function(reduce_retracing=True)
    def __call__(self, token_ids):
        return tf.gather(self.table, token_ids) * self.scale


candidate = Embed
