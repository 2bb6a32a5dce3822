"""Line-by-line PyTorch: ys grows by torch.cat of a 1 × 1 tensor."""

import torch


def greedy_decode(next_logits, start_symbol, end_symbol, max_len):
    ys = torch.zeros(1, 1, dtype=torch.long).fill_(start_symbol)
    for _ in range(max_len):
        logits = torch.as_tensor(next_logits(ys))
        _, next_word = torch.max(logits, dim=1)
        ys = torch.cat([ys, next_word.view(1, 1).type_as(ys)], dim=1)
        if next_word.item() == end_symbol:
            break
    return ys.squeeze(0)


candidate = greedy_decode
