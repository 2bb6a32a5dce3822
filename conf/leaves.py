"""지은 사이트를 책의 낱장으로 바꿉니다: 차례, 그리고 쪽마다 본문의 XHTML.

낱장은 사이트의 쪽에서 본문만 옮긴 것이라, 번호와 그림과 링크가 사이트와 같습니다.
스크립트와 손잡이처럼 책에서 움직이지 않는 것은 빼고, 책에 없는 쪽으로 가는 링크는
글로 남깁니다.
"""

import itertools
import posixpath
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from jinja2 import Environment, FileSystemLoader
from justhtml import Element, JustHTML, Text
from offered import ROOT, SITE

OURS = Path(__file__).with_name("book")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TITLE, SUBTITLE = PROJECT["description"].split(": ")
LICENCE = "글과 그림 CC BY 4.0 · 코드 MIT · 글꼴 SIL OFL 1.1"

API = "reference/api"  # 모듈의 쪽으로 가는 목록. 책에서는 빼고 사이트에 둡니다
DROPPED = (
    "script, style, noscript, template, form, .headerlink, .take-along, .offered,"
    " .expanded, .overview-map .code, .write-start, .playground > *, .speak > *"
)
#: 둘레와 똑같이 보이는 코드의 조각. 풀어 두면 책이 훨씬 작아집니다.
PLAIN = "pre span.n, pre span.p, pre span.w, code span.pre"
SPACES = {
    "svg": "http://www.w3.org/2000/svg",
    "math": "http://www.w3.org/1998/Math/MathML",
}
VOID = {"br", "col", "hr", "img", "input", "wbr"}
#: matplotlib의 그림에서 EPUB이 꺼리는 것: 바깥의 파일, 빈칸 글자의 길이 없는 길.
DOCTYPE = re.compile(rb"<!DOCTYPE[^>]*>\s*")
EMPTY_PATH = re.compile(rb'<path (?![^>]*\bd=")')
#: 많은 전자책이 모르는 선택자. 위젯에서 이것으로 적은 것은 book.css가 정합니다.
NEW_RULE = re.compile(r"[^{}]*:(?:is|has)\([^{}]*\{[^{}]*\}")
TEMPLATES = Environment(loader=FileSystemLoader(OURS), autoescape=True)


@dataclass
class Leaf:
    """책의 쪽 하나. 첫 쪽에는 묶음의 이름이 없습니다."""

    page: str
    part: str
    title: str
    body: Element
    styles: list[str]


def read(address):
    """차례에 나온 대로 모든 낱장입니다.

    `address`는 폴더와 쪽과 id를, 그 폴더의 쪽에서 적을 주소로 바꾸는 함수입니다.
    """
    if not (SITE / "index.html").exists():
        sys.exit(
            "먼저 'make html'로 사이트를 지어 주세요. 책은 지은 사이트로 만듭니다."
        )
    leaves, part = [], ""
    index = JustHTML((SITE / "index.html").read_text("utf-8"), sanitize=False)
    for node in index.query("nav.bd-links .caption-text, nav.bd-links a"):
        if node.name == "span":
            part = _words(node)
        elif API not in node.attrs["href"]:
            page = node.attrs["href"].removesuffix(".html").replace("#", "index")
            html = (SITE / f"{page}.html").read_text("utf-8")
            body = JustHTML(html, sanitize=False).query_one("article")
            styles = [style.to_text() for style in body.query("style")]
            leaves.append(Leaf(page, part, _words(node), body, styles))
    pages = {leaf.page for leaf in leaves}
    for leaf in leaves:
        _clean(leaf.body)
        _follow_epub(leaf.body)
        _point(leaf, pages, address)
    return leaves


def _words(node):
    return " ".join(node.to_text().split())


def _clean(body):
    for node in body.query(DROPPED):
        node.parent.remove_child(node)
    for node in body.query(PLAIN):
        for child in [*node.children]:
            node.parent.insert_before(child, node)
        node.parent.remove_child(node)
    for box in body.query(".playground, .speak, .tn-widget"):
        words = Element("p", {}, "html")
        words.append_child(Text("이 상자는 사이트에서 움직입니다."))
        box.append_child(words)


