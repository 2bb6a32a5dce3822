"""나누기를 빠뜨린 einsum 한 벌."""

import torch


def attention(q, k, v, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask.bool(), float("-inf"))
    weights = scores.softmax(-1)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights


candidate = attention
mistakes = (8,)
