"""ignore_index를 빠뜨린 nn.CrossEntropyLoss."""

from torch import nn


def loss(labels, logits):
    return nn.CrossEntropyLoss()(logits.flatten(0, 1), labels.flatten().long())


candidate = loss
mistakes = (30,)
