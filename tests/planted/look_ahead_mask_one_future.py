"""Lets each position see one token of the future: tril with diagonal +1."""

import torch


def mask(n):
    return torch.ones(n, n).tril(diagonal=1) == 1


candidate = mask
mistakes = ()
wrong = True
