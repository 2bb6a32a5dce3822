"""PyTorch: view(b, heads, −1, d_k) with no transpose, and back again by view."""

from torch import nn


class MultiHead(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads, self.d_k = heads, d_model // heads
        self.q, self.k, self.v, self.out = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        b = query.size(0)
        q = self.q(query).view(b, self.heads, -1, self.d_k)
        k = self.k(key).view(b, self.heads, -1, self.d_k)
        v = self.v(value).view(b, self.heads, -1, self.d_k)
        scores = q @ k.transpose(-2, -1) / self.d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        x = scores.softmax(dim=-1) @ v
        return self.out(x.reshape(b, -1, self.heads * self.d_k))


candidate = MultiHead
mistakes = (10,)
