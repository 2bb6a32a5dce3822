"""KL divergence by hand: p · log p with p = 0 at the padding id is NaN."""

import torch


def label_smoothing(labels, logits, smoothing=0.1, pad=0):
    size = logits.shape[-1]
    p = torch.full_like(logits, smoothing / (size - 2))
    p.scatter_(-1, labels.long().unsqueeze(-1), 1 - smoothing)
    p[..., pad] = 0.0
    kl = (p * (p.log() - logits.log_softmax(-1))).sum(-1)
    real = labels != pad
    return kl[real].mean()


candidate = label_smoothing
mistakes = (33,)
