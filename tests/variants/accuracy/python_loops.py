"""Nested loops with a running count, best index found by hand."""


def accuracy(labels, logits):
    right = seen = 0
    for sentence, scores in zip(labels, logits):
        for label, row in zip(sentence, scores):
            if int(label) != 0:
                row = [float(score) for score in row]
                right += row.index(max(row)) == int(label)
                seen += 1
    return right / seen if seen else 0.0


candidate = accuracy
