"""모델이 이미 확률을 낸다고 착각해 소프트맥스를 씌우고 from_logits=True를 주는 사람."""

import tensorflow as tf

cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(
    from_logits=True, reduction="none"
)


def loss(labels, logits):
    probabilities = tf.nn.softmax(logits)
    mask = tf.cast(tf.not_equal(labels, 0), tf.float32)
    return tf.reduce_sum(cross_entropy(labels, probabilities) * mask) / tf.reduce_sum(
        mask
    )


candidate = loss
mistakes = (29,)
