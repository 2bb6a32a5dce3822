"""Scores are taken from the parent, but each row keeps its own old ids (the cache)."""

import numpy as np


def beams(next_logits, bos, eos, max_length, beam_size):
    cache = [[bos] for _ in range(beam_size)]
    sums = np.array([0.0] + [-np.inf] * (beam_size - 1))
    done = []
    for n in range(1, max_length + 1):
        rows = []
        for ids, total in zip(cache, sums):
            z = np.asarray(next_logits(np.array([ids])), float)[0]
            rows.append(total + z - z.max() - np.log(np.exp(z - z.max()).sum()))
        flat = np.concatenate(rows)
        vocab, live = len(rows[0]), []
        for place in np.argsort(-flat)[: 2 * beam_size]:
            parent, token = divmod(int(place), vocab)
            if token == eos:
                score = flat[place] / ((5 + n) / 6) ** 0.6
                done.append((score, cache[parent] + [token]))
            else:
                live.append((flat[place], token))
        if not live:
            break
        live = live[:beam_size]
        cache = [ids + [token] for ids, (_, token) in zip(cache, live)]
        sums = np.array([total for total, _ in live])
    return max(done)[1] if done else cache[0]


candidate = beams
mistakes = (36,)
