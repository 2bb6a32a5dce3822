"""복사해 놓고 자리마다 골라 넣는 NumPy 사람."""


def corrupt(ids, u, random_words, mask):
    inputs, labels = ids.copy(), ids.copy()
    chosen = (u < 0.15) & (ids >= 4)
    labels[~chosen] = 0
    hidden = chosen & (u < 0.12)
    swapped = chosen & (u >= 0.12) & (u < 0.135)
    inputs[hidden] = mask
    inputs[swapped] = random_words[swapped]
    return inputs, labels


candidate = corrupt
