"""쪽의 HTML을 다듬습니다: 표준에 어긋나는 곳, 그림의 크기, 떨어지면 안 되는 글.

좁은 화면에서 ``(2, 1, 1, 4)`` 같은 벡터와 모양이 여러 줄로 흩어지면 읽을 수 없습니다.
표에서 한글이 없는 짧은 칸에 ``short``라는 이름을 붙입니다. 표가 넘치면 표만 옆으로
밉니다. 셀이 찍은 글은 문장이면 줄을 바꾸지만, 공백으로 칸을 맞춘 표와 행렬이면
``columns``라는 이름을 붙여 옆으로 밉니다.
"""

import re
from pathlib import Path

from docutils import nodes

_IMAGE = re.compile(r'(<img [^>]*?src="[^"]*?_images/([^"/]+\.svg)")')
_SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')
LONGEST = 32  # 글자. 수식은 기호 넷으로 셉니다
WIDEST = 88  # 글자. 이보다 넓은 것은 표가 아니라 문장입니다
#: '시드 5'는 줄 끝에서 갈라지지 않습니다.
_COUNTED = re.compile(r"(?<=시드) (?=\d)")
_COLUMNS = re.compile(r"\S {2,}\S|^ *\[+ *-?\d")
#: myst-nb가 접힌 코드에 다는 이름. summary 안에는 문단이 설 수 없습니다.
_FOLD = re.compile(r'<p class="((?:collapsed|expanded) admonition-title)">(.*?)</p>')

#: 글 속의 수식과, 사이를 띄지 않은 앞의 괄호와 뒤의 조사. 브라우저는 그 사이에서도 줄을
#: 바꿉니다.
_FORMULA, _BEFORE = r"<math\b(?:(?!</math>).)*</math>", r"[(\[‘“'\"]"
_JOINED = re.compile(rf"(?s){_BEFORE}+{_FORMULA}[^\s<]{{0,6}}|{_FORMULA}[^\s<]{{1,6}}")

#: "실수 31"이나 "그림 6.4"처럼 번호로 끝나는 짧은 링크
_NUMBERED = re.compile(
    r'(<span class="std std-(?:num)?ref)(">[가-힣]{1,2} [\d.]+</span>)'
)


def mend_tree(app, doctree, docname):
    # 독스트링의 "반환"에 목록이 있으면 문단 속의 문단이 됩니다.
    for node in list(doctree.findall(nodes.paragraph)):
        if any(isinstance(child, nodes.paragraph) for child in node):
            node.replace_self(node.children)
    for entry in doctree.findall(nodes.entry):
        if is_short(entry):
            entry["classes"].append("short")
        elif len(entry.astext()) > 14:
            entry["classes"].append("long")
        for text in list(entry.findall(nodes.Text)):
            joined = _COUNTED.sub("\N{NO-BREAK SPACE}", text)
            text.parent.replace(text, nodes.Text(joined))
    for block in doctree.findall(nodes.literal_block):
        if "stream" in block["classes"] and is_aligned(block.astext()):
            block["classes"].append("columns")


def is_short(entry):
    text = "".join(
        "…" * 4 if isinstance(node.parent, nodes.math) else node
        for node in entry.findall(nodes.Text)
    )
    most = 12 if " (" in text else LONGEST  # 긴 평균 뒤의 괄호는 다음 줄로 가도 됩니다
    return bool(re.fullmatch(f"[^가-힣]{{1,{most}}}", text))


def is_aligned(text):
    """칸을 맞춘 줄이 셋 이상이고 모든 줄의 반 이상인가."""
    lines = [line for line in text.splitlines() if line.strip()]
    aligned = [line for line in lines if _COLUMNS.search(line)]
    narrow = all(len(line) <= WIDEST for line in lines)
    return narrow and len(aligned) >= max(3, len(lines) / 2)


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

    # myst-nb의 접는 셀은 눈에 보이는 한국어 대신 영어 이름표를 읽어 줍니다.
    body = context["body"].replace(' aria-label="Toggle hidden content"', "")
    # 참고문헌은 목록의 항목입니다. docutils가 적는 역할은 폐기되었습니다.
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    body = _FOLD.sub(r'<span class="\1">\2</span>', body)
    body = _JOINED.sub(r'<span class="joined">\g<0></span>', body)
    body = _NUMBERED.sub(r"\1 joined\2", body)
    context["body"] = _IMAGE.sub(sized, body)


def setup(app):
    app.connect("doctree-resolved", mend_tree)
    app.connect("html-page-context", mend_page)
