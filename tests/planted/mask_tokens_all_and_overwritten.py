"""복사하지도 않고, 모든 토큰을 채점하는 사람."""

import numpy as np


def mask_tokens(token_ids, chance, random_ids, mask_id):
    chosen = (token_ids > 3) & (chance < 0.15)
    np.putmask(token_ids, chosen & (chance < 0.135), random_ids)
    np.putmask(token_ids, chosen & (chance < 0.12), mask_id)
    return token_ids, token_ids


candidate = mask_tokens
mistakes = (55, 57)
