"""Line-by-line PyTorch implementations: triu(diagonal=1) == 0, batch axis in front."""

import torch


def subsequent_mask(size):
    """Mask out subsequent positions."""
    attn_shape = (1, size, size)
    upper = torch.triu(torch.ones(attn_shape), diagonal=1).type(torch.uint8)
    return upper == 0


candidate = subsequent_mask
