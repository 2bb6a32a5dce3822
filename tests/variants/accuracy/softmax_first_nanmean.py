"""Takes probabilities first (the order is the same), NaN on padding, then nanmean."""

import numpy as np


def nan_accuracy(labels, logits):
    e = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    guess = np.argmax(e / e.sum(axis=-1, keepdims=True), axis=-1)
    hit = np.where(guess == labels, 1.0, 0.0)
    return np.nanmean(np.where(labels == 0, np.nan, hit))


candidate = nan_accuracy
