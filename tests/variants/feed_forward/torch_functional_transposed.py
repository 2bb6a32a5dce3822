"""Raw parameters in PyTorch's transposed layout, F.linear and clamp, no biases."""

import torch
import torch.nn.functional as F
from torch import nn


class FFN(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.up = nn.Parameter(torch.empty(inner, hidden))
        self.down = nn.Parameter(torch.empty(hidden, inner))
        nn.init.kaiming_uniform_(self.up)
        nn.init.kaiming_uniform_(self.down)

    def forward(self, hidden_states):
        return F.linear(F.linear(hidden_states, self.up).clamp(min=0), self.down)


candidate = FFN
