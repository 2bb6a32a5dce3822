"""가설을 dataclass로 쓰고 heapq로 고르며 bos와 eos를 빼고 돌려주는 사람."""

import heapq
import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Hypothesis:
    tokens: tuple
    log_prob: float = 0.0
    done: bool = False

    @property
    def score(self):
        return self.log_prob / math.pow((5 + len(self.tokens)) / 6, 0.6)

    def children(self, next_logits, bos, eos):
        row = np.asarray(next_logits(np.array([[bos, *self.tokens]])))[0].tolist()
        log_z = max(row) + math.log(sum(math.exp(x - max(row)) for x in row))
        for token, x in enumerate(row):
            tokens = (*self.tokens, token)
            yield Hypothesis(tokens, self.log_prob + x - log_z, token == eos)


def candidate(next_logits, bos, eos, max_length, beam_size):
    beam = [Hypothesis(())]
    for _ in range(max_length):
        pool = [h for h in beam if h.done]
        for h in beam:
            if not h.done:
                pool.extend(h.children(next_logits, bos, eos))
        beam = heapq.nlargest(beam_size, pool, key=lambda h: h.score)
        if all(h.done for h in beam):
            break
    best = max(beam, key=lambda h: h.score)
    return list(best.tokens[:-1] if best.done else best.tokens)
