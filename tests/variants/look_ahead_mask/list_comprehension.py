"""No library at all, lists of lists of booleans."""


def causal(n):
    return [[column <= row for column in range(n)] for row in range(n)]


candidate = causal
