"""GPT style: one fused projection cut in three, the built-in attention, no bias."""

import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, n_embd, n_head, bias=False):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=bias)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=bias)

    def forward(self, q, k, v, mask=None):
        heads = []
        for x, weight in zip((q, k, v), self.c_attn.weight.chunk(3)):
            x = F.linear(x, weight)
            heads.append(x.unflatten(-1, (self.n_head, -1)).transpose(1, 2))
        y = F.scaled_dot_product_attention(*heads, attn_mask=mask)
        return self.c_proj(y.transpose(1, 2).flatten(2))


candidate = Attention
