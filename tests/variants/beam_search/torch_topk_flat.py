"""PyTorch: topk over (beams × vocab), a finished beam is copied by one entry only."""

import torch


def beam_decode(next_logits, bos, eos, max_length, beam_size):
    ids, sums, lens = [[bos]], torch.zeros(1, dtype=torch.float64), torch.ones(1)
    over = torch.zeros(1, dtype=torch.bool)
    for n in range(1, max_length + 1):
        rows = []
        for seq, total, stop in zip(ids, sums, over):
            log_p = torch.as_tensor(next_logits(torch.tensor([seq])))[0].double()
            log_p = log_p.log_softmax(-1)
            if stop:
                log_p = torch.full_like(log_p, -torch.inf)
                log_p[eos] = 0.0
            rows.append(total + log_p)
        flat = torch.stack(rows)
        lens = torch.where(over, lens, torch.full_like(lens, n))
        scored = flat / ((5 + lens[:, None]) / 6) ** 0.6
        best = scored.flatten().topk(min(beam_size, scored.numel())).indices
        best = best[torch.isfinite(flat.flatten()[best])]
        parent, token = best // flat.shape[1], best % flat.shape[1]
        ids = [
            ids[p] if over[p] else ids[p] + [int(t)]
            for p, t in zip(parent.tolist(), token)
        ]
        sums, lens = flat.flatten()[best], lens[parent]
        over = over[parent] | (token == eos)
        if over.all():
            break
    return ids[int((sums / ((5 + lens) / 6) ** 0.6).argmax())]


candidate = beam_decode
