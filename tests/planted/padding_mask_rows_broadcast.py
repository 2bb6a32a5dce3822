"""Repeats the padding column over all keys: (batch, 1, length, length), 1 = hidden."""

import torch


def get_attn_pad_mask(seq):
    length = seq.size(1)
    return seq.eq(0).unsqueeze(2).expand(-1, -1, length).unsqueeze(1).to(torch.float)


candidate = get_attn_pad_mask
mask_true = "hide"
mistakes = (5,)
