"""소스를 설명하는 글의 코드가 그 소스에 있는지 봅니다(``page_checks``).

``definition``에 이어지는 목록은(사이에 문단 하나까지) 방금 보인 소스를 설명합니다.
항목이 코드로 시작하면 그 코드는 보인 소스에 있어야 합니다. 나머지 코드는 부르는 예나
다른 층의 이름일 수 있으므로, 거기에 나오는 이름이 패키지 어딘가에 있으면 됩니다.
"""

import contextlib
import re

from package import modules, read
from source_links import find_definition

_DEFINITION = re.compile(r"(?:```+|:::+)\{definition\} *(\S+)")
_ITEM = re.compile(r"[-*] |\s")
_OTHER = re.compile(r"^(?:#|```|:::|\||\(.*\)=$)", re.MULTILINE)
# 역할({src}`…`)은 코드가 아니므로 먼저 지나갑니다.
_LITERAL = re.compile(r"\{[^}`]+\}`[^`]*`|(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_TOKEN = re.compile(r"\w+|[^\w\s]")


def stale_fragments(text):
    """목록에 있으나 소스에는 없는 코드의 (줄 번호, 코드, 정의들)을 차례로 냅니다.

    빈칸과 줄바꿈은 따지지 않고 ``...``은 무엇이든 뜻합니다. 정의의 이름도 됩니다.
    """
    targets, last = [], None
    for first, block in _blocks(text):
        if found := _DEFINITION.match(block):
            targets = [*(targets if last == "definition" else []), found[1]]
            last = "definition"
        elif targets and _ITEM.match(block):
            last = "item"
            shown = _shown(targets)
            for number, line in enumerate(block.split("\n"), first):
                for match in _LITERAL.finditer(line):
                    if match[1] in {"`", "``"}:
                        starts = line[: match.start()] in {"- ", "* "}
                        if not _occurs(match[2], shown, anywhere=not starts):
                            yield number, match[2], targets
        elif last == "definition" and not _OTHER.search(block):
            last = "paragraph"
        else:
            targets, last = [], None


def _blocks(text):
    """빈 줄로 나뉜 덩이와 그 첫 줄의 번호입니다."""
    for block in re.finditer(r"(?:^.*\S.*$\n?)+", text, re.MULTILINE):
        yield text.count("\n", 0, block.start()) + 1, block[0].rstrip("\n")


def _shown(targets):
    """보인 소스와 정의의 이름입니다. 없는 정의는 definition 지시자가 알립니다."""
    shown = list(targets)
    for target in targets:
        with contextlib.suppress(LookupError):
            path, first, last = find_definition(target)
            shown += read(path).splitlines()[first - 1 : last]
    return _tokens("\n".join(shown))


def _tokens(code):
    return f" {' '.join(_TOKEN.findall(code))} "


def _occurs(fragment, shown, anywhere):
    pieces = [piece for piece in re.split(r"\.\.\.|…", fragment) if piece.strip()]
    if all(_tokens(piece) in shown for piece in pieces):
        return True
    if re.search(r"\s[-+*/@|&]?=\s", fragment):  # 대입문은 쓰는 보기가 아닙니다
        return False
    unquoted = re.sub(r"\".*?\"|'.*?'", "", fragment)
    names = set(re.findall(r"[^\W\d]\w*", unquoted))
    package = "\n".join(read(path) for path in modules().values())
    return anywhere and names <= set(re.findall(r"\w+", package))
