"""글에 적은 수를 그 수를 낸 식에 묶습니다: ``{n}`97% = right.mean()` ``.

쪽에는 ``=`` 앞의 것만 보입니다. ``pytest docs``가 그 자리에서 뒤의 식을 셈해, 적힌
자릿수까지 반올림하면 적힌 수인지 확인합니다. 논문의 수는 ``facts``에 있습니다
(`paper/facts.toml`).
수를 나타내는 말과 벡터도 됩니다: ``{n}`두 = steps[1] / steps[0]` ``배,
``{n}`(1, −2) = output[0]` ``.
"""

import re

from docutils import nodes
from sphinx.util.docutils import SphinxRole

_ROLE = re.compile(r"\{n\}`([^`]+?) = ([^`]+)`")
_NUMBER = re.compile(r"(-|−)?([\d,]+(?:\.\d+)?)(%)?")
WORDS = ["영", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열"]
WORDS = {word: value for value, word in enumerate(WORDS)}
WORDS |= {"하나": 1, "둘": 2, "셋": 3, "넷": 4, "반": 0.5}


def find(text):
    """쪽에서 묶은 수마다 (찾은 자리, 적힌 글, 식)."""
    return [(found, *found.groups()) for found in _ROLE.finditer(text)]


def agrees(written, value):
    """적힌 수가 그 값을 적힌 자릿수까지 반올림한 것인가. 벡터는 성분마다 봅니다."""
    if written.startswith("("):
        parts, values = written[1:-1].split(", "), [*value]
        return len(parts) == len(values) and all(map(agrees, parts, values))
    if written in WORDS:
        return abs(value - WORDS[written]) <= (0.25 if written == "반" else 0.5)
    sign, digits, percent = _NUMBER.fullmatch(written).groups()
    decimals = len(digits.partition(".")[2])
    number = float(digits.replace(",", "")) * (-1 if sign else 1)
    value = float(value) * (100 if percent else 1)
    return abs(value - number) <= 0.5000001 * 10**-decimals


class NumberRole(SphinxRole):
    def run(self):
        return [nodes.Text(self.text.partition(" = ")[0])], []


def setup(app):
    app.add_role("n", NumberRole())
    return {"env_version": 1}
