"""진짜 토큰만 골라 놓고 평균을 내는 NumPy 한 줄."""


def acc(y, logits):
    return (logits.argmax(-1) == y)[y > 0].mean()


candidate = acc
