"""Thinks that a word must not see itself: tril with diagonal −1."""

import torch


def causal(n):
    return torch.ones(1, 1, n, n).tril(diagonal=-1).bool()


candidate = causal
mistakes = (1,)
