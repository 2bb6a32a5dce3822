"""tf.where를 겹쳐 그래프로 만드는 사람."""

import tensorflow as tf


@tf.function
def mask_tokens(token_ids, chance, random_ids, mask_id):
    special = token_ids < 4
    chosen = tf.logical_and(chance < 0.15, tf.logical_not(special))
    changed = tf.where(chance < 0.12, mask_id, random_ids)
    changed = tf.where(chance < 0.135, changed, token_ids)
    inputs = tf.where(chosen, changed, token_ids)
    return inputs, tf.where(chosen, token_ids, tf.zeros_like(token_ids))


candidate = mask_tokens
