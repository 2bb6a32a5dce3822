"""공개 함수와 층이 받는 수와 이름의 검사. TensorFlow는 필요 없습니다.

메시지는 언제나 세 가지를 말합니다: 무엇을 받았는지, 무엇을 기대했는지, 어떻게 고치는지.
"""

import operator


def integer(name, value, minimum):
    """minimum 이상의 파이썬 정수를 돌려줍니다. 정수가 아니면 `TypeError`를 냅니다."""
    number = operator.index(value)
    if number < minimum:
        raise ValueError(
            f"{name}에는 {minimum} 이상의 정수가 필요합니다. 받은 것: {number}."
        )
    return number


def positive_int(name, value):
    """1 이상의 파이썬 정수를 돌려줍니다. 아니면 `TypeError`나 `ValueError`를 냅니다."""
    return integer(name, value, minimum=1)


def number(name, value, *, above=None, least=None, below=None, most=None):
    """범위 안의 수를 파이썬 실수로 돌려줍니다. 무한대와 NaN은 거절합니다."""
    bounds = (
        (above, f"{above}보다 크고" if most is not None else f"{above}보다 큰"),
        (least, f"{least} 이상" + ("의" if below is None else "")),
        (below, f"{below} 미만의"),
        (most, f"{most} 이하인"),
    )
    expected = " ".join(words for bound, words in bounds if bound is not None)
    result = float(value)
    inside = (
        (above is None or result > above)
        and (least is None or result >= least)
        and (below is None or result < below)
        and (most is None or result <= most)
        and abs(result) < float("inf")
    )
    if not inside:
        raise ValueError(f"{name}에는 {expected} 수가 필요합니다. 받은 것: {value}.")
    return result


def rate(name, value):
    """0 이상 1 미만의 비율을 돌려줍니다. 아니면 `TypeError`나 `ValueError`를 냅니다."""
    return number(name, value, least=0, below=1)


def choice(name, value, choices):
    """choices 가운데 하나를 돌려줍니다. 아니면 `ValueError`를 냅니다."""
    choices = tuple(choices)  # 사전의 이름은 목록 같은 값과 견주지 못합니다
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(
            f"{name}에는 {listed} 가운데 하나가 필요합니다. 받은 것: {value!r}."
        )
    return value
