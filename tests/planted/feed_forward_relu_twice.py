"""두 번째 변환 뒤에도 ReLU를 두는 PyTorch 사람."""

import torch.nn.functional as F
from torch import nn


class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return F.relu(self.fc2(F.relu(self.fc1(x))))


candidate = FFN
mistakes = (24,)
