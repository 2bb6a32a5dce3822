"""keras.ops로 쓰고 float32로 돌려주는 사람."""

from keras import ops


def lower_triangle(length, *, dtype="float32"):
    return ops.tril(ops.ones((1, length, length), dtype=dtype))


candidate = lower_triangle
