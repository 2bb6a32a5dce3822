"""진짜 토큰인지 보지 않고 고르는 사람."""

import numpy as np


def mask_tokens(token_ids, chance, random_ids, mask_id):
    chosen = chance < 0.15
    inputs = np.where(chosen & (chance < 0.135), random_ids, token_ids)
    inputs = np.where(chosen & (chance < 0.12), mask_id, inputs)
    return inputs, np.where(chosen, token_ids, 0)


candidate = mask_tokens
mistakes = (54,)
