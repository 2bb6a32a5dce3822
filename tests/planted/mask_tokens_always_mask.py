"""고른 것을 언제나 <mask>로 바꾸는 사람."""

import numpy as np


def mask_tokens(token_ids, chance, random_ids, mask_id):
    chosen = (token_ids > 3) & (chance < 0.15)
    return np.where(chosen, mask_id, token_ids), np.where(chosen, token_ids, 0)


candidate = mask_tokens
mistakes = (56,)
