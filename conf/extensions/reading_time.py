"""쪽을 읽는 데 걸리는 시간을 제목 아래에 적습니다.

한글 350자와 코드 열두 줄을 1분으로 셉니다. 접힌 코드와 연습문제는 세지 않습니다.
다른 쪽에서는 ``{minutes}`` 역할로 부릅니다: ``{minutes}`lectures/attention` ``,
별표를 쓰면 맞는 쪽을 모두 더합니다: ``{minutes}`lectures/*` ``.
"""

import fnmatch
import re

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx_exercise.nodes import (
    exercise_enumerable_node,
    exercise_node,
    solution_node,
)

logger = logging.getLogger(__name__)

SYLLABLES, LINES = 350, 12  # 1분에 읽는 양
CODE = nodes.literal_block, nodes.doctest_block
APART = exercise_node, exercise_enumerable_node, solution_node
UNREAD = APART + (nodes.raw, nodes.comment)


def load(node):
    """보이는 글과 코드의 양. ``SYLLABLES * LINES``가 1분입니다."""
    if isinstance(node, nodes.Text):
        return LINES * len(re.findall("[가-힣]", node))
    if isinstance(node, UNREAD) or node.get("folded") or _is_folded_input(node):
        return 0
    if isinstance(node, CODE):
        shown = [] if "output" in node["classes"] else node.astext().splitlines()
        return SYLLABLES * sum(bool(line.strip()) for line in shown)
    return sum(map(load, node.children))


def _is_folded_input(node):
    if "cell_input" not in node["classes"]:
        return False
    return "tag_hide-input" in node.parent["classes"]


def measure(app, doctree):
    """제목 아래에 놓을 것입니다(``chapters``)."""
    if not re.match(app.config.reading_time_pages, app.env.docname):
        return []
    minutes = max(1, round(load(doctree) / (SYLLABLES * LINES)))
    app.env.metadata[app.env.docname]["minutes"] = minutes
    words = f"읽는 데 약 {minutes}분"
    return [nodes.paragraph(words, words, classes=["reading-time"])]


class minutes_of(nodes.Inline, nodes.TextElement):
    """다른 쪽의 시간이 들어갈 자리입니다. 모두 읽은 뒤에 채웁니다."""


class MinutesRole(SphinxRole):
    def run(self):
        return [minutes_of("", "", page=self.text)], []


def times(env):
    """쪽마다의 시간. 달라지면 `whole`이 쪽을 모두 다시 씁니다."""
    return {n: m["minutes"] for n, m in env.metadata.items() if "minutes" in m}


def fill(app, doctree, docname):
    found = times(app.env)
    for place in list(doctree.findall(minutes_of)):
        page = place["page"]
        total = sum(found[name] for name in fnmatch.filter(found, page))
        if not total:
            logger.warning("읽는 시간을 재지 않은 쪽입니다: %s", page, location=docname)
        words = f"{total / 60:.1f}시간" if "*" in page else f"{total}분"
        place.replace_self(nodes.Text(words))


def setup(app):
    app.add_config_value("reading_time_pages", "lectures/|practice/|paper/", "env", str)
    app.add_node(minutes_of)
    app.add_role("minutes", MinutesRole())
    app.connect("doctree-resolved", fill)
    return {"parallel_read_safe": True, "env_version": 3}
