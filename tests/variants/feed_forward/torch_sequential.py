"""A PyTorch user who needs no class: nn.Sequential out of a lambda."""

from torch import nn

candidate = lambda d_model, d_ff: nn.Sequential(  # noqa: E731
    nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d_model)
)
