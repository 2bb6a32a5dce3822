"""A PyTorch user who returns (output, weights) of the layer."""

from torch import nn


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden, *, p=0.0):
        super().__init__()
        self.heads = heads
        self.attn = nn.MultiheadAttention(dim, heads, dropout=p, batch_first=True)
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim), nn.Dropout(p)
        )

    def forward(self, x, mask=None):
        if mask is not None:
            n = x.shape[1]
            mask = mask.expand(len(x), self.heads, n, n).flatten(0, 1).logical_not()
        y, weights = self.attn(x, x, x, attn_mask=mask, average_attn_weights=False)
        x = self.ln1(x + y)
        return self.ln2(x + self.mlp(x)), weights


candidate = EncoderBlock
