"""Line-by-line PyTorch, norm first: x + self_attn, x + src_attn, x + feed_forward."""

from torch import nn


class Attn(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x, y, mask):
        split = lambda t: t.unflatten(-1, (self.h, self.dk)).transpose(1, 2)  # noqa: E731
        q, k, v = split(self.q(x)), split(self.k(y)), split(self.v(y))
        s = q @ k.transpose(-1, -2) / self.dk**0.5
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        return self.o((s.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))


class DecoderLayer(nn.Module):
    def __init__(self, size, heads, d_ff):
        super().__init__()
        self.self_attn, self.src_attn = Attn(size, heads), Attn(size, heads)
        self.ff = nn.Sequential(nn.Linear(size, d_ff), nn.ReLU(), nn.Linear(d_ff, size))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))

    def forward(self, x, memory, tgt_mask=None, src_mask=None):
        y = self.norms[0](x)
        x = x + self.self_attn(y, y, tgt_mask)
        x = x + self.src_attn(self.norms[1](x), memory, src_mask)
        return x + self.ff(self.norms[2](x))


candidate = DecoderLayer
