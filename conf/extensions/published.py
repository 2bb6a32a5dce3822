"""사이트를 올렸을 때 쓰이는 것: 없는 주소의 쪽, 쪽의 소개, 사이트맵.

``404.html``은 어느 깊이의 주소에서나 열립니다. ``html_baseurl``을 정하면 그 아래에 올린
것으로 알고, 사이트맵을 만듭니다.
"""

import textwrap
from urllib.parse import urlsplit

from docutils import nodes


def not_found(app):
    base = urlsplit(app.config.html_baseurl).path.rstrip("/") + "/"
    yield "404", {"title": "쪽이 없습니다", "site_path": base}, "404.html"


def describe(app, pagename, templatename, context, doctree):
    """쪽의 첫 문단을 소개로 씁니다. 제목 아래의 '여기'는 소개가 아닙니다."""
    found = doctree.findall(nodes.paragraph) if doctree else ()
    texts = (p.astext() for p in found if "here" not in p.parent["classes"])
    context["description"] = textwrap.shorten(next(texts, ""), 150, placeholder="…")


def map_site(app, error):
    base = app.config.html_baseurl
    if base and not error:
        found = [f"<url><loc>{base}{page}.html</loc></url>" for page in app.env.titles]
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        text = "\n".join([f'<urlset xmlns="{space}">', *sorted(found), "</urlset>\n"])
        (app.outdir / "sitemap.xml").write_text(text, "utf-8")


def setup(app):
    app.connect("html-collect-pages", not_found)
    app.connect("html-page-context", describe)
    app.connect("build-finished", map_site)
