"""Adds up the losses of the real tokens and never divides."""

from torch import nn


def loss(labels, logits):
    criterion = nn.CrossEntropyLoss(ignore_index=0, reduction="sum")
    return criterion(logits.flatten(0, 1), labels.flatten().long())


candidate = loss
mistakes = ()
wrong = True
