"""Line-by-line PyTorch: SublayerConnection, norm first, dropout left on at 0.1."""

import torch
from torch import nn


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(size, eps=1e-6)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class EncoderLayer(nn.Module):
    def __init__(self, size, h, d_ff, dropout=0.1):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(size, size) for _ in range(4))
        self.w1, self.w2 = nn.Linear(size, d_ff), nn.Linear(d_ff, size)
        self.first = SublayerConnection(size, dropout)
        self.second = SublayerConnection(size, dropout)

    def attend(self, x, mask):
        b, n, d = x.shape
        q, k, v = (
            w(x).view(b, n, self.h, -1).transpose(1, 2)
            for w in (self.q, self.k, self.v)
        )
        scores = q @ k.mT * (d // self.h) ** -0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))

    def forward(self, x, mask):
        x = self.first(x, lambda y: self.attend(y, mask))
        return self.second(x, lambda y: self.w2(torch.relu(self.w1(y))))


candidate = EncoderLayer
