"""80%는 <mask>로, 나머지는 모두 아무 토큰으로 바꾸는 TensorFlow 사람."""

import tensorflow as tf


def mask_tokens(token_ids, chance, random_ids, mask_id):
    chosen = tf.logical_and(token_ids > 3, chance < 0.15)
    changed = tf.where(chance < 0.12, mask_id, random_ids)
    inputs = tf.where(chosen, changed, token_ids)
    return inputs, tf.where(chosen, token_ids, 0)


candidate = mask_tokens
mistakes = (56,)
