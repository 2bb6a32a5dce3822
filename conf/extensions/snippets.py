"""무엇이 페이지에서 실행되는 파이썬인가: Sybil과 빌드가 함께 쓰는 하나의 답.

- cell: ``code-cell``. 빌드와 pytest가 모두 실행합니다.
- doctest: ``>>>``로 시작하는 블록. pytest가 실행하고 출력을 비교합니다.

페이지가 파이썬으로 보이는 다른 블록은 아무도 실행하지 않으므로, 빌드가 오류로
알립니다(``page_checks``).
"""

import re
from dataclasses import dataclass

from sybil import Document
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer
from sybil.parsers.myst.lexers import DirectiveLexer

MYST_EXTENSIONS = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist"]
PYTHON_LANGUAGES = {
    "python", "python3", "py", "py3", "pycon", "ipython", "ipython3", "pyi", "default",
}  # fmt: skip

_CELLS = DirectiveLexer("code-cell")
_FENCES = FencedCodeBlockLexer("pycon|python")


@dataclass(frozen=True)
class Snippet:
    """페이지에 있는 파이썬 블록 하나. ``line``은 첫 줄의 파일 안 줄 번호입니다."""

    kind: str
    source: str
    line: int
    tags: frozenset = frozenset()


def find_snippets(text):
    """페이지 하나의 실행되는 블록을 나오는 순서대로 돌려줍니다."""
    document, found = Document(text, ""), []
    for kind, lexer in (("cell", _CELLS), ("doctest", _FENCES)):
        for region in lexer(document):
            source = region.lexemes["source"]
            options = region.lexemes.get("options", {})
            line = text.count("\n", 0, region.start + source.offset) + 1
            if kind == "cell" or is_doctest(source):
                # 머리의 YAML에 적은 것은 글이 아니라 목록입니다.
                tags = frozenset(re.findall(r"[\w-]+", str(options.get("tags", ""))))
                found.append(Snippet(kind, source.rstrip("\n"), line, tags))
    return sorted(found, key=lambda snippet: snippet.line)


def is_doctest(source):
    return re.search(r"^\s*>>> ", source, re.MULTILINE) is not None
