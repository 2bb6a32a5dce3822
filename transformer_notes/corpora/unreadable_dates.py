"""달력에 없는 날과 날짜가 아닌 글.

있는 날만 배운 모델은 없는 달을 있는 달로 바꾸고, 배우지 않은 꼴에도 답을 지어냅니다.
없는 날은 적힌 수를 그대로 옮기도록, 나머지는 `REFUSAL`로 답하도록 함께 가르칩니다.
그러면 달력과 그 글자가 거릅니다.
"""

import random
import re
from typing import NamedTuple

from transformer_notes.corpora.date_expressions import (
    DATE_FORMS,
    FIRST_YEAR,
    LAST_YEAR,
    WRITERS,
    pick,
    sino_korean,
)

#: 날짜로 읽을 수 없는 글의 답.
REFUSAL = "?"

_NUMERALS = "영일이삼사오육칠팔구십백천유시"
_KNOWN = "0123456789 .,/-'()년월일화수목금토요" + _NUMERALS
#: 모르는 글자로 배울 글자. 앞의 셋과 끝의 둘은 한자입니다.
_UNKNOWN = (
    "\u5e74\u6708\u65e5ABCDEFabcdefghij가나다라마바사아자차카타파하음력단기초생내어제"
    "오늘:~\u6f22\u5b57"
)
_WEEKDAY = r"( ?\(?[월화수목금토일](요일)?\)?)?"
_YEAR, _PART = rf"(\d\d|\d{{4}}|[{_NUMERALS}]+)", rf"(\d\d?|[{_NUMERALS}]+)"
#: 배운 꼴이거나 그럴 수도 있는 글. 이런 글에 `REFUSAL`을 가르치지 않습니다.
_PLAUSIBLE = re.compile(
    rf"'?{_YEAR}[년./-] ?{_PART}[월./-] ?{_PART}[일.]?{_WEEKDAY}"
    rf"|{_PART}월 ?{_PART}일{_WEEKDAY},? ?{_YEAR}년?"
    r"|\d{6}|\d{8}"
)


class _Written(NamedTuple):
    """달력에 없어도 적을 수 있는 날. 꼴을 적는 함수가 `datetime.date`처럼 씁니다."""

    year: int
    month: int
    day: int
    dayname: int

    def weekday(self):
        return self.dayname

    def __format__(self, form):
        parts = {"%Y": f"{self.year:04}", "%y": f"{self.year % 100:02}",
                 "%m": f"{self.month:02}", "%d": f"{self.day:02}"}  # fmt: skip
        return re.sub("%.", lambda mark: parts[mark[0]], form)


def unreadable_dates(count, seed, days):
    """달력에 없는 날의 글과 날짜가 아닌 글, 그 답을 만듭니다.

    ==============  =======================================  ====================
    글              보기                                     답
    ==============  =======================================  ====================
    없는 달이나 날  2026년 13월 9일, 26. 11. 45, 2월 30일    2026-13-09처럼 그대로
    범위 밖의 해    2143년 11월 21일                         2143-11-21
    나머지          21일 11월 2026년, 11월 21일, 11. 2l      `REFUSAL`
    ==============  =======================================  ====================

    Args:
        count: 짝의 수.
        seed: 시드, 0 이상의 정수.
        days: 고쳐 적을 날, `datetime.date`의 목록.

    Returns:
        `(글, 답)`의 목록.

    Examples:
        >>> import datetime
        >>> unreadable_dates(2, 8, [datetime.date(2026, 11, 21)])
        [('이천이십육년십일월사십일일', '2026-11-41'), ('21일2026년11월', '?')]
    """
    rng = random.Random(seed)
    return [pick(rng, _KINDS)(pick(rng, days), rng) for _ in range(count)]


def _whole(rng, first, last):
    return first + int(rng.random() * (last + 1 - first))


def written(rng, year, month, day, forms=DATE_FORMS):
    """그 꼴 가운데 하나로 적은 글과, 적힌 대로 옮긴 답. 달력에 없는 날도 적습니다."""
    date = _Written(year, month, day, _whole(rng, 0, 6))
    return WRITERS[pick(rng, forms)](date, rng), f"{date:%Y-%m-%d}"


def _month(day, rng):
    return written(rng, day.year, _whole(rng, 13, pick(rng, (31, 99))), day.day)


def _day(day, rng):
    return written(rng, day.year, day.month, _whole(rng, 32, pick(rng, (45, 99))))


def _both(day, rng):
    return written(rng, day.year, _whole(rng, 13, 99), _whole(rng, 32, 99))


def _zero(day, rng):
    parts = pick(rng, ((0, day.day), (day.month, 0)))
    return written(
        rng, day.year, *parts, [form for form in DATE_FORMS if form != "hangul"]
    )


def _not_in_calendar(day, rng):
    short = (2, 29), (2, 30), (2, 31), (4, 31), (6, 31), (9, 31), (11, 31)
    return written(rng, day.year, *pick(rng, short))


