"""Compares everything, padding and all."""

import numpy as np


def accuracy(labels, logits):
    return np.mean(np.argmax(logits, axis=-1) == labels)


candidate = accuracy
mistakes = (30,)
