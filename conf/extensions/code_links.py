"""sphinx-codeautolink의 링크를 쪽을 쓸 때 바로 답니다.

sphinx-codeautolink 0.19는 다 쓴 HTML을 다시 읽어 링크를 다는 데에 나머지 빌드 전체보다
오래 걸립니다. 여기서는 본문이 파일이 되기 전에 같은 규칙으로 답니다. 코드를 읽는 일은
이어 읽어 줄이고, 그 캐시가 ``.rst`` 말고 MyST 쪽을 기억하게 합니다.
"""

import ast
import re
from html import unescape

import sphinx_codeautolink.extension as codeautolink
from sphinx.util import logging
from sphinx_codeautolink.extension.block import construct_name_pattern
from sphinx_codeautolink.parse import ImportTrackerVisitor

logger = logging.getLogger(__name__)

_BLOCK = re.compile(
    r'(<div class="(?:highlight-(?:default|python|pycon)\b|doctest)[^>]*>'
    r'<div class="highlight"><pre>)(.*?)(</pre>)',
    re.DOTALL,
)
_LINE_NUMBER = re.compile(r'<span class="linenos">.*?</span>')


def link_names(app, pagename, templatename, context, doctree):
    """`html-page-context`: 코드 블록의 이름을 API 항목에 잇습니다."""
    if doctree is None or app.builder.name != "html":  # 전자책에는 찾은 이름이 없습니다
        return
    waiting = list(app.env.sphinx_codeautolink_transforms.get(pagename, ()))
    linked = set()

    def link(match):
        text = _plain(match[2])
        for transform in waiting:
            if transform.source.rstrip() == text:
                waiting.remove(transform)
                lines = match[2].split("\n")
                for name in transform.names:
                    address = uri(name)
                    if not _link_name(lines, name, address, address in linked):
                        warn("링크를 달 이름을 코드에서 찾지 못했습니다", name.code_str)
                    linked.add(address)
                return match[1] + "\n".join(lines) + match[3]
        return match[0]

    def uri(name):
        entry = app.env.domains["py"].objects[name.resolved_location]
        page = app.builder.get_relative_uri(pagename, entry.docname)
        return f"{page}#{entry.node_id}"

    def warn(problem, text):
        logger.warning("%s: %s", problem, text, location=pagename)

    context["body"] = _BLOCK.sub(link, context["body"])
    for transform in waiting:
        first = transform.source.strip().partition("\n")[0]
        warn("링크를 달 코드를 쪽에서 찾지 못했습니다", first)


def _plain(html):
    return unescape(re.sub("<[^>]*>", "", _LINE_NUMBER.sub("", html))).rstrip()


def _link_name(lines, name, uri, repeated):
    """여러 줄에 걸친 이름도 있습니다. 오른쪽 것부터 답니다(``a.b = a.b``).

    쪽에서 되풀이되는 이름에는 Tab이 서지 않습니다. 처음 것과 같은 곳으로 갑니다.
    이름을 찾았는지를 돌려줍니다.
    """
    first, last = name.lineno - 1, name.end_lineno
    text = "\n".join(lines[first:last])
    matches = list(re.finditer(construct_name_pattern(name), text))
    if not matches:
        return False
    match = matches[-1]
    start, end = match.end(1), match.end()
    title = name.resolved_location
    stop = ' tabindex="-1"' if repeated else ""
    link = f'<a href="{uri}" title="{title}" class="sphinx-codeautolink-a"{stop}>'
    linked = f"{text[:start]}{link}{text[start:end]}</a>{text[end:]}"
    lines[first:last] = linked.split("\n")
    return True


class _Reader:
    """쪽의 블록을 차례로 읽습니다.

    블록마다 앞의 블록을 모두 이어 처음부터 다시 읽으면 쪽이 길수록 제곱으로 느려집니다.
    앞의 것을 읽은 자리에서 이어 읽습니다.
    """

    def __init__(self):
        self.source, self.statements, self.visitor = None, 0, None

    def __call__(self, source, node):
        tree = ast.parse(source)
        if self.source is None or not source.startswith(self.source + "\n"):
            self.statements, self.visitor = 0, ImportTrackerVisitor(node)
        self.source, read = source, self.statements
        self.statements, known = len(tree.body), len(self.visitor.accessed)
        for statement in tree.body[read:]:
            self.visitor.visit(statement)
        return self.visitor.accessed[known:]


class _Pages:
    """``폴더 / "이름.rst"``를 우리 쪽의 확장자로 바꾸어 줍니다."""

    def __init__(self, folder):
        self.folder = folder

    def __truediv__(self, name):
        return (self.folder / name).with_suffix(".md")


class DataCache(codeautolink.DataCache):
    def __init__(self, cache_dir, src_dir):
        super().__init__(cache_dir, src_dir)
        self.src_dir = _Pages(self.src_dir)


def setup(app):
    codeautolink.DataCache = DataCache
    codeautolink.block.parse_names = _Reader()
    codeautolink.link_html = lambda *_, **__: None
    app.connect("html-page-context", link_names)
    return {"parallel_read_safe": True}
