"""층 없이 tf.Module과 변수로 쓰고 정규화를 먼저 하는 사람. 그래프로 돕니다."""

import tensorflow as tf


class PreNormLayer(tf.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        init, self.h = tf.initializers.GlorotUniform(), num_heads
        self.w = {n: tf.Variable(init((d_model, d_model))) for n in "qkvo"}
        self.up, self.down = (
            tf.Variable(init(s)) for s in ((d_model, d_ff), (d_ff, d_model))
        )
        self.gains = [tf.Variable(tf.ones(d_model)) for _ in range(2)]

    def norm(self, x, gain):
        mean, var = tf.nn.moments(x, -1, keepdims=True)
        return (x - mean) * tf.math.rsqrt(var + 1e-5) * gain

    def heads(self, x, name):
        s = tf.shape(x)
        y = tf.reshape(x @ self.w[name], [s[0], s[1], self.h, s[2] // self.h])
        return tf.transpose(y, [0, 2, 1, 3])

    @tf.function(reduce_retracing=True)
    def run(self, x, bias):
        y = self.norm(x, self.gains[0])
        q, k, v = (self.heads(y, n) for n in "qkv")
        scale = tf.math.rsqrt(tf.cast(tf.shape(q)[-1], tf.float32))
        p = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * scale + bias)
        y = tf.reshape(tf.transpose(p @ v, [0, 2, 1, 3]), tf.shape(x))
        x = x + y @ self.w["o"]
        y = self.norm(x, self.gains[1])
        return x + tf.nn.relu(y @ self.up) @ self.down

    def __call__(self, x, mask=None):
        bias = 0.0 if mask is None else (1 - tf.cast(mask, tf.float32)) * -1e9
        return self.run(x, tf.convert_to_tensor(bias))


candidate = PreNormLayer
