"""표의 짧은 칸은 줄을 바꾸지 않습니다.

좁은 화면에서 ``(2, 1, 1, 4)`` 같은 벡터와 모양이 여러 줄로 흩어지면 읽을 수 없습니다.
한글이 없는 짧은 칸에 ``short``라는 이름을 붙입니다. 표가 넘치면 표만 옆으로 밉니다.
"""

import re

from docutils import nodes

LONGEST = 24  # 글자. 수식은 기호 넷으로 셉니다


def is_short(entry):
    parts = (
        "…" * 4 if isinstance(node.parent, nodes.math) else str(node)
        for node in entry.findall(nodes.Text)
    )
    return bool(re.fullmatch(f"[^가-힣]{{1,{LONGEST}}}", "".join(parts)))


def mark_short_cells(app, doctree, docname):
    for entry in doctree.findall(nodes.entry):
        if is_short(entry):
            entry["classes"].append("short")


def setup(app):
    app.connect("doctree-resolved", mark_short_cells)
    return {"parallel_read_safe": True}
