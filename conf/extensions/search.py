"""검색에 쓸 글을 절마다 모읍니다. 찾는 일은 브라우저가 합니다.

색인은 낱말표가 아니라 글 그 자체입니다. 조사를 떼고 낱말을 나누는 규칙은 한
곳(``static/search_engine.js``)에만 있고, 결과에 보일 글도 따로 담지 않습니다. 파일로
연 쪽은 다른 파일을 읽지 못하므로, 색인은 읽을 때 함수를 부르는 스크립트입니다.

같은 것을 부르는 여러 이름은 두 곳에서 옵니다: 용어집의 한국어와 영어, 그리고 옆의
``search_names.toml``. 절이 답하지만 절에 없는 말은 ``search_phrases.toml``에 있습니다.
"""

import json
import re
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

NAMES = Path(__file__).with_name("search_names.toml")
PHRASES = Path(__file__).with_name("search_phrases.toml")

_SKIPPED = nodes.comment, nodes.math_block, nodes.raw
#: 코드에서는 이름만 담습니다: 밑줄이나 가운데 대문자가 있는 이름, 1e-5 같은 수, 명령
_NAME = re.compile(
    r"[A-Za-z]\w*_\w+|[A-Za-z]+[a-z][A-Z]\w*|\b\d(?:\.\d+)?e-\d+"
    r"|\b(?:transformer-notes|make) [a-z]+|\btf(?:\.\w+)+"
)
#: 가져오기만 하는 이름은 그 절이 다루는 것이 아닙니다.
_IMPORT = re.compile(r"^(?:>>> )?(?:from|import) .*", re.MULTILINE)
#: 오류 메시지는 그대로 쳐서 찾으므로 글로 담습니다.
_ERROR = re.compile(r"\w+(?:Error|Exception): .*")
_ENGLISH = re.compile(r"([A-Za-z][\w \-]*?)(?:\(([A-Za-z\-]+)\))?[.,]\s")

#: 쪽에 대한 말이지 쪽의 글이 아닌 것: 맞혀 볼 문제, '여기', 첫소리, 읽는 시간.
ABOUT = {"ask", "here", "letters", "reading-time"}


def entries_of(doctree):
    """쪽의 절, 용어, API의 이름마다 [id, 제목, 글, 코드의 이름]을 차례로 냅니다.

    용어의 글은 뜻이고, 코드의 이름 자리에는 그 말을 배우는 절의 주소가 있습니다.
    """
    entries = []

    def open_entry(anchor, heading):
        entries.append((anchor, heading, [], []))
        return entries[-1]

    def read(node, entry):
        match node:
            case nodes.section():
                title = node.next_node(nodes.title)
                entry = open_entry(node["ids"][0], _joined(_text(title)))
                for child in node.children:
                    if child is not title:
                        read(child, entry)
            case addnodes.desc():
                signature = node.next_node(addnodes.desc_signature)
                entry = open_entry(signature["ids"][0], signature["fullname"])
                entry[3].extend(_NAME.findall(signature.astext()))
                read(node.next_node(addnodes.desc_content), entry)
            case nodes.term() if node["ids"] and node["ids"][0].startswith("term-"):
                open_entry(node["ids"][0], _joined(_text(node)))
            case nodes.definition() if entries and entries[-1][0].startswith("term-"):
                entries[-1][2].append(_text(node[0]))
                entries[-1][3].extend(
                    link["refuri"].lstrip("./").replace(".html", "")
                    for link in node.findall(nodes.reference)
                )
            case nodes.doctest_block() if entry[0].startswith("transformer_notes."):
                pass  # API의 보기가 쓰는 이름은 그 항목이 다루는 것이 아닙니다
            case nodes.literal_block() | nodes.doctest_block():
                entry[2].extend(_ERROR.findall(node.astext()))
                entry[3].extend(_NAME.findall(_IMPORT.sub("", node.astext())))
            case nodes.Element() if ABOUT & {*node["classes"]}:
                pass
            case nodes.entry() if not re.search(r"[^\W\d_]", node.astext()):
                pass  # 표에서 수만 있는 칸으로는 찾지 않습니다
            case nodes.TextElement():
                entry[2].append(_text(node))
            case _:
                for child in node.children:
                    read(child, entry)

    read(doctree, ("", "", [], []))
    return [
        [
            anchor,
            heading,
            text,
            " ".join(dict.fromkeys(n for n in names if n not in text)),
        ]
        for anchor, heading, parts, names in entries
        for text in [_joined(" ".join(parts))]
    ]


