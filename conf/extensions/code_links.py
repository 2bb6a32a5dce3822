"""코드에 나온 패키지의 이름을 API 항목에 잇습니다.

쪽의 코드를 차례대로 읽으며 이름이 무엇을 가리키는지 따라갑니다: 가져온 것, 그 속의
것, 클래스를 불러 만든 것. 읽지 못하는 코드에는 링크를 달지 않습니다.
"""

import ast
import contextlib
import functools
import re
from html import unescape

from package import PACKAGE, origin

_BLOCK = re.compile(
    r'(<div class="(?:highlight-(?:default|python|pycon)\b|doctest)[^>]*>'
    r'<div class="highlight"><pre>)(.*?)(?=</pre>)',
    re.DOTALL,
)
#: 줄의 번호, 꼬리표, 글자 하나
_PIECE = re.compile(r'<span class="linenos">.*?</span>|<[^>]*>|&[^;]+;|.', re.DOTALL)
#: 예의 줄: 물음이면 코드를 남기고, 답이면 비웁니다.
_EXAMPLE = re.compile(r"^(?:(?:>>>|\.\.\.) ?(.*)|.*)$", re.MULTILINE)


_origin = functools.cache(origin)


class Names(ast.NodeVisitor):
    """쪽의 이름을 따라갑니다. 찾은 것은 (줄, 첫 칸, 끝 칸, 항목)입니다."""

    def __init__(self, kinds):
        self.kinds, self.known = kinds, {}

    def read(self, source):
        self.found = []
        with contextlib.suppress(SyntaxError):
            self.visit(ast.parse(source))
        return self.found

    def meaning(self, node):
        """식이 가리키는 것의 (점으로 이은 이름, 만든 것인가). 모르면 빈 이름입니다."""
        match node:
            case ast.Name(id=name):
                return self.known.get(name, ("", False))
            case ast.Attribute(value=value, attr=name):
                path, made = self.meaning(value)
                return path and self.listed(f"{path}.{name}"), made
            case ast.Call(func=called):
                path, made = self.meaning(called)
                for owner in (path, path.rpartition(".")[0]):  # C()와 C.load()
                    if self.kinds.get(owner) == "class" and not made:
                        return owner, True
        return "", False

    def listed(self, path):
        """항목이 있는 이름이면 그대로, 없으면 그것을 정의한 모듈의 이름입니다."""
        return path if path in self.kinds else _origin(path)

    def note(self, node, length, path):
        if path in self.kinds:
            start = node.col_offset
            self.found.append((node.lineno, start, start + length, path))
        return path in self.kinds

    def visit_Import(self, node, base=()):
        for alias in node.names:
            path = ".".join([*base, alias.name])
            if path.partition(".")[0] == PACKAGE.name:
                self.known[alias.asname or alias.name] = self.listed(path), False
                self.note(alias, len(alias.name), self.listed(path))

    def visit_ImportFrom(self, node):
        if node.module:
            self.visit_Import(node, [node.module])
            node.col_offset += len("from ")
            self.note(node, len(node.module), node.module)

    def visit_FunctionDef(self, node):
        outside = dict(self.known)
        self.generic_visit(node)
        self.known = outside

    visit_Lambda = visit_ClassDef = visit_FunctionDef

    def visit_arg(self, node):
        self.known.pop(node.arg, None)

    def visit_Assign(self, node):
        self.visit(node.value)
        meaning = self.meaning(node.value)
        for target in node.targets:
            self.visit(target)
            if isinstance(target, ast.Name) and meaning[0]:
                self.known[target.id] = meaning

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store):
            self.known.pop(node.id, None)
        self.note(node, len(node.id.encode()), self.meaning(node)[0])

    def visit_Attribute(self, node):
        chain = ast.unparse(node)
        path = self.meaning(node)[0] if "(" not in chain else ""
        if not self.note(node, len(chain), path):
            self.visit(node.value)


def link_names(app, pagename, templatename, context, doctree):
    """쪽에서 되풀이되는 이름에는 Tab이 서지 않습니다. 처음 것과 같은 곳으로 갑니다."""
    objects = app.env.domains["py"].objects
    names, linked = Names({path: of.objtype for path, of in objects.items()}), set()

    def opening(path):
        page = app.builder.get_relative_uri(pagename, objects[path].docname)
        stop = ' tabindex="-1"' if path in linked else ""
        linked.add(path)
        address = f"{page}#{objects[path].node_id}"
        return f'<a href="{address}" title="{path}" class="code-link"{stop}>'

    def link(match):
        pieces = _PIECE.findall(match[2])
        text = unescape("".join(piece for piece in pieces if piece[0] != "<"))
        cut = len(">>> ") * text.startswith(">>> ")
        rows = text.encode().splitlines(keepends=True)  # 구문은 칸을 바이트로 셉니다
        code = _EXAMPLE.sub(r"\1", text) if cut else text
        starts, ends = {}, set()
        for row, start, end, path in names.read(code):
            before = sum(map(len, rows[: row - 1])) + cut
            starts[before + start] = path
            ends.add(before + end)
        made, at = [], 0
        for piece in pieces:
            if piece[0] != "<":
                if at in starts:  # 이름을 감싼 꼬리표의 앞
                    made.insert(-1, opening(starts[at]))
                at += len(unescape(piece).encode())
            made.append(piece)
            if piece == "</span>" and at in ends:
                ends.remove(at)
                made.append("</a>")
        return match[1] + "".join(made)

    if doctree is not None:
        context["body"] = _BLOCK.sub(link, context["body"])


def setup(app):
    app.connect("html-page-context", link_names)
