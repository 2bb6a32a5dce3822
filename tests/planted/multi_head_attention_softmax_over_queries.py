"""torch.einsum으로 쓰면서 소프트맥스의 축을 쿼리에 둔 사람."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v = (
            nn.Linear(dim, dim, bias=False) for _ in range(3)
        )
        self.to_out = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        q = self.to_q(query).unflatten(-1, (self.heads, -1))
        k = self.to_k(key).unflatten(-1, (self.heads, -1))
        v = self.to_v(value).unflatten(-1, (self.heads, -1))
        s = torch.einsum("bqhe,bkhe->bhqk", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            s = s.masked_fill(~mask.bool(), -1e9)
        w = s.softmax(dim=2)
        return self.to_out(torch.einsum("bhqk,bkhe->bqhe", w, v).flatten(2))


candidate = Attention
mistakes = (9,)
