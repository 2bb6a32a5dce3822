"""쪽을 읽는 데 걸리는 시간을 제목 아래에 적습니다.

한글 350자와 코드 열두 줄을 1분으로 셉니다. 접힌 코드와 연습문제는 세지 않습니다.
다른 쪽에서는 ``{minutes}`` 역할로 부릅니다: ``{minutes}`lectures/attention` ``,
별표를 쓰면 맞는 쪽을 모두 더합니다: ``{minutes}`lectures/*` ``.
"""

import fnmatch
import math
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
    if not re.match(app.config.reading_time_pages, app.env.docname):
        return
    measured = load(doctree) / (SYLLABLES * LINES)
    app.env.metadata[app.env.docname]["minutes"] = measured
    title = next(doctree.findall(nodes.title))
    words = f"읽는 데 약 {math.ceil(measured)}분"
    line = nodes.paragraph(words, words, classes=["reading-time"])
    title.parent.insert(title.parent.index(title) + 1, line)


class minutes_of(nodes.Inline, nodes.TextElement):
    """다른 쪽의 시간이 들어갈 자리입니다. 모두 읽은 뒤에 채웁니다."""


class MinutesRole(SphinxRole):
    def run(self):
        self.env.metadata[self.env.docname]["shows_minutes"] = True
        return [minutes_of("", "", page=self.text)], []


def _known(env):
    return {n: m["minutes"] for n, m in env.metadata.items() if "minutes" in m}


def rewrite(app, env):
    """시간이 달라졌으면 그것을 적은 쪽을 다시 씁니다. 다시 읽지는 않습니다."""
    before, env.minutes = getattr(env, "minutes", {}), _known(env)
    if before != env.minutes:
        return [n for n, m in env.metadata.items() if "shows_minutes" in m]
    return []


def fill(app, doctree, docname):
    known = _known(app.env)
    for place in list(doctree.findall(minutes_of)):
        page, words = place["page"], "?"
        matching = [known[name] for name in fnmatch.filter(known, page)]
        if not matching:
            logger.warning("읽는 시간을 재지 않은 쪽입니다: %s", page, location=docname)
        elif "*" in page:
            words = f"{sum(matching) / 60:.1f}시간"
        else:
            words = f"{math.ceil(matching[0])}분"
        place.replace_self(nodes.Text(words))


def setup(app):
    app.add_config_value("reading_time_pages", "lectures/|practice/|paper/", "env", str)
    app.add_node(minutes_of)
    app.add_role("minutes", MinutesRole())
    app.connect("doctree-read", measure, priority=900)
    app.connect("env-updated", rewrite)
    app.connect("doctree-resolved", fill)
    return {"parallel_read_safe": True, "env_version": 2}
