"""Hands a mask that is True where one may look straight to nn.MultiheadAttention."""

from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.mha = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def forward(self, q, k, v, mask=None):
        if mask is not None:
            size = len(q), self.num_heads, q.shape[1], k.shape[1]
            mask = mask.bool().expand(size).flatten(0, 1)
        return self.mha(q, k, v, attn_mask=mask, average_attn_weights=False)


candidate = Attention
mistakes = (2,)
