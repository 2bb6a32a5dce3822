"""PyTorch: masked_fill(mask, …) with a mask that is True where one may look."""

import torch


def attention(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(mask.bool(), -1e9)
    return torch.softmax(s, dim=-1) @ v


candidate = attention
mistakes = (2,)
