"""logsumexp에서 정답의 점수를 빼는 PyTorch 모듈."""

import torch
from torch import nn


class SeqNLL(nn.Module):
    def __init__(self, pad_id=0):
        super().__init__()
        self.pad_id = pad_id

    def forward(self, labels, logits):
        labels = labels.long()
        right = logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        nll = torch.logsumexp(logits, dim=-1) - right
        weight = labels.ne(self.pad_id).float()
        return (nll * weight).sum() / weight.sum()


candidate = SeqNLL()
