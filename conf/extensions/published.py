"""사이트를 올렸을 때 쓰이는 것: 없는 주소의 쪽과 쪽의 소개.

``404.html``은 어느 깊이의 주소에서나 열립니다. ``html_baseurl``을 정하면 그 아래에 올린
것으로 압니다.
"""

import textwrap
from urllib.parse import urlsplit

from docutils import nodes


def not_found(app):
    base = urlsplit(app.config.html_baseurl).path.rstrip("/") + "/"
    yield "404", {"title": "쪽이 없습니다", "site_path": base}, "404.html"


def describe(app, pagename, templatename, context, doctree):
    """쪽의 첫 문단을 소개로 씁니다. 제목 아래의 '여기'는 소개가 아닙니다."""
    if doctree is None:
        return
    for paragraph in doctree.findall(nodes.paragraph):
        if "here" not in paragraph.parent.get("classes", []):
            text = textwrap.shorten(paragraph.astext(), 150, placeholder="…")
            context["description"] = text
            return


def setup(app):
    app.connect("html-collect-pages", not_found)
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
