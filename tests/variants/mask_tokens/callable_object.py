"""비율을 객체에 담아 두고 부르는 사람."""

import numpy as np


class Masker:
    def __init__(self, rate=0.15, special=(0, 1, 2, 3)):
        self.rate, self.special = rate, special

    def __call__(self, token_ids, chance, random_ids, mask_id):
        asked = np.logical_and(chance < self.rate, ~np.isin(token_ids, self.special))
        share = chance / self.rate
        outputs = np.array(token_ids)
        np.copyto(outputs, random_ids, where=asked & (share < 0.9))
        np.copyto(outputs, mask_id, where=asked & (share < 0.8))
        return outputs, token_ids * asked


candidate = Masker()
