"""조건을 늘어놓고 np.select로 한 번에 고르는 사람."""

import numpy as np


def mask_tokens(ids, p, random_tokens, mask_token):
    kept = ids < 4
    conditions = [kept, p < 0.12, p < 0.135]
    inputs = np.select(conditions, [ids, mask_token, random_tokens], default=ids)
    return inputs, np.where(kept | (p >= 0.15), 0, ids)


candidate = mask_tokens
