"""글, 표, 그림의 설명에 적은 수 가운데, 틀려도 아무도 모를 것을 찾습니다.

- 큰 수와 소수는 같은 절의 코드에 있어야 합니다. 보통 그 수를 확인하는 ``assert``입니다.
- 벡터와 모양은 같은 수들이 같은 차례로 같은 절의 코드에 있어야 합니다.
- 수로만 된 등식은 맞아야 합니다. 그 안의 수는 따로 보지 않습니다.
- ``{n}``으로 묶은 수는 ``pytest docs``가 그 자리에서 셈합니다.

해와 절과 번호, 수식 안의 수, 열둘까지의 낱개는 보지 않습니다.
"""

import functools
import math
import re
from bisect import bisect

from snippets import find_snippets
from tied_numbers import find

OPAQUE = {
    "bash",
    "bibliography",
    "csv-table",
    "definition",
    "list-table",
    "math",
    "none",
    "playground",
    "pycon",
}
OPAQUE |= {"code-block", "code-cell", "text", "toctree"}
# 코드, 수식, 링크의 주소에 있는 수는 글이 아닙니다.
_CODE = re.compile(
    r"\{[\w:]+\}`[^`]*`|``[^`]+``|`[^`]*`|\$[^$]*\$|\[?\]\([^)]*\)|^\+.*$"
)
# 해, 절, 표, 식, 실수의 번호와, 이름에 든 수.
_NAMED = re.compile(
    r"(19|20)\d\d년?|\d+(\.\d+)*절|[A-Za-z]+[-.:]?\d+(\.\d+)*"
    r"|(실수|표|식|그림|연습문제|문제|장) \(?\d+\)?|^\(.*\)=$"
)
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
_SIGNED = r"[−-]?\d+(?:,\d{3})*(?:\.\d+)?"
VECTOR = re.compile(rf"\({_SIGNED}(?:, {_SIGNED})+\)")
_SIDE = rf"[(√]*{_SIGNED}[)]*(?: ?[+·×/−*] ?[(√]*{_SIGNED}[)]*)*%?"
EQUATION = re.compile(rf"(?<![A-Za-z\d.)·×/]){_SIDE}(?: = {_SIDE})+(?![\d(%]|\.\d)")
#: 수로 세지 않고 말로 읽는 작은 정수.
SMALL = 12


def typed(text):
    """아무도 지키지 않는 수의 (줄, 적힌 글)."""
    lines = [*prose(text)]
    starts = [number for number, _, line in lines if re.match("##? ", line)]
    sections = [""] * (len(starts) + 1)
    for snippet in find_snippets(text):
        sections[bisect(starts, snippet.line)] += snippet.source + "\n"
    for number, _, line in lines:
        code = sections[bisect(starts, number)]
        known, vectors = _numbers(code), _vectors(code)
        for kind, match in results(line):
            written = match[0]
            if not (
                kind is EQUATION
                and _holds(written)
                or kind is VECTOR
                and _sequence(written) in vectors
                or kind is NUMBER
                and _plain(written) in known
            ):
                yield number, written


def results(line):
    """한 줄에 있는 등식, 벡터, 큰 수."""
    line = _blanked(_NAMED, _blanked(_CODE, line))
    for kind in (EQUATION, VECTOR, NUMBER):
        for match in kind.finditer(line):
            value = _plain(match[0])
            if kind is not NUMBER or "." in value or int(value) > SMALL:
                yield kind, match
        line = _blanked(kind, line)


def places(text):
    """고쳐 보아 알아차리는지 셀 수들: 묶은 수와 `results`의 (첫 자리, 끝, 묶였는가)."""
    for match, written, _ in find(text):
        for number in re.finditer(r"\d+", written):
            at = match.start(1)
            yield at + number.start(), at + number.end(), True
    for _, start, line in prose(text):
        for _, match in results(line):
            for number in re.finditer(r"\d+", match[0]):
                at = start + match.start()
                yield at + number.start(), at + number.end(), False


def prose(text):
    """코드 덩이를 뺀 (줄 번호, 첫 자리, 줄). 그림의 대체 텍스트와 설명도 글입니다."""
    fence, start = None, 0
    for number, line in enumerate(text.split("\n"), 1):
        opened = re.match(r"\s*(```+|:::+)\{?([\w-]*)", line)
        opaque = opened and opened[2] in OPAQUE
        shown = re.match(r"\s+:?(alt|caption): (.*)", line)
        if fence is None and not opaque:
            yield number, start, line
        elif shown:
            yield number, start + shown.start(2), shown[2]
        if fence is None:
            fence = opened[1] if opaque else None
        elif line.strip() == fence:
            fence = None
        start += len(line) + 1


@functools.cache
def _numbers(code):
    return {_plain(number) for number in re.findall(r"\d[\d,_]*(?:\.\d+)?", code)}


@functools.cache
def _vectors(code):
    """잇달아 적힌 수의 나열."""
    found = set()
    for inside in re.findall(r"[\[(]([^\[\]()]*)[\])]", code):
        row = _sequence(inside)
        for start in range(len(row)):
            found |= {row[start:end] for end in range(start + 2, len(row) + 1)}
    return found


def _holds(equation):
    """양쪽이, 홀로 적힌 소수나 백분율의 자릿수까지 같은가."""
    sides = equation.split(" = ")
    try:
        values = [_value(side) for side in sides]
    except (SyntaxError, ZeroDivisionError):
        return False
    alone = [side for side in sides if re.fullmatch(rf"{_SIGNED}%?", side)]
    places = [len(n.rstrip("%").partition(".")[2]) + 2 * n.endswith("%") for n in alone]
    room = max([0.5000001 * 10**-places for places in places if places], default=1e-9)
    return all(abs(value - values[0]) <= room for value in values)


def _value(side):
    for sign, operator in zip("−·×", "-**"):
        side = side.replace(sign, operator)
    side = NUMBER.sub(lambda match: repr(float(_plain(match[0]))), side)
    side = re.sub(r"√([\d.]+|(?=\())", lambda match: f"sqrt({match[1]})", side)
    side = side.replace("sqrt()", "sqrt")
    return eval(side.replace("%", "/100"), {"sqrt": math.sqrt})


def _sequence(text):
    return tuple(
        float(number.replace("−", "-").replace(",", ""))
        for number in re.findall(_SIGNED, text.replace("_", ""))
    )


def _plain(number):
    return number.replace(",", "").replace("_", "")


def _blanked(pattern, line):
    """그 자리를 같은 길이의 빈칸으로 바꿉니다."""
    return pattern.sub(lambda match: " " * len(match[0]), line)
