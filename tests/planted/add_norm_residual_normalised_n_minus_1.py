"""손으로 쓴 정규화가 n − 1로 나누고, 잔차도 정규화한 값에서 가져오는 사람."""


def normalise(x):
    std = x.std(axis=-1, ddof=1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / (std + 1e-6)


def block(x, out):
    return normalise(normalise(x) + out)


candidate = block
mistakes = (26, 28)
