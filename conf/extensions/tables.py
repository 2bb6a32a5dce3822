"""표의 짧은 칸과, 칸을 맞추어 찍은 출력은 줄을 바꾸지 않습니다.

좁은 화면에서 ``(2, 1, 1, 4)`` 같은 벡터와 모양이 여러 줄로 흩어지면 읽을 수 없습니다.
한글이 없는 짧은 칸에 ``short``라는 이름을 붙입니다. 표가 넘치면 표만 옆으로 밉니다.
셀이 찍은 글은 문장이면 줄을 바꾸지만, 공백으로 칸을 맞춘 표와 행렬이면 ``columns``라는
이름을 붙여 옆으로 밉니다.
"""

import re

from docutils import nodes

LONGEST = 32  # 글자. 수식은 기호 넷으로 셉니다
WIDEST = 88  # 글자. 이보다 넓은 것은 표가 아니라 문장입니다
#: '시드 5'는 줄 끝에서 갈라지지 않습니다.
_COUNTED = re.compile(r"(?<=시드) (?=\d)")
_COLUMNS = re.compile(r"\S {2,}\S|^ *\[+ *-?\d")


def is_short(entry):
    parts = (
        "…" * 4 if isinstance(node.parent, nodes.math) else str(node)
        for node in entry.findall(nodes.Text)
    )
    return bool(re.fullmatch(f"[^가-힣]{{1,{LONGEST}}}", "".join(parts)))


def is_aligned(text):
    """칸을 맞춘 줄이 셋 이상이고 모든 줄의 반 이상인가."""
    lines = [line for line in text.splitlines() if line.strip()]
    aligned = [line for line in lines if _COLUMNS.search(line)]
    narrow = all(len(line) <= WIDEST for line in lines)
    return narrow and len(aligned) >= max(3, len(lines) / 2)


def mark(app, doctree, docname):
    for entry in doctree.findall(nodes.entry):
        if is_short(entry):
            entry["classes"].append("short")
        for text in list(entry.findall(nodes.Text)):
            joined = _COUNTED.sub("\N{NO-BREAK SPACE}", text)
            if joined != text:
                text.parent.replace(text, nodes.Text(joined))
    for block in doctree.findall(nodes.literal_block):
        if "stream" in block["classes"] and is_aligned(block.astext()):
            block["classes"].append("columns")


def setup(app):
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True}
