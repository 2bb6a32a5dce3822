r"""한국어를 위해 Sphinx를 다듬습니다: 독스트링의 조사와 확장의 영어 문구.

reStructuredText는 표시한 말 뒤에 빈칸이나 문장 부호를 바랍니다. 한국어는 조사를 붙여
씁니다. 독스트링의 ``query``와처럼 쓴 곳에 보이지 않는 경계(``\ ``)를 넣어 줍니다.
"""

import re
from pathlib import Path

from sphinx.util import logging

logger = logging.getLogger(__name__)

# 여는 표시와 닫는 표시를 짝지어 지나가도록, 조사가 없는 것도 함께 찾습니다.
_MARKED = re.compile(r"(``[^`]+``|`[^`]+`_{0,2}|\*\*[^*]+\*\*)([가-힣]?)")


def separate_particles(app, what, name, obj, options, lines):
    text = "\n".join(lines)
    text = _MARKED.sub(lambda m: f"{m[1]}\\ {m[2]}" if m[2] else m[1], text)
    lines[:] = text.split("\n")


_SCRIPTS = {
    "copybutton.js": {
        "'copy': 'Copy'": "'copy': '복사'",
        "'Copy to clipboard'": "'클립보드에 복사'",
        "'Copied!'": "'복사했습니다'",
        "'Failed to copy'": "'복사하지 못했습니다'",
    },
    "togglebutton.js": {"Toggle hidden content": "숨긴 내용 열고 닫기"},
}


def translate_scripts(app, exception):
    """한국어가 없는 확장의 스크립트에서, 기본으로 쓰는 영어 문구를 바꿉니다."""
    for name, phrases in _SCRIPTS.items():
        path = Path(app.outdir) / "_static" / name
        if exception or not path.exists():
            continue
        script = path.read_text(encoding="utf-8")
        for english, korean in phrases.items():
            if english not in script:
                logger.warning("%s에 %s이 없어 옮기지 못했습니다", name, english)
            script = script.replace(english, korean)
        path.write_text(script, encoding="utf-8")


def setup(app):
    app.connect("autodoc-process-docstring", separate_particles)
    app.connect("build-finished", translate_scripts)
