"""A torch learner who likes ReLU and puts one after the heads are joined."""

import torch.nn.functional as F
from torch import nn


class MHA(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        self.h = h
        self.proj = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, q, k, v, mask=None):
        q, k, v = (
            f(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for f, x in zip(self.proj, (q, k, v))
        )
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return F.relu(self.proj[3](y.transpose(1, 2).flatten(2)))


candidate = MHA
mistakes = (12,)
