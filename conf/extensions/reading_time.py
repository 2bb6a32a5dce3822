"""쪽을 읽는 데 걸리는 시간을 제목 아래에 적습니다.

보이는 것마다 1분에 읽는 양이 다릅니다(`PACE`). 꼼꼼히 읽은 독자들이 스물다섯 쪽에서
말한 시간에 맞춘 수입니다. 그림을 그리는 접힌 코드와 해답은 세지 않고, 연습문제는
묻는 글만 셉니다. 직접 쓰고 맞혀 보는 시간은 들어 있지 않으므로 쓰는 칸의 뼈대와 맞혀 볼
문제도 뺍니다.

다른 쪽에서는 ``{minutes}`` 역할로 부릅니다: ``{minutes}`lectures/attention` ``,
별표를 쓰면 맞는 쪽의, 반올림하지 않은 분을 모두 더합니다: ``{minutes}`lectures/*` ``.
"""

import fnmatch
import re

from docutils import nodes
from later import Later
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

logger = logging.getLogger(__name__)

#: 1분에 읽는 양: 한글의 글자, 펼친 코드와 접힌 정의와 출력의 줄, 수식, 표의 칸, 그림
PACE = {"글자": 350, "코드": 8, "정의": 20, "출력": 20}
PACE |= {"수식": 1, "칸": 20, "그림": 4 / 3}
CODE = nodes.literal_block, nodes.doctest_block
UNREAD = nodes.raw, nodes.comment


def load(node):
    """마디를 읽는 데 걸리는 분."""
    if isinstance(node, nodes.Text):
        return len(re.findall("[가-힣]", node)) / PACE["글자"]
    if isinstance(node, UNREAD) or node.get("unread") or _is_skipped(node):
        return 0
    if node.get("folded"):
        return _lines(node) / PACE["정의"]
    if isinstance(node, CODE):
        return _lines(node) / PACE["출력" if "output" in node["classes"] else "코드"]
    if isinstance(node, nodes.math_block):
        return 1 / PACE["수식"]
    if isinstance(node, nodes.image):
        return 1 / PACE["그림"]
    here = 1 / PACE["칸"] if isinstance(node, nodes.entry) else 0
    return here + sum(map(load, node.children))


def _lines(node):
    return sum(bool(line.strip()) for line in node.astext().splitlines())


def _is_skipped(node):
    """해답과, 그림을 그리는 접힌 코드인가."""
    if "cell_input" in node["classes"]:
        return "tag_hide-input" in node.parent["classes"]
    return "solution" in node["classes"]


def measure(app, doctree):
    """제목 아래에 놓을 것입니다(``chapters``)."""
    if not re.match(app.config.reading_time_pages, app.env.docname):
        return []
    app.env.metadata[app.env.docname]["minutes"] = minutes = load(doctree)
    words = f"읽는 데 약 {_whole(minutes)}"
    return [nodes.paragraph(words, words, classes=["reading-time"])]


def _whole(minutes):
    return f"{max(1, round(minutes))}분"


class MinutesRole(SphinxRole):
    def run(self):
        return [Later("", self.text, fill=minutes)], []


def minutes(app, docname, place):
    page = place.rawsource
    of = {n: m["minutes"] for n, m in app.env.metadata.items() if "minutes" in m}
    names = fnmatch.filter(of, page)
    if not names:
        logger.warning("읽는 시간을 재지 않은 쪽입니다: %s", page, location=docname)
    total = sum(of[name] for name in names)
    return nodes.Text(f"{total / 60:.1f}시간" if "*" in page else _whole(total))


def setup(app):
    pages = "lectures/|deeper/|practice/|paper/"
    app.add_config_value("reading_time_pages", pages, "env", str)
    app.add_role("minutes", MinutesRole())
    return {"env_version": 7}
