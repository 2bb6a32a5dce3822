"""사람이 쓰는 날짜 표현과 그 답."""

import datetime
import random

#: 날짜의 범위. 꼭 백 년이어서 두 자리 해가 가리키는 해는 하나뿐입니다.
FIRST_YEAR, LAST_YEAR = 1950, 2049

#: 날짜를 쓰는 꼴. 요일, 띄어쓰기, 앞에 붙는 0은 꼴마다 있기도 하고 없기도 합니다.
DATE_FORMS = ("units", "hangul", "dots", "slashes", "compact", "short", "trailing")

_DIGITS = "영일이삼사오육칠팔구"
_WEEKDAYS = "월화수목금토일"


def dates(count, seed=0, days=None, forms=DATE_FORMS):
    """날짜 표현과 그 ISO 8601 표기의 짝을 만듭니다.

    날을 먼저 고르고 그날을 글로 적습니다. 답은 날에서 바로 나오므로 틀릴 수 없습니다.
    두 자리 해는 50부터 99까지가 1900년대, 00부터 49까지가 2000년대입니다.

    ========  ==============================================
    꼴        2026년 11월 21일이라면
    ========  ==============================================
    units     2026년 11월 21일 토요일
    hangul    이천이십육년 십일월 이십일일
    dots      2026. 11. 21. (토)
    slashes   2026/11/21, 2026-11-21
    compact   20261121, 261121
    short     26. 11. 21(토), '26년 11월 21일
    trailing  11월 21일(토), 2026
    ========  ==============================================

    Args:
        count: 짝의 수, 1 이상의 정수.
        seed: 시드, 0 이상의 정수.
        days: 고를 날, `datetime.date`의 목록. None이면 범위의 모든 날입니다.
        forms: 쓸 꼴, `DATE_FORMS`에 있는 이름의 목록. 고르게 나옵니다.

    Returns:
        `(글, 답)`의 목록.

    Raises:
        KeyError: 모르는 꼴.
        ValueError: 범위를 벗어난 날.

    Examples:
        >>> day = datetime.date(2026, 10, 6)
        >>> dates(1, seed=3, days=[day], forms=["hangul"])
        [('이천이십육년 시월 육일 화요일', '2026-10-06')]
    """
    rng = random.Random(seed)
    days = _all_days() if days is None else list(days)
    for day in days:
        if not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise ValueError(
                f"days에는 {FIRST_YEAR}년부터 {LAST_YEAR}년까지의 날이 필요합니다. "
                f"받은 것: {day}. 두 자리 해가 한 해만 가리키도록 백 년만 다룹니다."
            )
    writers = [WRITERS[form] for form in forms]
    chosen = [pick(rng, days) for _ in range(count)]
    return [(pick(rng, writers)(day, rng), day.isoformat()) for day in chosen]


def split_days(fraction=0.1, seed=0):
    """범위의 모든 날을 학습할 날과 떼어 둘 날로 나눕니다.

    글이 아니라 **날**을 나눕니다. 떼어 둔 날은 어떤 꼴로도 학습에 나오지 않습니다.

    Args:
        fraction: 떼어 둘 비율, 0 이상 1 미만의 수. 적어도 하루를 떼어 둡니다.
        seed: 시드, 0 이상의 정수.

    Returns:
        `(학습할 날, 떼어 둘 날)`. 저마다 `datetime.date`의 목록이고 날짜의 순서입니다.

    Examples:
        >>> training, held_out = split_days()
        >>> len(training), len(held_out), set(training) & set(held_out)
        (32873, 3652, set())
    """
    days = _all_days()
    count = max(1, int(len(days) * fraction))
    rng = random.Random(seed)
    shuffled = sorted(days, key=lambda day: rng.random())
    return sorted(shuffled[count:]), sorted(shuffled[:count])


def _units(day, rng):
    year, month, dom = day.year, *_month_and_day(day, rng)
    gap = _gap(rng)
    return f"{year}년{gap}{month}월{gap}{dom}일" + _weekday(day, rng)


def hangul(day, rng):
    """날짜를 한글로 읽는 그대로 적습니다. 띄어쓰기와 요일은 `rng`가 고릅니다."""
    # 6월과 10월은 받침을 뺍니다: 유월, 시월.
    month = {6: "유", 10: "시"}.get(day.month) or sino_korean(day.month)
    year, dom, gap = sino_korean(day.year), sino_korean(day.day), _gap(rng)
    return f"{year}년{gap}{month}월{gap}{dom}일" + _weekday(day, rng)


def _dots(day, rng):
    parts = f"{day.year}", *_month_and_day(day, rng)
    end = pick(rng, ("", "."))
    return f".{_gap(rng)}".join(parts) + end + _weekday(day, rng)


def _slashes(day, rng):
    return pick(rng, "/-").join((f"{day.year}", *_month_and_day(day, rng)))


def _compact(day, rng):
    return pick(rng, (f"{day:%Y%m%d}", f"{day:%y%m%d}"))


def _short(day, rng):
    year = pick(rng, ("", "'")) + f"{day:%y}"  # 05년처럼 언제나 두 자리입니다
    month, dom = _month_and_day(day, rng)
    gap = _gap(rng)
    mark, *units = pick(rng, ("...", "///", "년월일"))
    if units == ["월", "일"]:
        text = f"{year}년{gap}{month}월{gap}{dom}일"
    else:
        text = f"{mark}{gap if mark == '.' else ''}".join((year, month, dom))
    return text + _weekday(day, rng)


def _trailing(day, rng):
    month, dom = _month_and_day(day, rng)
    year = f"{day.year}" + pick(rng, ("", "년"))
    comma = pick(rng, (", ", ",", " "))
    return f"{month}월{_gap(rng)}{dom}일{_weekday(day, rng)}{comma}{year}"


WRITERS = dict(
    zip(DATE_FORMS, (_units, hangul, _dots, _slashes, _compact, _short, _trailing))
)


def pick(rng, options):
    return options[int(rng.random() * len(options))]


def _gap(rng):
    return pick(rng, (" ", ""))


def _month_and_day(day, rng):
    """한 자리 수 앞에 0을 붙이거나 붙이지 않습니다. 달과 날에 같은 쪽을 씁니다."""
    width = pick(rng, (1, 2))
    return f"{day.month:0{width}}", f"{day.day:0{width}}"


def _weekday(day, rng):
    """요일을 적는 네 가지, 또는 적지 않습니다. 절반은 적지 않습니다."""
    name = _WEEKDAYS[day.weekday()]
    written = f" {name}요일", f"({name})", f" ({name})", f"({name}요일)"
    return pick(rng, ("",) * len(written) + written)


def sino_korean(number):
    """1부터 9999까지를 한자어로 읽습니다. 십, 백, 천 앞의 '일'은 읽지 않습니다.

    Examples:
        >>> sino_korean(2011), sino_korean(110)
        ('이천십일', '백십')
    """
    text = ""
    for unit, name in ((1000, "천"), (100, "백"), (10, "십"), (1, "")):
        digit = number // unit % 10
        if digit:
            text += ("" if digit == 1 and name else _DIGITS[digit]) + name
    return text


def _all_days():
    first = datetime.date(FIRST_YEAR, 1, 1).toordinal()
    after = datetime.date(LAST_YEAR + 1, 1, 1).toordinal()
    return [datetime.date.fromordinal(number) for number in range(first, after)]
