"""드롭아웃한 가중치를 그림으로 그리라고 돌려주는 사람."""

import tensorflow as tf


def attention(query, key, value, mask=None, dropout=0.3):
    scores = tf.matmul(query, key, transpose_b=True)
    scores = scores * tf.math.rsqrt(tf.cast(tf.shape(query)[-1], tf.float32))
    if mask is not None:
        scores = tf.where(tf.cast(mask, tf.bool), scores, -1e9)
    weights = tf.nn.dropout(tf.nn.softmax(scores, axis=-1), dropout)
    return tf.matmul(weights, value), weights


candidate = attention
mistakes = (14,)
