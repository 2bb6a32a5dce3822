"""GPT style: one big boolean buffer of hidden places made once, cropped when used."""

import torch

_MAX = 512
_HIDDEN = torch.ones(_MAX, _MAX, dtype=torch.bool).triu(1)


def crop(T):
    return _HIDDEN[:T, :T].view(1, 1, T, T)


candidate = crop
mask_true = "hide"
