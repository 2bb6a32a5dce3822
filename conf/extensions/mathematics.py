"""수식을 사이트를 지을 때 MathML로 바꿉니다: 읽는 쪽에는 스크립트가 필요하지 않습니다.

바꾸지 못하는 수식은 경고이고, 경고는 오류입니다. 쪽을 열 때 다시 조판하지 않으므로
글이 뒤늦게 밀리지 않습니다.
"""

import html

import math_core
from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

CONVERTER = math_core.LatexToMathML(annotation=True, fancy_error=False)


def mathml(latex, node, *, displaystyle):
    """LaTeX 한 줄의 MathML. 원래의 글은 주석으로 함께 담아 복사할 수 있게 합니다."""
    try:
        return CONVERTER.convert_with_local_state(latex, displaystyle=displaystyle)
    except math_core.LatexError as error:
        logger.warning(
            "수식을 바꾸지 못합니다: %s (%s)", latex, error, location=node, type="math"
        )
        return f"<code>{html.escape(latex)}</code>"


def number_equations(app, doctree, docname):
    """식의 번호를 장의 번호에 이어 적어 둡니다. 노트북도 이 번호를 씁니다."""
    numbers = app.env.toc_fignumbers.get(docname, {}).get("displaymath", {})
    for node in doctree.findall(nodes.math_block):
        if node["number"]:
            node["number"] = ".".join(map(str, numbers[node["ids"][0]]))


def visit_inline(self, node):
    self.body.append(mathml(node.astext(), node, displaystyle=False))
    raise nodes.SkipNode


def visit_display(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, "이 수식의 주소")
        self.body.append("</span>")
    latex = node.astext()
    if r"\\" in latex and r"\begin" not in latex:  # &와 줄바꿈이 서려면 표가 필요합니다
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    self.body.append(mathml(latex, node, displaystyle=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    app.connect("doctree-resolved", number_equations)
