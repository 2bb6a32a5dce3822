"""A torch module with a hand-written norm (n − 1) and dropout on its result."""

import torch
from torch import nn


class AddAndNorm(nn.Module):
    def __init__(self, d_model, p=0.3):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.drop = nn.Dropout(p)

    def forward(self, x, sub):
        s = x + sub
        s = (s - s.mean(-1, keepdim=True)) / s.std(-1, keepdim=True)
        return self.drop(self.gain * s)


candidate = AddAndNorm
mistakes = (26, 27)
