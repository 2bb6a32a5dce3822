"""PyTorch with exp(−log 10000 · 2i/d) and a buffer filled in place."""

import math

import torch


def build_pe(max_len: int, d_model: int) -> torch.Tensor:
    """Return a (1, max_len, d_model) table."""
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div_term = torch.exp(
        torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model)
    )
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe.unsqueeze(0)


candidate = build_pe
