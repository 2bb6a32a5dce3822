"""A NumPy class with arrays of ids, scores and lengths that are reordered by parent."""

import numpy as np


class BeamSearch:
    def __init__(self, next_logits, bos, eos, max_length, beam_size):
        self.step, self.eos, self.k = next_logits, eos, beam_size
        self.ids = np.full((1, max_length + 1), eos)
        self.ids[0, 0] = bos
        self.score, self.length = np.zeros(1), np.zeros(1, int)

    def expand(self, n):
        for row in range(len(self.ids)):
            if n > 1 and self.ids[row, n - 1] == self.eos:
                yield row, self.eos, self.score[row], self.length[row]
                continue
            z = np.asarray(self.step(self.ids[row : row + 1, :n]), float)[0]
            log_p = z - z.max() - np.log(np.sum(np.exp(z - z.max())))
            for token in np.argsort(-log_p)[: self.k + 1]:
                yield row, token, self.score[row] + log_p[token], n

    def run(self):
        for n in range(1, self.ids.shape[1]):
            rows, tokens, score, length = map(np.array, zip(*self.expand(n)))
            order = np.argsort(-score / ((5 + length) / 6) ** 0.6)[: self.k]
            self.ids = self.ids[rows[order]]
            self.ids[:, n] = tokens[order]
            self.score, self.length = score[order], length[order]
        return self.ids[0, : self.length[0] + 1]


def candidate(next_logits, bos, eos, max_length, beam_size):
    return BeamSearch(next_logits, bos, eos, max_length, beam_size).run()
