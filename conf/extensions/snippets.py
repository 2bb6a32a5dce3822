"""무엇이 페이지에서 실행되는 파이썬인가: Sybil과 빌드가 함께 쓰는 하나의 답.

페이지의 파이썬 블록은 세 가지입니다.

- cell: ``code-cell``. 빌드와 pytest가 모두 실행합니다.
- doctest: ``>>>``로 시작하는 블록. pytest가 실행하고 출력을 비교합니다.
- unrun: 둘 다 아닌 파이썬. 아무도 실행하지 않으므로 오류입니다.
"""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.directives import parse_directive_text
from myst_parser.parsers.mdit import create_md_parser

MYST_EXTENSIONS = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist"]
PYTHON_LANGUAGES = {
    "python", "python3", "py", "py3", "pycon", "ipython", "ipython3", "pyi", "default",
}  # fmt: skip
CODE_DIRECTIVES = {"code-block", "sourcecode", "code", "parsed-literal"}
CELL_DIRECTIVES = {"code-cell"}
DOCTEST_DIRECTIVES = {"doctest", "testcode", "ipython", "plot", "jupyter-execute"}
#: 내용이 마크다운이 아닌 지시자. 안을 들여다보지 않습니다.
OPAQUE_DIRECTIVES = {
    "math",
    "raw",
    "bibliography",
    "toctree",
    "glue",
    "figure",
    "image",
}


@dataclass(frozen=True)
class Snippet:
    """페이지에 있는 파이썬 블록 하나.

    ``line``은 ``source`` 첫 줄의 파일 안 줄 번호(1부터)입니다. ``problem``은 unrun인
    블록이 왜 실행되지 않는지를 말합니다.
    """

    kind: str
    source: str
    line: int
    tags: frozenset = frozenset()
    options: tuple = ()
    problem: str = ""


def find_snippets(path, text=None):
    """페이지 하나의 파이썬 블록을 나오는 순서대로 돌려줍니다."""
    text = Path(path).read_text(encoding="utf-8") if text is None else text
    found = _in_rst(text, 1) if Path(path).suffix == ".rst" else _in_myst(text, 1)
    return sorted(found, key=lambda snippet: snippet.line)


def is_doctest(source):
    return re.search(r"^\s*>>> ", source, re.MULTILINE) is not None


# --- MyST ---------------------------------------------------------------------------


def _in_myst(text, first_line, nested=False):
    config = MdParserConfig(
        enable_extensions=set(MYST_EXTENSIONS), disable_syntax=["inline"]
    )
    depth = 0
    for token in create_md_parser(config, RendererHTML).parse(text + "\n"):
        depth += token.nesting
        if token.type not in {"fence", "colon_fence"}:
            continue
        line = first_line + token.map[0] + 1
        info = token.info.strip()
        directive = re.match(r"\{([^}]+)\}\s*(\S*)", info)
        if directive is None:
            language = info.split()[0].lower() if info else ""
            yield from _classify(language, token.content, line)
            continue
        name, argument = directive[1].lower(), directive[2].lower()
        result = parse_directive_text(
            _AnyDirective, "", token.content, validate_options=False
        )
        body, line = "\n".join(result.body), line + result.body_offset
        if name in CELL_DIRECTIVES:
            if nested or depth or token.type == "colon_fence":
                problem = (
                    "code-cell은 ```로 열고, 다른 지시자나 목록 밖에 두어야 합니다"
                )
                yield Snippet("unrun", body, line, problem=problem)
            else:
                options = result.options
                yield Snippet("cell", body, line, _tags(options.get("tags")))
        elif name in CODE_DIRECTIVES | DOCTEST_DIRECTIVES:
            language = "python" if name in DOCTEST_DIRECTIVES else argument
            yield from _classify(language, body, line)
        elif name == "eval-rst":
            yield from _in_rst(body, line, cells=False)
        elif name.partition(":")[0] not in OPAQUE_DIRECTIVES:
            yield from _in_myst(body, line, nested=True)


class _AnyDirective:
    """선택 사항의 이름을 가리지 않고 머리와 몸을 나누게 하는 자리표입니다."""

    option_spec = {"any": True}
    required_arguments = 0
    optional_arguments = 1
    has_content = True


# --- reStructuredText ---------------------------------------------------------------

_RST_DIRECTIVE = re.compile(
    r"^(?P<indent>\s*)\.\. (?P<name>[\w:-]+)::(?: +(?P<arg>.*))?$"
)


def _in_rst(text, first_line, cells=True):
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        match = _RST_DIRECTIVE.match(lines[index])
        if (
            match
            and match["name"] in CELL_DIRECTIVES | CODE_DIRECTIVES | DOCTEST_DIRECTIVES
        ):
            start, end = _indented_body(lines, index, len(match["indent"]))
            options, start = _rst_options(lines, start, end)
            body = textwrap.dedent("\n".join(lines[start:end])).rstrip("\n")
            line = first_line + start
            if match["name"] in CELL_DIRECTIVES and cells:
                tags = _tags(options.get("tags"))
                yield Snippet("cell", body, line, tags, tuple(sorted(options.items())))
            elif match["name"] in CELL_DIRECTIVES:
                problem = "eval-rst 안의 code-cell은 실행되지 않습니다"
                yield Snippet("unrun", body, line, problem=problem)
            else:
                argument = (match["arg"] or "").strip().lower()
                python = match["name"] in DOCTEST_DIRECTIVES
                yield from _classify("python" if python else argument, body, line)
            index = end
        elif lines[index].lstrip().startswith(">>> "):
            end = index
            while end < len(lines) and lines[end].strip():
                end += 1
            body = textwrap.dedent("\n".join(lines[index:end]))
            yield Snippet("doctest", body, first_line + index)
            index = end
        else:
            index += 1


def _indented_body(lines, index, indent):
    """지시자 줄 아래, 더 깊이 들여 쓴 줄의 범위입니다."""
    end = index + 1
    while end < len(lines) and (
        not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent
    ):
        end += 1
    return index + 1, end


def _rst_options(lines, start, end):
    options = {}
    while start < end and (match := re.match(r"^\s+:([\w-]+):\s*(.*)$", lines[start])):
        options[match[1]] = match[2]
        start += 1
        while (
            start < end and lines[start].strip() and not lines[start].lstrip()[0] == ":"
        ):
            options[match[1]] += " " + lines[start].strip()  # 이어지는 줄
            start += 1
    while start < end and not lines[start].strip():
        start += 1
    return options, start


# --- 함께 쓰는 것 --------------------------------------------------------------------


def _classify(language, source, line):
    if is_doctest(source) and language in PYTHON_LANGUAGES | {"", "none", "text"}:
        yield Snippet("doctest", source, line)
    elif language in PYTHON_LANGUAGES:
        problem = "파이썬 블록인데 code-cell도 >>>도 아니어서 아무도 실행하지 않습니다"
        yield Snippet("unrun", source, line, problem=problem)


def _tags(value):
    if isinstance(value, str):
        value = re.split(r"[\s,]+", value.strip("[] "))
    return frozenset(tag for tag in value or () if tag)
