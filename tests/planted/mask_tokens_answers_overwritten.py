"""정답을 복사하지 않고 입력을 그 자리에서 고치는 사람."""

import numpy as np


def mask_tokens(token_ids, chance, random_ids, mask_id):
    labels = token_ids
    chosen = (token_ids > 3) & (chance < 0.15)
    swapped = chosen & (chance >= 0.12) & (chance < 0.135)
    token_ids[chosen & (chance < 0.12)] = mask_id
    token_ids[swapped] = random_ids[swapped]
    return token_ids, np.where(chosen, labels, 0)


candidate = mask_tokens
mistakes = (57,)
