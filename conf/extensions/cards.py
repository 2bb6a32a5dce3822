"""먼저 맞혀 보는 문제: 지시자 ``ask``와, 모든 문제의 목록 ``asked``.

``{ask} leak``은 ``docs/cards/<쪽의 이름>.toml``의 ``leak``을 놓습니다. 답 넷은 저마다
[글, 식, 까닭]이고 첫째가 옳습니다. ``code``는 보이는 코드, ``check``는 보이지 않는
코드이고, 식은 그 뒤에 시험이 셈합니다(``tests/test_cards.py``). 쪽에는 답을 섞어 놓고
까닭을 접어 둡니다. 고르고 적어 두는 일은 ``static/cards.js``가 합니다.
"""

import html
import tomllib
import zlib
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FOLD = "<details><summary>답과 까닭</summary>", "</details>"
LECTURES = "lectures/"


def read(env, page):
    """쪽의 문제들. 문제가 없는 쪽이면 비어 있습니다."""
    path = Path(env.srcdir, "cards", f"{page.removeprefix(LECTURES)}.toml")
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def depend(env, pattern):
    """문제를 고치면 쪽을 다시 씁니다."""
    for path in Path(env.srcdir, "cards").glob(pattern):
        env.note_dependency(str(path))


class Ask(SphinxDirective):
    required_arguments = 1

    def run(self):
        (name,), page = self.arguments, self.env.docname
        card = read(self.env, page).get(name)
        if card is None:
            raise self.error(f"없는 문제입니다: {name}")
        depend(self.env, f"{page.removeprefix(LECTURES)}.toml")
        self.env.metadata[page]["cards"] = True
        right, *_ = card["answers"]
        mixed = sorted(card["answers"], key=lambda one: zlib.crc32(one[0].encode()))
        code = f"\n\n```python\n{card['code']}```" if "code" in card else ""
        opening, closing = (nodes.raw("", tag, format="html") for tag in FOLD)
        box = nodes.container(
            "",
            *self.parse_text_to_nodes(
                f"**맞혀 보기: {card['title']}**\n\n{card['ask']}{code}"
            ),
            *self.parse_text_to_nodes("\n".join(f"1. {text}" for text, *_ in mixed)),
            opening,
            *self.parse_text_to_nodes(
                "\n".join(
                    f"1. **{'맞습니다' if one is right else '아닙니다'}.** {one[2]}"
                    for one in mixed
                )
            ),
            closing,
            classes=["ask"],
            ids=[card_id(page, name)],
        )
        box["unread"] = True  # 맞혀 보는 시간은 읽는 시간에 넣지 않습니다
        for block in box.findall(nodes.literal_block):
            block["asked"] = True  # 시험이 실행합니다
        return [box]


def card_id(page, name):
    return f"card-{page.removeprefix(LECTURES)}-{name}"


class asked(nodes.General, nodes.Element):
    """모든 문제의 목록이 놓일 자리입니다. 차례를 알게 된 뒤에 채웁니다."""


class Asked(SphinxDirective):
    def run(self):
        self.env.metadata[self.env.docname]["cards"] = True
        depend(self.env, "*.toml")
        return [asked()]


def fill(app, doctree, docname):
    for place in list(doctree.findall(asked)):
        groups = []
        for page, *_ in app.env.chapters:
            address = app.builder.get_relative_uri(docname, page)
            items = "".join(
                f'<li><a href="{address}#{card_id(page, name)}">'
                f"{html.escape(card['title'])}</a></li>"
                for name, card in read(app.env, page).items()
            )
            if items:
                title = html.escape(app.env.titles[page].astext())
                groups.append(f"<li>{title}<ul>{items}</ul></li>")
        drawn = f'<ul class="asked">{"".join(groups)}</ul>'
        place.replace_self(nodes.raw("", drawn, format="html"))


def add_scripts(app, pagename, templatename, context, doctree):
    shown = "cards" in app.env.metadata.get(pagename, {})
    if shown and app.builder.format == "html":
        app.add_css_file("cards.css")
        app.add_js_file("cards.js", loading_method="defer")


def setup(app):
    app.add_node(asked)
    app.add_directive("ask", Ask)
    app.add_directive("asked", Asked)
    app.connect("doctree-resolved", fill)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}
