"""쪽마다 노트북을 만들어 쪽 옆에 둡니다. 패키지만 있으면 어디서나 실행됩니다.

다 풀린 문서에서 만들므로 링크와 번호와 붙여 둔 값이 글이 되어 있습니다. 셀은 실행된
출력을 담습니다. ``>>>``로 적은 예는 셀이 되고 적힌 출력이 그 출력이 됩니다. 쪽이 읽는
파일은 앞의 셀이 적고, 첫 셀이 패키지와 쪽이 쓰는 나머지를 설치합니다. 사이트의 주소가
있으면 휠과 쪽 사이의 링크가 그 주소를 가리킵니다. 사이트의 일인 remove-cell은 옮기지
않습니다.
"""

import functools
import itertools
import re
import textwrap
import tomllib
from doctest import DocTestParser
from importlib.metadata import packages_distributions
from pathlib import Path
from urllib.parse import urljoin

import nbformat
from docutils import nodes
from jupyter_cache import get_cache
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebooks import read_notebook
from package import ROOT
from pybtex.backends.markdown import Backend
from snippets import PYTHON_LANGUAGES, is_doctest

HIDDEN = {"jupyter": {"source_hidden": True}}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WHEEL = f"transformer_notes-{PROJECT['version']}-py3-none-any.whl"
STORED = re.compile(r"docs/[\w/]+\.(?:json|toml)")


def _is_offered(app, page, doctree):
    """셀이 있는 쪽은 모두. 길잡이인 첫 쪽과 ``notebook: none``인 쪽은 뺍니다."""
    if app.env.metadata[page].get("notebook") == "none" or page == app.config.root_doc:
        return False
    return any("cell_index" in box for box in doctree.findall(nodes.container))


def links_to_notebook(app, doctree):
    """제목 아래에 놓을 것입니다(``chapters``)."""
    page = app.env.docname
    if not _is_offered(app, page, doctree):
        return []
    name = f"{page.rpartition('/')[2]}.ipynb"
    links = [f'<a href="{name}" download>노트북 내려받기</a>']
    if match := re.match(r"https://github\.com/(.+)", app.config.repository_url):
        # 지은 사이트를 올리는 가지입니다.
        address = f"https://colab.research.google.com/github/{match[1]}/blob/gh-pages"
        links.append(f'<a href="{address}/{page}.ipynb">Colab에서 열기</a>')
    return [nodes.raw("", " · ".join(links), format="html", classes=["take-along"])]


