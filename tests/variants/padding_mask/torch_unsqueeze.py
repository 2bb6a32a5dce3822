"""PyTorch, src_mask of the line-by-line implementations: (batch, 1, length)."""


def make_src_mask(src, pad_idx=0):
    return (src != pad_idx).unsqueeze(-2)


candidate = make_src_mask
