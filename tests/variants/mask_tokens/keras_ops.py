"""어느 백엔드에서나 돌도록 keras.ops로 쓰는 사람."""

from keras import ops


def mask_tokens(token_ids, chance, random_ids, mask_id):
    token_ids = ops.convert_to_tensor(token_ids)
    chosen = ops.logical_and(ops.greater_equal(token_ids, 4), ops.less(chance, 0.15))
    zeros = ops.zeros_like(token_ids)
    hidden = ops.where(ops.less(chance, 0.12), zeros + mask_id, random_ids)
    hidden = ops.where(ops.less(chance, 0.135), hidden, token_ids)
    return ops.where(chosen, hidden, token_ids), ops.where(chosen, token_ids, zeros)


candidate = mask_tokens
