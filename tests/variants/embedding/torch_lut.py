"""Line-by-line PyTorch: self.lut(x) * math.sqrt(self.d_model)."""

import math

from torch import nn


class Embeddings(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x):
        return self.lut(x) * math.sqrt(self.d_model)


candidate = Embeddings