def _follow_epub(body):
    """EPUB의 규칙에 맞춥니다. 보이는 것은 달라지지 않습니다."""
    for node in body.query("mtable[scriptlevel]"):
        del node.attrs["scriptlevel"]
    for node in body.query("mfrac[displaystyle]"):
        style = Element(
            "mstyle", {"displaystyle": node.attrs.pop("displaystyle")}, "math"
        )
        node.parent.replace_child(style, node)
        style.append_child(node)
    for node in body.query('svg[role="group"]'):
        del node.attrs["role"]
    for link in body.query("svg a"):
        title = Element("title", {}, "svg")
        title.append_child(Text(link.attrs.get("aria-label") or _words(link)))
        link.insert_before(title, link.children[0])


def _point(leaf, pages, address):
    """링크에 책의 주소를 적습니다. 책에 없는 쪽으로 가는 것은 글로 남깁니다."""
    folder = posixpath.dirname(leaf.page)
    for node in leaf.body.query("a[href]"):
        path, _, anchor = node.attrs["href"].partition("#")
        if ":" in path:
            continue
        beside = posixpath.normpath(posixpath.join(folder, path))
        page = beside.removesuffix(".html") if path else leaf.page
        if page in pages:
            node.attrs["href"] = address(folder, page, anchor)
        else:
            del node.attrs["href"]


def xhtml(node):
    """요소나 글 하나의 XHTML입니다."""
    if node.name.startswith("#"):
        return escape(node.data) if node.name == "#text" else ""
    attributes = "".join(
        f" {name}={quoteattr(value or '')}" for name, value in node.attrs.items()
    )
    if node.name in SPACES:
        attributes += f' xmlns="{SPACES[node.name]}"'
    if node.name in VOID:
        return f"<{node.name}{attributes}/>"
    inside = "".join(map(xhtml, node.children))
    return f"<{node.name}{attributes}>{inside}</{node.name}>"


def render(name, **values):
    """``conf/book``의 틀을 채웁니다."""
    return TEMPLATES.get_template(name).render(values)


def page(title, body, root=""):
    """본문을 담은 XHTML 문서. `root`는 책의 맨 위로 가는 길입니다."""
    return render("page.xhtml", title=title, body=body, root=root)


def contents(leaves, address, *, deep):
    """차례의 XHTML. 묶음마다 장이, `deep`이면 장마다 절도 듭니다."""

    def sections(leaf):
        headings = leaf.body.query("section[id] > h2") if deep else ()
        return [(_words(h), h.parent.attrs["id"]) for h in headings]

    parts = [
        (part, [(leaf, sections(leaf)) for leaf in chapters])
        for part, chapters in itertools.groupby(leaves, key=lambda leaf: leaf.part)
    ]
    return render("contents.xhtml", parts=parts, address=address)


def cover():
    return (
        f'<section class="cover"><img src="cover.svg" alt="{TITLE}. {SUBTITLE}"/>'
        f"<p>{LICENCE}</p></section>"
    )


def materials(leaves):
    """낱장들이 쓰는 파일: 이름마다 그 바이트."""
    static = SITE / "_static"
    faces = re.findall(
        r"(?s)@font-face \{.*?\}", (static / "site.css").read_text("utf-8")
    )
    styles = dict.fromkeys(style for leaf in leaves for style in leaf.styles)
    styles = [NEW_RULE.sub("", style) for style in styles]
    css = "\n".join([*faces, *styles, (OURS / "book.css").read_text("utf-8")])
    files = {"book.css": css.encode()}
    for path in (static / "pygments.css", OURS / "cover.svg"):
        files[path.name] = path.read_bytes()
    for path in sorted(static.glob("fonts/Notes[!A]*")):
        files[f"fonts/{path.name}"] = path.read_bytes()
    images = (image for leaf in leaves for image in leaf.body.query("img"))
    for name in sorted({posixpath.basename(image.attrs["src"]) for image in images}):
        content = (SITE / "_images" / name).read_bytes()
        content = DOCTYPE.sub(b"", content)
        files[f"_images/{name}"] = EMPTY_PATH.sub(b'<path d="" ', content)
    return files
