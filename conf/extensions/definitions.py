"""용어의 뜻을 쪽마다 적어 두지 않고 파일 하나에 모읍니다.

용어의 링크를 가리키면 ``static/definitions.js``가 그때 이 파일을 읽어 뜻을 보입니다.
"""

import json
import re
from pathlib import Path

_TERM = re.compile(r'(?s)<dt id="(term-\d+)">(.*?)</dt>\s*<dd>(.*?)</dd>')
_LINK = re.compile(r'(?s)<a class="headerlink".*?</a>|</?a\b[^>]*>')


def gather(app, pagename, templatename, context, doctree):
    for anchor, *parts in _TERM.findall(context.get("body", "")):
        app.definitions[anchor] = [_LINK.sub("", part).strip() for part in parts]


def write(app, exception):
    if app.definitions and not exception:
        text = json.dumps(app.definitions, ensure_ascii=False, separators=(",", ":"))
        path = Path(app.outdir, "_static", "definition_texts.js")
        path.write_text(f"notesDefinitions({text});\n", encoding="utf-8")


def switch_on(app):
    """쪽의 글을 보는 사이트에서만. 전자책에는 스크립트가 없습니다."""
    if app.builder.name == "html":
        app.add_js_file("definitions.js", loading_method="defer")
        app.connect("html-page-context", gather)
        app.connect("build-finished", write)


def setup(app):
    app.definitions = {}
    app.connect("builder-inited", switch_on)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
