"""참고문헌을 진짜 목록으로 씁니다.

docutils는 항목에 ``doc-biblioentry``를 적습니다. 이 역할은 폐기되었고, 목록의 항목이
아니어서 읽어 주는 기계에는 빈 목록입니다.
"""

from docutils import nodes
from sphinx.writers.html5 import HTML5Translator


def visit(self, node):
    HTML5Translator.visit_citation(self, node)
    self.body[-1] = self.body[-1].replace("doc-biblioentry", "listitem")


def setup(app):
    html = visit, HTML5Translator.depart_citation
    app.add_node(nodes.citation, override=True, html=html)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
