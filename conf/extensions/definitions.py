"""용어의 뜻을 쪽마다 적어 두지 않고 파일 하나에 모읍니다. 용어집에는 첫소리를 답니다.

용어의 링크를 가리키면 ``static/definitions.js``가 그때 이 파일을 읽어 뜻을 보입니다.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

_TERM = re.compile(r'(?s)<dt id="(term-\d+)">(.*?)</dt>\s*<dd>(<p>.*?</p>)')
_FIRST = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_LINK = re.compile(r'(?s)<a class="headerlink".*?</a>|</?a\b[^>]*>')


def add_letters(app, doctree, docname):
    """용어집의 갈래마다 위에, 첫소리마다 그 소리의 첫 용어로 가는 링크를 둡니다."""
    for glossary in [*doctree.findall(addnodes.glossary)]:
        letters = nodes.paragraph(classes=["letters"])
        for term in glossary.findall(nodes.term):
            place = (ord(term.astext()[0]) - ord("가")) // 588
            letter = _FIRST[place] if 0 <= place < len(_FIRST) else "A"
            if letter not in letters.astext():
                letters += nodes.reference("", letter, refid=term["ids"][0])
                letters += nodes.Text(" ")
        glossary.parent.insert(glossary.parent.index(glossary), letters)


def gather(app, pagename, templatename, context, doctree):
    for anchor, *parts in _TERM.findall(context.get("body", "")):
        app.definitions[anchor] = [_LINK.sub("", part).strip() for part in parts]


def write(app, exception):
    if app.definitions and not exception:
        text = json.dumps(app.definitions, ensure_ascii=False, separators=(",", ":"))
        path = Path(app.outdir, "_static", "definition_texts.js")
        path.write_text(f"notesDefinitions({text});\n", encoding="utf-8")


def setup(app):
    app.definitions = {}
    app.add_js_file("definitions.js", loading_method="defer")
    app.connect("doctree-resolved", add_letters)
    app.connect("html-page-context", gather, priority=900)  # 다 다듬은 쪽에서
    app.connect("build-finished", write)
