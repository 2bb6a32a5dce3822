"""축을 하나 잘못 끼운 NumPy 사람: (batch, 1, length, 1)."""


def pad_mask(token_ids):
    return (token_ids != 0)[:, None, :, None]


candidate = pad_mask
mistakes = (5,)
