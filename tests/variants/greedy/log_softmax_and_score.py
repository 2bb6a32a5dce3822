"""Keeps a running log-probability and returns the ids only; drops bos and eos."""

import torch
import torch.nn.functional as F


@torch.no_grad()
def candidate(next_logits, bos, eos, max_length, *, verbose=False):
    ids, total = [bos], 0.0
    while len(ids) <= max_length:
        log_p = F.log_softmax(torch.as_tensor(next_logits(torch.tensor([ids]))), dim=-1)
        value, index = log_p[0].topk(1)
        if index.item() == eos:
            break
        ids.append(index.item())
        total += value.item()
        if verbose:
            print(ids, total)
    return ids[1:]
