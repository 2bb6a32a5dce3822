"""쪽의 HTML을 다듬습니다: 표준에 어긋나는 곳, 그림의 크기, 떨어지면 안 되는 글."""

import re
from pathlib import Path

from docutils import nodes

#: sphinx-exercise는 모든 연습과 해답의 안쪽에 같은 id를 답니다.
REPEATED = {"exercise-content", "solution-content"}
_IMAGE = re.compile(r'(<img [^>]*?src="[^"]*?_images/([^"/]+\.svg)")')
_SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')
#: myst-nb가 접힌 코드에 다는 이름. summary 안에는 문단이 설 수 없습니다.
_FOLD = re.compile(r'<p class="((?:collapsed|expanded) admonition-title)">(.*?)</p>')

#: 글 속의 수식과, 사이를 띄지 않은 앞의 괄호와 뒤의 조사. 브라우저는 그 사이에서도 줄을
#: 바꿉니다.
_JOINED = re.compile(
    r"([(\[‘“'\"]*)(<math\b(?:(?!</math>).)*</math>)([^\s<]{0,6})", re.DOTALL
)

#: "실수 31"이나 "그림 6.4"처럼 번호로 끝나는 짧은 링크
_NUMBERED = re.compile(
    r'(<span class="std std-(?:num)?ref)(">[가-힣]{1,2} [\d.]+</span>)'
)


def _join(match):
    before, formula, after = match.groups()
    if not before and not after:
        return formula
    return f'<span class="joined">{before}{formula}{after}</span>'


def mend_tree(app, doctree, docname):
    for node in doctree.findall(nodes.Element):
        if REPEATED.intersection(node["ids"]):
            node["ids"] = [name for name in node["ids"] if name not in REPEATED]
    # 독스트링의 "반환"에 목록이 있으면 문단 속의 문단이 됩니다.
    for node in list(doctree.findall(nodes.paragraph)):
        if any(isinstance(child, nodes.paragraph) for child in node):
            node.replace_self(node.children)


def mend_page(app, pagename, templatename, context, doctree):
    if doctree is None:
        return
    files = {name: path for path, name in app.builder.images.items()}

    def sized(match):
        """그림이 오기 전에 자리를 비워 둡니다. 1포인트는 4/3픽셀입니다."""
        path = Path(app.srcdir, files[match[2]])
        size = _SIZE.search(path.read_text("utf-8")[:2000])
        if not size:
            return match[1]
        width, height = (round(float(points) * 4 / 3) for points in size.groups())
        return f'{match[1]} width="{width}" height="{height}"'

    body = _FOLD.sub(r'<span class="\1">\2</span>', context["body"])
    body = _NUMBERED.sub(r"\1 joined\2", _JOINED.sub(_join, body))
    context["body"] = _IMAGE.sub(sized, body)


def setup(app):
    app.connect("doctree-resolved", mend_tree)
    app.connect("html-page-context", mend_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
