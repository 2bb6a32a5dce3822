"""PyTorch: i runs over the columns, 2i / d_model all the same."""

import torch


def pe(length, d_model):
    i = torch.arange(d_model, dtype=torch.float64)
    angle = torch.arange(length)[:, None] / 10000 ** (2 * i / d_model)
    out = torch.empty_like(angle)
    out[:, ::2] = angle[:, ::2].sin()
    out[:, 1::2] = angle[:, 1::2].cos()
    return out.float()


candidate = pe
mistakes = (16,)
