"""Gives the cross-attention the same mask as the self-attention."""

from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.h = num_heads
        self.a = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.b = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.ff = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.n1, self.n2, self.n3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        hide = None
        if self_mask is not None:
            n = x.shape[1]
            hide = ~self_mask.bool().expand(len(x), self.h, n, n).flatten(0, 1)
        x = self.n1(x + self.a(x, x, x, attn_mask=hide)[0])
        x = self.n2(x + self.b(x, memory, memory, attn_mask=hide)[0])
        return self.n3(x + self.ff(x))


candidate = DecoderLayer
mistakes = (7,)