def write_notebook(app, pagename, templatename, context, doctree):
    if doctree is None or not _is_offered(app, pagename, doctree):
        return
    cache = get_cache(app.config.nb_execution_cache_path)
    page = read_notebook(app.env.doc2path(pagename))
    cells = cache.merge_match_into_notebook(page)[1].cells
    path = Path(app.outdir, f"{pagename}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    base = app.config.html_baseurl
    for link in doctree.findall(nodes.reference) if base else ():
        target = link.get("refuri") or f"#{link.get('refid', '')}"
        link["refuri"] = urljoin(urljoin(base, f"{pagename}.html"), target)
    parts = [*_blocks(doctree, cells), *_references(app.env, pagename)]
    nbformat.write(make_notebook(parts, pagename, base), path)


def _references(env, page):
    """쪽이 부른 문헌입니다."""
    cite = env.domaindata["cite"]
    refs = [ref for ref in cite["citation_refs"] if ref.docname == page]
    called = {target.key for ref in refs for target in ref.targets}
    listed = [c.formatted_entry for c in cite["citations"] if c.key in called]
    if listed:
        yield "## 참고문헌"
        yield "\n".join(
            rf"- \[{entry.label}\] {' '.join(entry.text.render(Backend()).split())}"
            for entry in sorted(listed, key=lambda of: (len(of.label), of.label))
        )


def make_notebook(parts, page, base):
    """쪽의 글과 셀로 노트북을 만듭니다."""
    cells = []
    for words, group in itertools.groupby(parts, lambda part: isinstance(part, str)):
        part = [*group]
        cells += [new_markdown_cell("\n\n".join(part))] if words else part
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    cells[1:1] = [*_installation(source, page, base), *_stored_results(source)]
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return new_notebook(cells=cells, metadata=about)


def _installation(source, page, base):
    address = f"{page}.html"
    here = f"[{address}]({urljoin(base, address)})" if base else f"`{address}`"
    words = f"이 노트북은 트랜스포머 노트의 쪽 {here}입니다. 위에서부터 실행하세요."
    if not base:
        words += f" 사이트의 첫 쪽에서 받은 `{WHEEL}`을 이 노트북 옆에 둡니다."
    yield new_markdown_cell(words)
    imported = {*re.findall(r"^\s*(?:import|from) (\w+)", source, re.MULTILINE)}
    more = {name: of for name, of in sorted(_extras().items()) if name in imported}
    wanted = [urljoin(base, WHEEL), *(f'"{of}"' for of in more.values())]
    yield new_code_cell(
        "# 없는 것이 있으면 설치합니다.\n"
        "from importlib.util import find_spec\n\n"
        f"if not all(map(find_spec, {['transformer_notes', *more]})):\n"
        f"    %pip install -q {' '.join(wanted)}"
    )


@functools.cache
def _extras():
    """더 설치해야 가져올 수 있는 모듈마다 pyproject.toml이 적은 요구입니다."""
    optional = PROJECT["optional-dependencies"]
    wanted = {re.match(r"[\w-]+", of)[0]: of for of in optional["docs"]}
    found = packages_distributions().items()
    return {name: wanted[of[0]] for name, of in found if of[0] in wanted}


def _stored_results(source):
    for name in sorted(set(STORED.findall(source))):
        text = (ROOT / name).read_text(encoding="utf-8")
        yield new_code_cell(
            "# 이 쪽이 읽는 파일입니다.\n"
            "from pathlib import Path\n\n"
            f"stored_file = Path({name!r})\n"
            "stored_file.parent.mkdir(parents=True, exist_ok=True)\n"
            f"_ = stored_file.write_text({text!r}, encoding='utf-8')",
            metadata=HIDDEN,
        )


# --- 덩이 ---------------------------------------------------------------------------


def _blocks(node, executed):
    """문서를 차례로 마크다운 글과 코드 셀로 냅니다."""
    match node:
        case nodes.title() if isinstance(node.parent, nodes.section):
            yield f"{'#' * len(node.section_hierarchy())} {_inline(node)}"
        case nodes.title():
            yield f"**{_inline(node)}**"
        case nodes.container() if "cell_index" in node:
            yield _executed_cell(executed[node["cell_index"]])
            for caption in node.findall(nodes.caption):
                yield f"*{_inline(caption)}*"
        case nodes.literal_block() | nodes.doctest_block():
            yield from _code(node)
        case nodes.math_block():
            number = node.get("number")
            tag = rf" \tag{{{number}}}" if number else ""
            yield f"$$\n{node.astext()}{tag}\n$$"
        case nodes.table():
            yield _table(node)
        case nodes.bullet_list() | nodes.enumerated_list():
            yield _inline(node)
        case nodes.paragraph() | nodes.caption() | nodes.term() | nodes.attribution():
            if not {"reading-time", "here-part"} & {*node["classes"]}:
                yield _inline(node)
        case nodes.raw() | nodes.Invisible():
            pass
        case nodes.Element():
            for child in node:
                yield from _blocks(child, executed)


def _executed_cell(cell):
    tags = {*cell.metadata.get("tags", ())}
    about = HIDDEN.copy() if tags & {"hide-input", "remove-input"} else {}
    if "raises-exception" in tags:
        about["tags"] = ["raises-exception"]
    cell["metadata"] = about
    return cell


def _code(node):
    text = node.astext()
    if is_doctest(text) and not node.get("definition"):
        yield from _examples(text)
    else:
        known = node.get("language", "").lower() in PYTHON_LANGUAGES
        yield f"```{'python' if known else ''}\n{text}\n```"


def _examples(text):
    """예를 셀로 나눕니다. 출력이 적힌 예마다 셀이 하나 끝납니다."""
    lines = []
    for example in DocTestParser().get_examples(text):
        lines.append(example.source)
        if example.want:
            yield new_code_cell(
                "".join(lines).rstrip("\n"),
                metadata={"tags": ["raises-exception"]} if example.exc_msg else {},
                outputs=[new_output("stream", name="stdout", text=example.want)],
            )
            lines = []
    if lines:
        yield new_code_cell("".join(lines).rstrip("\n"))


def _list(node):
    lines = []
    for number, item in enumerate(node, 1):
        mark = f"{number}. " if isinstance(node, nodes.enumerated_list) else "- "
        body = "\n".join(_inline(child) for child in item)
        lines.append(mark + textwrap.indent(body, " " * len(mark)).lstrip())
    return "\n".join(lines)


def _table(node):
    rows = [
        [_inline(entry).replace("|", r"\|").replace("\n", " ") for entry in row]
        for row in node.findall(nodes.row)
    ]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


# --- 글 -----------------------------------------------------------------------------


def _inline(node):
    match node:
        case nodes.Text():
            return re.sub(r"(?<!\\)([*_])", r"\\\1", node.astext())
        case nodes.literal():
            return f"`{node.astext()}`"
        case nodes.math():
            return f"${node.astext()}$"
        case nodes.raw() | nodes.Invisible() | nodes.image():
            return ""
        case nodes.bullet_list() | nodes.enumerated_list():
            return _list(node)
    inner = "".join(map(_inline, node))
    match node:
        case nodes.strong():
            return f"**{inner}**"
        case nodes.emphasis():
            return f"*{inner}*"
        case nodes.reference() if node.get("refuri", "").startswith("http"):
            return f"[{inner}]({node['refuri']})"
    return inner


def setup(app):
    app.add_config_value("repository_url", "", "env", str)
    app.connect("html-page-context", write_notebook)
