"""테마가 딸려 보내는 것 가운데 이 사이트가 쓰지 않는 것을 뺍니다.

테마의 CSS에는 Bootstrap과 Font Awesome의 규칙이 모두 있어 370 kB입니다. 쪽과 스크립트
어디에도 없는 클래스와 id의 규칙은 걸릴 곳이 없으므로 지웁니다.
"""

import re
import shutil
from pathlib import Path

OURS = Path(__file__).resolve().parents[1] / "static"
#: 아이콘은 static/icons.css가 그립니다.
UNUSED = ["scripts/fontawesome.js*", "vendor", "locales", "**/*.map"]
UNUSED += ["searchtools.js", "language_data.js", "sphinx_highlight.js"]
_ICON_FONT = re.compile(r"(?::is\()?\.fa[bsr]?(?![a-z])|@keyframes fa-|:host,:root")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STATEMENT = re.compile(r"@(?:charset|import)[^;]*;")
_BLOCK = r"\{[^{}]*\}"
for _ in range(2):  # @supports 안의 @media 안의 규칙까지
    _BLOCK = rf"\{{(?:[^{{}}]++|{_BLOCK})*\}}"
_RULE = re.compile(rf"([^{{}}]+)({_BLOCK})")
_COMMA = re.compile(r",(?![^()]*\))")


def purge(css, names):
    """클래스나 id가 `names`에 없는 선택자를 지우고, 빈 규칙도 지웁니다."""
    css = _COMMENT.sub("", css)
    statements = _STATEMENT.findall(css)
    return "".join([*statements, *_kept(_STATEMENT.sub("", css), names)])


def _kept(css, names):
    for head, block in _RULE.findall(css):
        head = head.strip()
        if head.startswith(("@media", "@supports")):
            body = "".join(_kept(block[1:-1], names))
            block = f"{{{body}}}" if body else ""
        elif not head.startswith("@"):
            selectors = (text.strip() for text in _COMMA.split(head))
            head = ",".join(s for s in selectors if _may_apply(s, names))
        if head and block and not _ICON_FONT.match(head) and "Awesome" not in block:
            yield head + block


def _may_apply(selector, names):
    """괄호(``:not(…)``)와 대괄호 안은 보지 않습니다."""
    outside = re.sub(r"\([^()]*\)|\[[^]]*\]", "", selector)
    called = re.findall(r"[.#]((?:[\w-]|\\.)+)", outside)
    return names.issuperset(called) and not _ICON_FONT.match(selector)


def names_in(page):
    """쪽에 있는 클래스와 id, 그리고 쪽의 스크립트에 나오는 모든 낱말."""
    attributes = set(re.findall(r'\s(?:class|id)="([^"]*)"', page))
    scripts = re.findall(r"(?s)<script\b.*?</script>", page)
    return set(" ".join(attributes).split()) | words("".join(scripts))


def words(script):
    return set(re.findall(r"[\w-]+", script))


def slim(app, exception):
    if exception:
        return
    out = Path(app.outdir)
    static = out / "_static"
    for pattern in UNUSED:
        for path in static.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    names = set()
    for path in out.rglob("*.html"):
        names |= names_in(path.read_text("utf-8"))
    for path in [*static.glob("*.js"), *static.glob("scripts/*.js")]:
        names |= words(path.read_text("utf-8"))
    for path in static.rglob("*.css"):
        if not (OURS / path.name).exists():
            path.write_text(purge(path.read_text("utf-8"), names), "utf-8")


def setup(app):
    app.connect("build-finished", slim)
