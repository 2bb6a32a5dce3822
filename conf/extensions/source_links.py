"""글에서 소스로 가는 길.

- 역할 ``src``: ``attention.scaled_dot_product_attention``처럼 적으면 그 정의로 갑니다.
  모듈이 폴더에 있으면 폴더부터 적습니다(``corpora.dates.make_pairs``).
- 지시자 ``definition``: 정의를 실제 줄 번호와 함께 보이고 같은 줄로 가는 링크를 답니다.
- 사이트 안의 소스 보기: 모듈마다 한 쪽, 줄마다 닻(anchor).

패키지를 가져오지 않고 구문만 읽습니다.
"""

import ast
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from package import PACKAGE, definitions, modules, origin, read, shown, split
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

logger = logging.getLogger(__name__)


def find_definition(target):
    """``module`` 또는 ``module.name``을 (파일, 첫 줄, 끝 줄)로 바꿉니다.

    다른 모듈에서 가져와 내놓는 이름이면 그 모듈의 정의를 찾습니다. 없으면
    `LookupError`를 냅니다.
    """
    known = modules()
    module, name = split(origin(f"{PACKAGE.name}.{target}"), known)
    path = known[module]
    source = read(path)
    if not name:
        return path, 1, len(source.splitlines())
    if name not in definitions(source):
        raise LookupError(f"{shown(path)}에 {name}의 정의가 없습니다: {target}")
    return path, *definitions(source)[name]


def source_page(path):
    return f"source/{shown(path.with_suffix(''))}"


def _located(place, target):
    """정의의 (이름, 파일, 첫 줄, 끝 줄). 쪽이 그 소스로 이어진다는 것도 적어 둡니다."""
    try:
        path, first, last = find_definition(target)
    except LookupError as error:
        logger.warning(str(error), location=place.get_location())
        return None
    place.env.note_dependency(str(path))
    metadata = place.env.metadata[place.env.docname]
    metadata.setdefault("shown_sources", {})[source_page(path)] = True
    _, name = split(f"{PACKAGE.name}.{target}", modules())
    return name or shown(path), path, first, last


def _link(env, path, first, text):
    """사이트 안의 소스로 가는 링크입니다."""
    page = env.app.builder.get_relative_uri(env.docname, source_page(path))
    address = f"{page}#L-{first}"
    return nodes.reference(
        "", "", text, internal=True, refuri=address, classes=["source-link"]
    )


class SourceRole(SphinxRole):
    def run(self):
        if not (found := _located(self, self.text)):
            return [nodes.literal("", self.text)], []
        name, path, first, _ = found
        return [_link(self.env, path, first, nodes.literal("", name))], []


class Definition(SphinxDirective):
    """정의를 보입니다. ``:folded:``를 적으면 머리만 보이고 누르면 펼쳐집니다."""

    required_arguments = 1
    option_spec = {"folded": directives.flag}

    def run(self):
        if not (found := _located(self, self.arguments[0])):
            return []
        name, path, first, last = found
        where = f"{PACKAGE.name}/{shown(path)} {first}–{last}번 줄"
        link = _link(self.env, path, first, nodes.Text(where))
        caption = nodes.paragraph("", "", link, classes=["source-caption"])
        box = nodes.container("", caption, classes=["definition"])
        source = []
        lines = read(path).splitlines()
        for start, stop, folded in _segments(path, first, last):
            if not (text := "\n".join(lines[start - 1 : stop])):
                continue
            block = nodes.literal_block("", text, language="python")
            block["definition"] = block["linenos"] = True
            block["highlight_args"] = {"linenostart": start}
            self.set_source_info(block)
            source += _fold(f"독스트링 ({start}–{stop}번 줄)", block, when=folded)
        box += _fold(f"{name}의 소스", *source, when="folded" in self.options)
        return [box]


def _fold(label, *content, when):
    """`when`이면 누를 때까지 접어 둡니다."""
    if not when:
        return [*content]
    for node in content:
        node["folded"] = True
    top = nodes.raw("", f"<details><summary>{label}</summary>", format="html")
    return [top, *content, nodes.raw("", "</details>", format="html")]


def _segments(path, first, last):
    """정의를 (첫 줄, 끝 줄, 접을지)로 나눕니다. 세 줄이 넘는 독스트링은 접습니다."""
    start = first
    for top, bottom in sorted(_docstrings(read(path))):
        if first <= top and bottom <= last and bottom - top >= 3:
            yield start, top - 1, False
            yield top, bottom, True
            start = bottom + 1
    yield start, last, False


def _docstrings(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            yield node.body[0].lineno, node.body[0].end_lineno


def source_pages(app):
    """모듈마다 줄 번호가 닻인 소스 쪽을 만듭니다.

    모듈이나 그것을 보이는 쪽이 달라지면 `whole`이 앞의 것을 지웁니다. 쪽 하나만 지을
    때(``make page``)에는 만들지 않습니다.
    """
    if app.config.root_doc != "index":
        return
    formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True)
    for path in modules().values():
        page = source_page(path)
        if Path(app.builder.get_output_path(page)).exists():
            continue
        code = highlight(read(path), PythonLexer(), formatter)
        shown_by = [
            (name, app.env.titles[name].astext())
            for name in app.env.toctree_includes.get(app.config.root_doc, ())
            if page in app.env.metadata[name].get("shown_sources", ())
        ]
        title = f"{PACKAGE.name}/{shown(path)}"
        context = {"title": title, "code": code, "shown_by": shown_by}
        yield page, context, "source.html"


def linkcode_resolve(domain, info):
    """API 쪽의 [소스] 링크입니다. 그 쪽은 ``reference/api/`` 아래에 있습니다."""
    _, _, module = info["module"].partition(".")
    try:
        path, first, _ = find_definition(f"{module}.{info['fullname']}")
    except LookupError:
        return None
    return f"../../{source_page(path)}.html#L-{first}"


def setup(app):
    app.add_role("src", SourceRole())
    app.add_directive("definition", Definition)
    app.connect("html-collect-pages", source_pages)
    return {"env_version": 4}