def _text(node):
    if isinstance(node, nodes.Text):
        return str(node)
    if isinstance(node, nodes.math):
        return readable_formula(node.astext())
    if isinstance(node, _SKIPPED):
        return ""
    text = "".join(_text(child) for child in node.children)
    return text if isinstance(node, nodes.Inline) else f"{text} "


def _joined(text):
    """이은 글. 주소로는 찾지 않으므로 뺍니다."""
    text = " ".join(re.sub(r"https?://\S+", "", text).split())
    return re.sub(r"\s+([.,)\]])", r"\1", text)


def readable_formula(latex):
    """LaTeX를 사람이 치는 모양으로 바꿉니다."""
    rules = [
        (r"\\(?:mathrm|text|operatorname|math[a-z]+)\s*\{([^{}]*)\}", r"\1"),
        (r"\\(?:left|right|displaystyle)\b", ""),
        (r"\\[lc]?dots\b", "…"),
        (r"\\(?:var)?epsilon\b", "ε"),
        (r"([_^])\{(\w*)\}", r"\1\2"),
        (r"\\sqrt\s*\{([^{}]*)\}", r"√\1"),
        (r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"\1/\2"),
        (r"\\\\|\\[,;:!]|\\quad|&", " "),
    ]
    for found, plain in rules:
        latex = re.sub(found, plain, latex)
    return " ".join(re.sub(r"[{}\\]", "", latex).split())


def english_names(definition):
    """용어의 뜻은 영어 이름과 마침표로 시작합니다. 괄호 안의 줄임말도 이름입니다."""
    found = _ENGLISH.match(definition)
    return [name.strip() for name in found.groups() if name] if found else []


def names_of(pages):
    """같은 것을 부르는 이름의 묶음들."""
    groups = [
        [heading, *english_names(text)]
        for entries in pages.values()
        for anchor, heading, text, _ in entries
        if anchor.startswith("term-")
    ]
    return merged(groups + tomllib.loads(NAMES.read_text("utf-8"))["names"])


def merged(groups):
    """이름이 하나라도 같은 묶음을 합칩니다. 이름이 하나뿐이면 버립니다."""
    joined = []
    for group in groups:
        names = {name.lower() for name in group}
        same = [g for g in joined if names & {name.lower() for name in g}]
        place = joined.index(same[0]) if same else len(joined)
        joined = [g for g in joined if g not in same]
        joined.insert(place, [*dict.fromkeys(sum([*same, group], []))])
    return [group for group in joined if len(group) > 1]


def add_phrases(pages, labels):
    """절의 끝에 그 절의 찾는 말을 붙입니다. `labels`는 레이블마다의 (쪽, id, 제목)."""
    for label, phrases in tomllib.loads(PHRASES.read_text("utf-8")).items():
        page, anchor, _ = labels.get(label, ("", "", ""))
        for entry in pages.get(page, ()):
            if entry[0] == anchor:
                entry.append(phrases)


def collect(app, pagename, templatename, context, doctree):
    # 찾은 말은 static/marks.js가 칠합니다. Sphinx의 것은 그림 속의 글자에서 멈춥니다.
    # 같은 목록에서 뺍니다. 다른 확장이 여기에 더합니다.
    files = context["script_files"]
    files[:] = [file for file in files if "sphinx_highlight.js" not in str(file)]
    if doctree is not None:
        app.search_pages[pagename] = entries_of(doctree)


def write_index(app, exception):
    if exception:
        return
    reading = [app.config.root_doc]
    for page in reading:  # 차례에 나온 순서. 점수가 같으면 앞의 쪽이 먼저입니다.
        reading += app.env.toctree_includes.get(page, [])
    path = Path(app.outdir, "_static", "search_index.js")
    known = read_index(path) | app.search_pages
    pages = {page: known[page] for page in reading if page in known}
    names = names_of(pages)
    add_phrases(pages, app.env.domaindata["std"]["labels"])
    index = {"pages": list(pages.items()), "names": names}
    script = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"openSearchIndex({script});\n", encoding="utf-8")


def read_index(path):
    """지난번에 적은 색인입니다. 이번에 쓰지 않은 쪽은 거기에서 가져옵니다."""
    if not path.exists():
        return {}
    index = json.loads(path.read_text("utf-8").partition("(")[2].rpartition(")")[0])
    return {page: [entry[:4] for entry in of] for page, of in index["pages"]}


def replace_search(app):
    """Sphinx의 검색을 끄고 우리 것을 켭니다."""
    app.builder.search = False
    for script in ("search.js", "marks.js"):
        app.add_js_file(script, loading_method="defer")


def setup(app):
    app.search_pages = {}

    app.connect("builder-inited", replace_search)
    app.connect("html-page-context", collect)
    app.connect("build-finished", write_index)
