"""PyTorch: CrossEntropyLoss(ignore_index=0) on flattened tensors."""

from torch import nn

criterion = nn.CrossEntropyLoss(ignore_index=0)


def loss(trg, output):
    return criterion(output.reshape(-1, output.shape[-1]), trg.reshape(-1).long())


candidate = loss
