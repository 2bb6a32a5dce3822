"""새는 것 없이 나누기."""

import random


def split_groups(items, keys, rate, seed):
    """키를 나누어 갖는 것끼리 한쪽에 두며 둘로 나눕니다.

    같은 키가 하나라도 있는 두 항목은 한 묶음입니다. 다른 항목을 거쳐 이어져도
    그렇습니다(연결 요소). 무작위로 고른 묶음을 하나씩 떼어, 떼어 둔 **항목**이 전체의
    `rate`에 닿으면 멈춥니다.

    다음을 보장합니다.

    - 두 쪽에 함께 나오는 키는 없습니다. 두 쪽을 더하면 모든 항목입니다.
    - 떼어 둔 항목은 전체의 `rate` 이상이고, 넘치는 것은 마지막 묶음보다 작습니다. 큰
      묶음이 뽑히면 그만큼 넘칩니다.
    - 항목과 키와 `seed`가 같으면 어느 기계에서나 같습니다.

    키가 다른 것끼리 얼마나 닮았는지는 보지 않습니다.

    Args:
        items: 나눌 항목의 목록.
        keys: 항목을 받아 키들을 돌려주는 함수. 키는 해시할 수 있는 값입니다. 물음과
            대답처럼 뜻이 다른 키에는 `("물음", 글)`처럼 이름을 붙이세요. 키가 없는
            항목은 저마다 한 묶음입니다.
        rate: 떼어 둘 비율, 0보다 크고 1보다 작은 수.
        seed: 시드, 정수.

    Returns:
        `(남긴 것, 떼어 둔 것)`. 저마다 목록이고 `items`의 순서입니다.

    Raises:
        TypeError: 키들이 아니라 문자열인 키.
        ValueError: 남길 것이 없는 나누기.

    Examples:
        >>> words = ["가지", "가방", "나무", "방석", "다리"]
        >>> split_groups(words, list, rate=0.3, seed=1)
        (['나무', '다리'], ['가지', '가방', '방석'])
    """
    items = list(items)
    rng = random.Random(seed)
    held_out = set()
    for group in sorted(_groups(items, keys), key=lambda group: rng.random()):
        if len(held_out) >= rate * len(items):
            break
        held_out.update(group)
    if len(held_out) == len(items):
        raise ValueError(
            "items에는 떼어 두고도 남을 만큼 많은 묶음이 필요합니다. 받은 것: 항목 "
            f"{len(items):,}개가 모두 떼어졌습니다. 키를 좁히거나 rate를 줄여 주세요."
        )
    return (
        [item for place, item in enumerate(items) if place not in held_out],
        [item for place, item in enumerate(items) if place in held_out],
    )


def _groups(items, keys):
    """연결 요소마다 항목의 자리의 목록. 첫 항목의 순서입니다."""
    parent = list(range(len(items)))

    def root(place):
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first = {}  # 키를 처음 가진 항목
    for place, item in enumerate(items):
        its_keys = keys(item)
        if isinstance(its_keys, str):
            raise TypeError(
                "keys는 키의 목록을 돌려주어야 합니다. 받은 것: 문자열 하나 "
                f"{its_keys!r}. [{its_keys!r}]처럼 목록에 담아 주세요."
            )
        for key in its_keys:
            parent[root(place)] = root(first.setdefault(key, place))
    groups = {}
    for place in range(len(items)):
        groups.setdefault(root(place), []).append(place)
    return groups.values()
