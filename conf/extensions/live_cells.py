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
from symtable import symtable

from docutils import nodes
from later import need
from snippets import find_snippets

PAGES = "lectures/", "deeper/"
#: 브라우저에 있는 모듈. 패키지의 것은 workshop.py가 담습니다.
THERE = {"numpy", *sys.stdlib_module_names}
THERE |= {"transformer_notes.checker", "transformer_notes.exercises.parts"}
#: 부른 것을 바꾸지 않는 메서드. 난수 생성기와 목록의 것은 바꿉니다.
STILL = {"max", "min", "sum", "mean", "round", "copy", "reshape", "astype"}


class Statement:
    """쪽의 문장 하나: 읽는 이름, 만드는 이름, 바꿀 수 있는 이름."""

    def __init__(self, node):
        self.source = ast.unparse(node)
        whole = symtable(self.source, "cell", "exec")
        self.loads, self.touches, imported = set(read_names(whole)), set(), set()
        self.stores = {s.get_name() for s in whole.get_symbols() if s.is_local()}
        for part in ast.walk(node):
            match part:
                case ast.Import(names=names):
                    imported |= {alias.name for alias in names}
                case ast.ImportFrom(module=module, names=names):
                    imported |= {f"{module}.{alias.name}" for alias in names}
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                    self.touches |= {name} - {"np"} if method not in STILL else set()
                case (
                    ast.Subscript(value=ast.Name(id=name), ctx=ast.Store())
                    | ast.Attribute(value=ast.Name(id=name), ctx=ast.Store())
                    | ast.AugAssign(target=ast.Name(id=name))
                ):
                    self.touches.add(name)
        self.touches &= self.loads | self.stores  # 함수 안의 이름은 아닙니다
        self.loads |= self.touches
        self.light = all(map(is_there, imported))


def read_names(table):
    """이 범위와 안쪽의 범위가 바깥에서 읽는 이름들."""
    outermost = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (outermost or symbol.is_global()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from read_names(inner)


def is_there(name):
    """브라우저에 있는 모듈이거나 그 안의 이름인가."""
    return any(f"{name}.".startswith(f"{module}.") for module in THERE)


def statements(source):
    """셀이나 예의 문장들입니다. 일부러 틀린 셀에는 없습니다."""
    try:
        return [Statement(node) for node in ast.parse(source).body]
    except SyntaxError:
        return []


def live(path):
    """고쳐 볼 수 있는 셀마다 (셀의 코드, 먼저 실행할 글)."""
    before = []
    for snippet in find_snippets(path.read_text("utf-8")):
        if snippet.kind == "doctest":
            for example in DocTestParser().get_examples(snippet.source):
                before += statements(example.source)
            continue
        own = statements(snippet.source)
        if any("print" in one.loads for one in own) and not snippet.tags:
            needed = needs(before, own)
            if needed is not None:
                yield snippet.source, "\n".join(one.source for one in needed)
        before += own


def needs(before, own):
    """먼저 실행할 문장들. 브라우저에서 되지 않으면 None입니다."""
    wanted, chosen = set(), []
    for statement in [*before, *own][::-1]:
        if statement in own or wanted & (statement.stores | statement.touches):
            if not statement.light:
                return None
            wanted = wanted - statement.stores | statement.loads
            chosen.append(statement)
    return chosen[len(own) :][::-1]


def mark(app, doctree):
    """고쳐 볼 수 있는 셀에 표를 하고, 먼저 실행할 글을 적어 둡니다."""
    if not app.env.docname.startswith(PAGES):
        return
    found = dict(live(app.env.doc2path(app.env.docname)))
    for node in doctree.findall(nodes.container):
        if "cell_index" in node and node[0].astext() in found:
            node["classes"].append("live")
            node["setup"] = found[node[0].astext()]
            need(app.env, "workshop.css", "workshop.js")


def write(app, pagename, templatename, context, doctree):
    path = Path(app.outdir, "_static", "live", f"{pagename}.js")
    path.unlink(missing_ok=True)  # 지난 빌드의 것
    found = doctree.findall(nodes.container) if doctree else ()
    if setups := [node["setup"] for node in found if "setup" in node]:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(setups, ensure_ascii=False)
        path.write_text(f"notesRuntime({text});\n", encoding="utf-8")


def setup(app):
    app.connect("doctree-read", mark)
    app.connect("html-page-context", write)
    return {"env_version": 2}
