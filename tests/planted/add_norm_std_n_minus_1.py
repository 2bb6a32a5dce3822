"""x.std(-1)이 n − 1로 나눈다는 것도, ε의 자리도 모르는 PyTorch 사람."""

import torch
from torch import nn


class AddNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x, y):
        x = x + y
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


candidate = AddNorm
mistakes = (26,)
