"""NumPy 한 줄: 0이 아니면 봅니다."""


def make_pad_mask(ids):
    return (ids != 0)[:, None, None, :]


candidate = make_pad_mask
