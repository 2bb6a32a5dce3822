"""층이 아니라 함수: 너비 16, 헤드 4개의 가중치를 밖에 둔 @tf.function."""

import tensorflow as tf

D_MODEL, HEADS = 16, 4
WQ, WK, WV, WO = (
    tf.Variable(tf.random.stateless_normal([D_MODEL, D_MODEL], [1, n], stddev=0.25))
    for n in range(4)
)


def split(x):
    x = tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1], HEADS, D_MODEL // HEADS])
    return tf.transpose(x, [0, 2, 1, 3])


@tf.function(reduce_retracing=True)
def multi_head(q, k, v, bias):
    q, k, v = split(q @ WQ), split(k @ WK), split(v @ WV)
    s = tf.matmul(q, k, transpose_b=True) / (D_MODEL // HEADS) ** 0.5 + bias
    o = tf.transpose(tf.nn.softmax(s) @ v, [0, 2, 1, 3])
    return tf.reshape(o, [tf.shape(o)[0], -1, D_MODEL]) @ WO


def candidate(query, key, value, mask=None):
    bias = 0.0 if mask is None else (1 - tf.cast(mask, tf.float32)) * -1e9
    return multi_head(query, key, value, tf.convert_to_tensor(bias))
