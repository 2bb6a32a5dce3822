"""공개 함수와 층이 받는 수와 이름의 검사. TensorFlow는 필요 없습니다.

메시지는 언제나 두 가지를 말합니다: 무엇을 기대했는지, 무엇을 받았는지.
"""

import math
import operator


def integer(name, value, minimum):
    """minimum 이상의 정수를 돌려줍니다. 아니면 `TypeError`나 `ValueError`를 냅니다."""
    number = operator.index(value)
    if number < minimum:
        raise ValueError(
            f"{name}에는 {minimum} 이상의 정수가 필요합니다. 받은 것: {number}."
        )
    return number


def positive_int(name, value):
    """1 이상의 파이썬 정수를 돌려줍니다. 아니면 `TypeError`나 `ValueError`를 냅니다."""
    return integer(name, value, minimum=1)


def number(name, value, expected, holds):
    """holds가 참인 수를 파이썬 실수로 돌려줍니다. 무한대와 NaN은 거절합니다."""
    result = float(value)
    if not (math.isfinite(result) and holds(result)):
        raise ValueError(f"{name}에는 {expected} 수가 필요합니다. 받은 것: {value}.")
    return result


def rate(name, value):
    """0 이상 1 미만의 비율을 돌려줍니다. 아니면 `TypeError`나 `ValueError`를 냅니다."""
    return number(name, value, "0 이상 1 미만의", lambda x: 0 <= x < 1)


def choice(name, value, choices):
    """choices 가운데 하나를 돌려줍니다. 아니면 `ValueError`를 냅니다."""
    choices = tuple(choices)  # 사전의 이름은 목록 같은 값과 견주지 못합니다
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(
            f"{name}에는 {listed} 가운데 하나가 필요합니다. 받은 것: {value!r}."
        )
    return value
