"""Line-by-line PyTorch: four cloned Linears and view/transpose, weights kept aside."""

import copy
import math

import torch
from torch import nn


class MultiHeadedAttention(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        assert d_model % h == 0
        self.d_k = d_model // h
        self.h = h
        linear = nn.Linear(d_model, d_model)
        self.linears = nn.ModuleList([copy.deepcopy(linear) for _ in range(4)])
        for part in self.linears:
            nn.init.xavier_uniform_(part.weight)
        self.attn = None
        self.dropout = nn.Dropout(p=0.1)

    def forward(self, query, key, value, mask=None):
        n = query.size(0)
        query, key, value = (
            lin(x).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        self.attn = scores.softmax(dim=-1)
        x = torch.matmul(self.dropout(self.attn), value).transpose(1, 2).contiguous()
        return self.linears[-1](x.view(n, -1, self.h * self.d_k))


def candidate(d_model, num_heads):
    return MultiHeadedAttention(d_model, num_heads).eval()
