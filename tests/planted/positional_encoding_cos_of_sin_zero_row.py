"""Leaves the first row empty and takes the cosine of the sines."""

import torch


def sinusoid_table(n, d):
    i = torch.arange(d, dtype=torch.float64)
    pe = torch.arange(n)[:, None] / 10000 ** (2 * (i // 2) / d)
    pe[1:, 0::2] = torch.sin(pe[1:, 0::2])
    pe[1:, 1::2] = torch.cos(pe[1:, 0::2])
    return pe.float()


candidate = sinusoid_table
mistakes = (15, 17)
