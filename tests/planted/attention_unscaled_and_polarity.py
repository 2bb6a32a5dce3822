"""A PyTorch learner: no division, and the visible places filled with −1e9."""

import torch.nn.functional as F


def attn(query, key, value, mask=None):
    energy = query @ key.transpose(-1, -2)
    if mask is not None:
        energy = energy.masked_fill(mask == 1, -1e9)
    attention = F.softmax(energy, dim=-1)
    return attention @ value, attention


candidate = attn
mistakes = (2, 8)
