"""빌드가 페이지마다 확인하는 것: 파이썬, 그림의 설명, 소스를 설명하는 글."""

from collections import Counter

from docutils import nodes
from listings import stale_fragments
from snippets import PYTHON_LANGUAGES, find_snippets, is_doctest
from sphinx.util import logging

logger = logging.getLogger(__name__)


def check_python_runs(app, doctree):
    """페이지가 파이썬으로 보이는 블록과 실행되는 블록을 맞추어 봅니다."""
    text = app.env.doc2path(app.env.docname).read_text("utf-8")
    executed = Counter(_normal(s.source) for s in find_snippets(text))
    for block in doctree.findall(_is_python_block):
        code = _normal(block.astext())
        executed[code] -= 1
        if executed[code] < 0 and not _from_package(block):
            first = code.splitlines()[0]
            logger.warning(
                "아무도 실행하지 않는 파이썬입니다: %s", first, location=block
            )


def _is_python_block(node):
    if not isinstance(node, nodes.literal_block | nodes.doctest_block):
        return False
    if "output" in node["classes"]:
        return False
    language = node.get("language", "").lower()
    return language in PYTHON_LANGUAGES or is_doctest(node.astext())


def _from_package(block):
    """패키지의 소스와 독스트링은 패키지에서, 맞혀 볼 코드는 문제마다 시험합니다."""
    if block.get("definition") or block.get("asked"):
        return True
    while block is not None and not block.source:
        block = block.parent
    return block is not None and ":docstring of transformer_notes" in block.source


def _normal(source):
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def check_alt_text(app, doctree):
    for image in doctree.findall(nodes.image):
        parent = image  # 그림에는 줄 번호가 없을 때가 많습니다. 담은 문단에서 얻습니다.
        while not image.line and (parent := parent.parent) is not None:
            image.source, image.line = parent.source, parent.line
        if not image.get("alt", "").strip():
            logger.warning("그림에 대체 텍스트(alt)가 없습니다", location=image)


def check_prose(app, doctree):
    path = app.env.doc2path(app.env.docname)
    for line, fragment, targets in stale_fragments(path.read_text("utf-8")):
        logger.warning(
            "설명하는 코드가 소스에 없습니다: %s (%s)",
            fragment,
            ", ".join(targets),
            location=f"{path}:{line}",
        )


def unwrap_untitled_sections(app, doctree):
    """sphinx-exercise가 본문을 담는 제목 없는 절을 상자로 바꿉니다.

    절에는 제목이 있다고 보는 확장이 있고, 그 절의 id는 문제마다 같아 한 쪽에 겹칩니다.
    """
    for section in list(doctree.findall(nodes.section)):
        if not any(isinstance(child, nodes.title) for child in section.children):
            section.parent.replace(section, nodes.container("", *section.children))


def setup(app):
    app.connect("doctree-read", unwrap_untitled_sections, priority=400)
    app.connect("doctree-read", check_python_runs)
    app.connect("doctree-read", check_prose)
    app.connect("doctree-read", check_alt_text, priority=100)