def _other_year(day, rng):
    forms = [form for form in DATE_FORMS if form not in ("short", "compact")]
    first, last = pick(rng, ((1000, FIRST_YEAR - 1), (1850, FIRST_YEAR - 1),
                             (LAST_YEAR + 1, 2150), (LAST_YEAR + 1, 9999)))  # fmt: skip
    return written(rng, _whole(rng, first, last), day.month, day.day, forms)


def _parts(day, rng):
    """해와 달과 날을 저마다 적은 것. 셋 다 숫자이거나 셋 다 한글입니다."""
    if rng.random() < 0.5:
        return f"{day.year}년", f"{day.month}월", f"{day.day}일"
    month = {6: "유", 10: "시"}.get(day.month) or sino_korean(day.month)
    return f"{sino_korean(day.year)}년", f"{month}월", f"{sino_korean(day.day)}일"


def _missing(day, rng):
    year, month, dom = _parts(day, rng)
    gap, mark = pick(rng, (" ", "")), pick(rng, "./-")
    return pick(rng, (
        year, month, dom, year + gap + month, month + gap + dom, year + gap + dom,
        f"{day.month}{mark}{day.day}", f"{day.year}{mark}{day.month}", f"{day:%m%d}",
        f"{day.year}{mark}{day.month}{day.day:02}",
        f"{day.year}{mark}", f"{day:%y}{mark}{day.month}",
    )), REFUSAL  # fmt: skip


def _reordered(day, rng):
    year, month, dom = _parts(day, rng)
    gap, mark = pick(rng, (" ", "", ", ")), pick(rng, "./-")
    short = pick(rng, (f"{day:%y}", f"{day.year}"))
    return pick(rng, (
        gap.join((dom, month, year)), gap.join((year, dom, month)),
        gap.join((dom, year, month)), gap.join((month, year, dom)),
        mark.join((f"{day.month}", f"{day.day}", f"{day.year}")),
        mark.join((f"{day.day}", f"{day.month}", f"{day.year}")),
        f"{dom} {month}, {short}", f"{day.day} {day.month} {day.year}",
        f"{_whole(rng, 1, 9)}{mark}{day.day}{mark}{day:%y}",
    )), REFUSAL  # fmt: skip


def _two(day, rng):
    joint = pick(rng, (" ", "-", " - ", ", ", "/", "", "~", " ~ "))
    other, _ = written(
        rng, _whole(rng, FIRST_YEAR, LAST_YEAR), _whole(rng, 1, 12), _whole(rng, 1, 28)
    )
    more = pick(rng, (
        other, f"{_whole(rng, 0, 23)}:{_whole(rng, 0, 59):02}",
        f"{_whole(rng, 1, 31)}일", f"{_whole(rng, 1, 12)}시", f"{_whole(rng, 0, 2100)}",
    ))  # fmt: skip
    text, _ = written(rng, day.year, day.month, day.day)
    first, second = (text, more) if rng.random() < 0.7 else (more, text)
    return _unless_plausible(first + joint + second, day, rng)


def _edited(day, rng):
    """글자 하나에서 셋까지를 넣거나 빼거나 바꿉니다."""
    text, _ = written(rng, day.year, day.month, day.day)
    for _ in range(_whole(rng, 1, 3)):
        place = _whole(rng, 0, len(text) - 1)
        letter = pick(rng, pick(rng, (_KNOWN, _UNKNOWN)))
        text = (
            text[:place]
            + pick(rng, (letter, "", letter + text[place]))
            + text[place + 1 :]
        )
        text = text or letter
    return _unless_plausible(text, day, rng)


def _unknown_letters(day, rng):
    """몇 가지 글자를 모두 모르는 글자로 바꿉니다."""
    text, _ = written(rng, day.year, day.month, day.day)
    letters = {
        letter: pick(rng, _UNKNOWN)
        for letter in dict.fromkeys(text)
        if rng.random() < 0.3
    }
    letters = letters or {text[-1]: pick(rng, _UNKNOWN)}
    return "".join(letters.get(letter, letter) for letter in text), REFUSAL


def _other_words(day, rng):
    letters = pick(
        rng, (_UNKNOWN, _KNOWN + _UNKNOWN, _KNOWN, "0123456789", "0123456789-., ")
    )
    return _unless_plausible(
        "".join(pick(rng, letters) for _ in range(_whole(rng, 1, 20))), day, rng
    )


def _unless_plausible(text, day, rng):
    text = text.strip() or "."
    return _missing(day, rng) if _PLAUSIBLE.fullmatch(text) else (text, REFUSAL)


_KINDS = (
    _month, _day, _month, _day, _both, _zero, _not_in_calendar, _other_year,
    _missing, _reordered, _two, _edited, _edited, _unknown_letters, _other_words,
)  # fmt: skip
