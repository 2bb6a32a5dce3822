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
APART = (exercise_node, exercise_enumerable_node, solution_node)


class minutes_of(nodes.Inline, nodes.TextElement):
    """다른 쪽의 시간이 들어갈 자리입니다. 모두 읽은 뒤에 채웁니다."""


class MinutesRole(SphinxRole):
    def run(self):
        self.env.note_reread()  # 다른 쪽이 바뀌면 이 쪽의 수도 바뀝니다
        return [minutes_of("", "", page=self.text)], []


def minutes(doctree):
    """문서 하나를 읽는 시간, 분. 소수입니다."""
    syllables = lines = 0
    for node in _shown(doctree):
        if isinstance(node, nodes.literal_block | nodes.doctest_block):
            if "output" not in node.get("classes", []):
                lines += sum(bool(line.strip()) for line in node.astext().splitlines())
        elif isinstance(node, nodes.Text):
            syllables += len(re.findall("[가-힣]", node))
    return syllables / SYLLABLES + lines / LINES


def _shown(node):
    """접히지 않고 연습문제가 아닌 글과 코드. 코드는 덩이째 냅니다."""
    hidden_input = "tag_hide-input" in node.get("classes", [])
    for child in node.children:
        if isinstance(child, nodes.Text):
            yield child
        elif (
            isinstance(child, APART + (nodes.raw, nodes.comment))
            or child.get("folded")
            or (hidden_input and "cell_input" in child["classes"])
        ):
            continue
        elif isinstance(child, nodes.literal_block | nodes.doctest_block):
            yield child
        else:
            yield from _shown(child)


def measure(app, doctree):
    if not re.match(app.config.reading_time_pages, app.env.docname):
        return
    measured = minutes(doctree)
    app.env.reading_minutes[app.env.docname] = measured
    title = next(doctree.findall(nodes.title))
    words = f"읽는 데 약 {math.ceil(measured)}분"
    line = nodes.paragraph(words, words, classes=["reading-time"])
    title.parent.insert(title.parent.index(title) + 1, line)


def fill(app, doctree, docname):
    known = app.env.reading_minutes
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


def start(app):
    app.env.reading_minutes = getattr(app.env, "reading_minutes", {})


def forget(app, env, docname):
    getattr(env, "reading_minutes", {}).pop(docname, None)


def setup(app):
    app.add_config_value("reading_time_pages", "lectures/|practice/|paper/", "env", str)
    app.add_node(minutes_of)
    app.add_role("minutes", MinutesRole())
    app.connect("builder-inited", start)
    app.connect("env-purge-doc", forget)
    app.connect("doctree-read", measure, priority=900)
    app.connect("doctree-resolved", fill)
    return {"parallel_read_safe": False, "env_version": 1}
