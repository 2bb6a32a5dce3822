"""Adds the sub-layer's output to LayerNorm(x) in a post-norm block."""

from torch import nn


class Residual(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, sublayer_output):
        x = self.norm1(x)
        return self.norm2(x + sublayer_output)


candidate = Residual
mistakes = (28,)
