"""고쳐 보기: NumPy만으로 다시 실행되는 셀을 찾아, 브라우저에서 고쳐 실행하게 합니다.

셀이 쓰는 이름을 거슬러 올라가, 그 이름을 만드는 앞의 문장들만 모읍니다. 모은 문장과
셀이 모두 브라우저 속의 파이썬에 있는 것만 가져오면 그 셀에 단추를 답니다
(``static/bench.js``). 먼저 실행할 문장들은 쪽마다 스크립트 하나에 두고, 독자가 누를
때에 읽습니다.
"""

import ast
import json
import sys
from doctest import DocTestParser
from pathlib import Path

from docutils import nodes
from notebooks import read_notebook
from snippets import find_snippets

PAGES = "lectures/", "deeper/"
#: 브라우저에 있는 모듈. 패키지의 것은 workshop.py가 담습니다.
THERE = {"numpy", *sys.stdlib_module_names}
THERE |= {"transformer_notes.checker", "transformer_notes.exercises.parts"}
#: 부른 것을 바꾸지 않는 메서드. 난수 생성기와 목록의 것은 바꿉니다.
STILL = {"max", "min", "sum", "mean", "round", "copy", "reshape", "astype"}


def imported(node):
    """문장이 가져오는 모듈과 이름을 점으로 이어 냅니다."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def there(name):
    """브라우저에 있는 모듈이거나 그 안의 이름인가."""
    return any(f"{name}.".startswith(f"{module}.") for module in THERE)


class Statement:
    """쪽의 문장 하나: 읽는 이름, 만드는 이름, 건드리는 이름."""

    def __init__(self, node, source):
        self.source = ast.get_source_segment(source, node, padded=True)
        if getattr(node, "decorator_list", None):
            first = node.decorator_list[0].lineno - 1
            self.source = "\n".join(source.splitlines()[first : node.end_lineno])
        self.loads, self.stores, self.touches = set(), set(), set()
        self.light = True
        inner = set()
        for part in ast.walk(node):
            for target in imported(part):
                self.light = self.light and there(target)
            match part:
                case ast.Import() | ast.ImportFrom():
                    self.stores |= {
                        (a.asname or a.name).partition(".")[0] for a in part.names
                    }
                case ast.Name(id=name, ctx=ast.Load()):
                    self.loads.add(name)
                case ast.Name(id=name):
                    self.stores.add(name)
                case ast.arg(arg=name):
                    inner.add(name)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    self.stores.add(name)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                    if method not in STILL:
                        self.touches.add(name)
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                    self.touches.add(name)
                case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
                    self.touches.add(name)
                case ast.AugAssign(target=ast.Name(id=name)):
                    self.loads.add(name)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inner |= self.stores - {node.name}
            self.stores = {node.name}
        self.loads -= inner
        self.touches -= inner


def statements(source):
    """셀이나 예의 문장들입니다. 일부러 틀린 셀에는 없습니다."""
    try:
        return [Statement(node, source) for node in ast.parse(source).body]
    except SyntaxError:
        return []


def live(path):
    """고쳐 볼 수 있는 셀마다 (코드 셀 가운데 몇째, 먼저 실행할 글)."""
    before, cell = [], -1
    for snippet in find_snippets(path):
        if snippet.kind == "doctest":
            for example in DocTestParser().get_examples(snippet.source):
                before += statements(example.source)
            continue
        cell += 1
        own = statements(snippet.source)
        if any("print" in one.loads for one in own) and not snippet.tags:
            needed = needs(before, own)
            if needed is not None:
                yield cell, "\n".join(one.source for one in needed)
        before += own


def needs(before, own):
    """먼저 실행할 문장들. 브라우저에서 되지 않으면 None입니다."""
    known = {name for one in before for name in one.stores}
    wanted, chosen = set(), []
    for statement in own[::-1]:
        if not statement.light:
            return None
        wanted = (wanted - statement.stores) | (statement.loads & known)
    for statement in before[::-1]:
        # 모듈은 불러도 달라지지 않습니다
        touched = statement.touches - {"np"} | statement.stores
        if not touched & wanted:
            continue
        if not statement.light:
            return None
        chosen.append(statement)
        wanted = (wanted - statement.stores) | (statement.loads & known)
    return chosen[::-1]


def mark(app, doctree):
    """고쳐 볼 수 있는 셀에 표를 하고, 먼저 실행할 글을 적어 둡니다."""
    page = app.env.docname
    if not page.startswith(PAGES):
        return
    path = app.env.doc2path(page)
    found = dict(live(path))
    code = [i for i, c in enumerate(read_notebook(path).cells) if c.cell_type == "code"]
    at = {code[cell]: setup for cell, setup in found.items()}
    setups = []
    for node in doctree.findall(nodes.container):
        if (setup := at.get(node.get("cell_index"))) is not None:
            node["classes"].append("live")
            setups.append(setup)
    if setups:
        app.env.live_cells[page] = setups


def write(app, exception):
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", "live")
    for page, setups in app.env.live_cells.items():
        path = folder / f"{page.rpartition('/')[2]}.js"
        path.parent.mkdir(exist_ok=True)
        text = json.dumps(setups, ensure_ascii=False)
        path.write_text(f"notesRuntime({text});\n", encoding="utf-8")


def start(app):
    app.env.live_cells = getattr(app.env, "live_cells", {})


def forget(app, env, docname):
    getattr(env, "live_cells", {}).pop(docname, None)


def setup(app):
    app.connect("builder-inited", start)
    app.connect("env-purge-doc", forget)
    app.connect("doctree-read", mark)
    app.connect("build-finished", write)
    return {"parallel_read_safe": False, "parallel_write_safe": True, "env_version": 1}
