"""No arrays at all: two for loops, math.log, a running total and a count."""

import math


def cross_entropy(labels, logits):
    total, count = 0.0, 0
    for sentence, rows in zip(labels, logits):
        for label, row in zip(sentence, rows):
            if int(label) == 0:
                continue
            row = [float(value) for value in row]
            top = max(row)
            log_sum = top + math.log(sum(math.exp(value - top) for value in row))
            total += log_sum - row[int(label)]
            count += 1
    return total / count


candidate = cross_entropy
