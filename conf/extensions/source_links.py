"""글에서 소스로 가는 길.

- 역할 ``src``: ``attention.scaled_dot_product_attention``처럼 적으면 그 정의로 갑니다.
  모듈이 폴더에 있으면 폴더부터 적습니다(``corpora.dates.make_pairs``).
- 지시자 ``definition``: 정의를 실제 줄 번호와 함께 보이고 같은 줄로 가는 링크를 답니다.
- 사이트 안의 소스 보기: 모듈마다 한 쪽, 줄마다 닻(anchor).

패키지를 가져오지 않고 구문만 읽습니다. ``repository_url``을 정하면 저장소로도 갑니다.
"""

import ast
import functools
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from package import PACKAGE, folder_of, imports, modules, read, shown, split
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
    module, name = split(target, known)
    if not module:
        raise LookupError(f"transformer_notes에 모듈 {name}이 없습니다: {target}")
    path = known[module]
    source = read(path)
    if not name:
        return path, 1, len(source.splitlines())
    defined = _definitions(source)
    if name in defined:
        return path, *defined[name]
    first, _, rest = name.partition(".")
    for bound, original in imports(source, folder_of(path)):
        if bound == first:
            return find_definition(f"{original}.{rest}".rstrip("."))
    raise LookupError(f"{shown(path)}에 {name}의 정의가 없습니다: {target}")


def source_page(path):
    return f"source/{shown(path.with_suffix(''))}"


@functools.cache
def _definitions(source):
    found = {}

    def visit(body, prefix):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                found[prefix + node.name] = start, node.end_lineno
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = (
                    node.targets if isinstance(node, ast.Assign) else [node.target]
                )
                for target in targets:
                    if isinstance(target, ast.Name):
                        found[prefix + target.id] = node.lineno, node.end_lineno

    visit(ast.parse(source).body, "")
    return found


def _located(directive, target):
    """정의의 (이름, 파일, 첫 줄, 끝 줄). 쪽이 그 소스로 이어진다는 것도 적어 둡니다."""
    try:
        path, first, last = find_definition(target)
    except LookupError as error:
        logger.warning(str(error), location=directive.get_location())
        return None
    env = directive.env
    env.note_dependency(str(path))
    env.shown_sources.setdefault(env.docname, set()).add(source_page(path))
    return split(target, modules())[1] or shown(path), path, first, last


def _links(config, path, first, last, *text_nodes):
    """사이트 안의 소스로 가는 링크와, 저장소가 있으면 그리로 가는 링크입니다.

    사이트 안의 상대 주소는 쓸 때 정합니다.
    """
    inside = nodes.reference("", "", *text_nodes, internal=True)
    inside["classes"] = ["source-link"]
    inside["source"] = source_page(path), f"L-{first}"
    made = [inside]
    if url := config.repository_url:
        address = (
            f"{url.rstrip('/')}/blob/{config.repository_branch}"
            f"/{PACKAGE.name}/{shown(path)}#L{first}-L{last}"
        )
        made += [nodes.Text(" "), nodes.reference("", "저장소", refuri=address)]
    return made


class SourceRole(SphinxRole):
    def run(self):
        if not (found := _located(self, self.text)):
            return [nodes.literal("", self.text)], []
        name, *place = found
        return _links(self.config, *place, nodes.literal("", name)), []


class Definition(SphinxDirective):
    """정의를 보입니다. ``:folded:``를 적으면 머리만 보이고 누르면 펼쳐집니다."""

    required_arguments = 1
    option_spec = {"folded": directives.flag}

    def run(self):
        if not (found := _located(self, self.arguments[0])):
            return []
        name, path, first, last = found
        where = f"{PACKAGE.name}/{shown(path)} {first}–{last}번 줄"
        caption = nodes.paragraph("", "", classes=["source-caption"])
        caption += _links(self.config, path, first, last, nodes.Text(where))
        box = nodes.container("", caption, classes=["definition"])
        source = []
        lines = read(path).splitlines()
        for start, stop, folded in _segments(path, first, last):
            text = "\n".join(lines[start - 1 : stop])
            block = nodes.literal_block("", text, language=_language(text))
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


def _language(source):
    """조각난 정의는 구문이 아니므로 이름에 링크를 달지 않는 이름으로 색만 입힙니다."""
    try:
        ast.parse(source)
    except SyntaxError:
        return "PYTHON3"
    return "python"


def _segments(path, first, last):
    """정의를 (첫 줄, 끝 줄, 접을지)로 나눕니다. 세 줄이 넘는 독스트링은 접습니다."""
    docstrings = []
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            text = node.body[0]
            if first <= text.lineno and text.end_lineno <= last:
                docstrings.append((text.lineno, text.end_lineno))
    start = first
    for top, bottom in sorted(docstrings):
        if bottom - top < 3:
            continue
        if start < top:
            yield start, top - 1, False
        yield top, bottom, True
        start = bottom + 1
    if start <= last:
        yield start, last, False


def resolve_links(app, doctree, docname):
    for link in doctree.findall(nodes.reference):
        if "source" in link:
            page, anchor = link["source"]
            address = app.builder.get_relative_uri(docname, page)
            link["refuri"] = f"{address}#{anchor}"


def source_pages(app):
    """모듈마다 줄 번호가 닻인 소스 쪽을 만듭니다.

    모듈이나 그것을 보이는 쪽이 달라지면 `whole`이 앞의 것을 지웁니다.
    """
    formatter = HtmlFormatter(
        linenos="inline", lineanchors="L", anchorlinenos=True, cssclass="highlight"
    )
    for path in modules().values():
        page = source_page(path)
        if Path(app.builder.get_output_path(page)).exists():
            continue
        code = highlight(read(path), PythonLexer(), formatter)
        shown_by = [
            (name, app.env.titles[name].astext())
            for name in app.env.toctree_includes.get(app.config.root_doc, ())
            if page in app.env.shown_sources.get(name, ())
        ]
        title = f"{PACKAGE.name}/{shown(path)}"
        context = {"title": title, "code": code, "shown_by": shown_by}
        yield page, context, "source.html"


def start(app):
    app.env.shown_sources = getattr(app.env, "shown_sources", {})


def forget(app, env, docname):
    getattr(env, "shown_sources", {}).pop(docname, None)


def linkcode_resolve(domain, info):
    """API 쪽의 [소스] 링크입니다. 그 쪽은 ``reference/`` 아래에 있습니다."""
    _, _, module = info["module"].partition(".")
    try:
        path, first, _ = find_definition(f"{module}.{info['fullname']}")
    except LookupError:
        return None
    return f"../{source_page(path)}.html#L-{first}"


def setup(app):
    app.add_config_value("repository_url", "", "env", str)
    app.add_config_value("repository_branch", "main", "env", str)
    app.add_role("src", SourceRole())
    app.add_directive("definition", Definition)
    app.connect("builder-inited", start)
    app.connect("env-purge-doc", forget)
    app.connect("doctree-resolved", resolve_links)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": False, "env_version": 3}
