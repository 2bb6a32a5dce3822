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
from later import Later, need
from sphinx.util.docutils import SphinxDirective

BOX = """
**맞혀 보기: {title}**

{ask}

{code}

{answers}

<details><summary>답과 까닭</summary>

{reasons}

</details>
"""


def read(env, page):
    """쪽의 문제들. 문제가 없는 쪽이면 비어 있습니다."""
    path = Path(env.srcdir, "cards", f"{_name(page)}.toml")
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def depend(env, pattern):
    """문제를 고치면 쪽을 다시 씁니다."""
    for path in Path(env.srcdir, "cards").glob(pattern):
        env.note_dependency(str(path))


def _name(page):
    return page.removeprefix("lectures/")


def _id(page, name):
    return f"card-{_name(page)}-{name}"


class Ask(SphinxDirective):
    required_arguments = 1

    def run(self):
        (name,), page = self.arguments, self.env.docname
        card = read(self.env, page).get(name)
        if card is None:
            raise self.error(f"없는 문제입니다: {name}")
        depend(self.env, f"{_name(page)}.toml")
        need(self.env, "cards.css", "cards.js")
        right, *_ = card["answers"]
        mixed = sorted(card["answers"], key=lambda one: zlib.crc32(one[0].encode()))
        verdicts = ["맞습니다" if one is right else "아닙니다" for one in mixed]
        reasons = [f"**{v}.** {one[2]}" for v, one in zip(verdicts, mixed, strict=True)]
        text = BOX.format(
            title=card["title"],
            ask=card["ask"],
            code=f"```python\n{card['code']}```" if "code" in card else "",
            answers="\n".join(f"1. {text}" for text, *_ in mixed),
            reasons="\n".join(f"1. {reason}" for reason in reasons),
        )
        inside = self.parse_text_to_nodes(text)
        box = nodes.container("", *inside, classes=["ask"], ids=[_id(page, name)])
        box["unread"] = True  # 맞혀 보는 시간은 읽는 시간에 넣지 않습니다
        for block in box.findall(nodes.literal_block):
            block["asked"] = True  # 시험이 실행합니다
        return [box]


class Asked(SphinxDirective):
    def run(self):
        depend(self.env, "*.toml")
        need(self.env, "cards.css", "cards.js")
        return [Later(fill=every_card)]


def every_card(app, docname, place):
    groups = []
    for page, *_ in app.env.chapters:
        address = app.builder.get_relative_uri(docname, page)
        items = "".join(
            f'<li><a href="{address}#{_id(page, name)}">'
            f"{html.escape(card['title'])}</a></li>"
            for name, card in read(app.env, page).items()
        )
        if items:
            title = html.escape(app.env.titles[page].astext())
            groups.append(f"<li>{title}<ul>{items}</ul></li>")
    drawn = f'<ul class="asked">{"".join(groups)}</ul>'
    return nodes.raw("", drawn, format="html")


def setup(app):
    app.add_directive("ask", Ask)
    app.add_directive("asked", Asked)
    return {"env_version": 2}
