"""길이 벌점은 있지만 eos가 나온 빔도 계속 이어 붙이는 PyTorch 사람."""

import torch


def decode(next_logits, bos, eos, max_length, beam_size):
    beams = [(0.0, [bos])]
    for n in range(1, max_length + 1):
        pool = []
        for total, ids in beams:
            log_p = torch.as_tensor(next_logits(torch.tensor([ids])))[0].log_softmax(-1)
            values, tokens = log_p.topk(min(beam_size, len(log_p)))
            for value, token in zip(values.tolist(), tokens.tolist()):
                pool.append((total + value, ids + [token]))
        pool.sort(key=lambda b: b[0] / ((5 + n) / 6) ** 0.6, reverse=True)
        beams = pool[:beam_size]
    return beams[0][1]


candidate = decode
mistakes = (35,)
