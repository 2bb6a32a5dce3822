"""연습문제의 뼈대. 파일 하나가 `transformer_notes.checker.check`의 종류 하나입니다.

뼈대는 이름과 인자와 모양만 적고 몸통을 비워 둔 코드입니다. 명령 `exercise`가 옮겨 적고,
명령 `check`가 채운 것을 확인합니다. 강의는 이 파일을 그대로 보입니다.
"""

import ast
from pathlib import Path

from transformer_notes import _arguments

FOLDER = Path(__file__).parent


def kinds():
    """종류의 이름을 차례로 돌려줍니다.

    Examples:
        >>> kinds()[:3]
        ['accuracy', 'add_norm', 'attention']
    """
    return sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


def skeleton(kind):
    """뼈대의 글을 돌려줍니다.

    Args:
        kind: `kinds`에 있는 이름.

    Raises:
        ValueError: 없는 종류.
    """
    _arguments.choice("kind", kind, kinds())
    return (FOLDER / f"{kind}.py").read_text(encoding="utf-8")


def title(kind):
    """무엇을 쓰는 연습문제인지 한 줄로 돌려줍니다.

    Examples:
        >>> title("look_ahead_mask")
        '룩어헤드 마스크 (논문 3.2.3절)'
    """
    return ast.get_docstring(ast.parse(skeleton(kind))).partition("\n")[0].rstrip(".")


def name(kind):
    """채울 함수나 층의 이름을 돌려줍니다.

    Examples:
        >>> name("feed_forward")
        'FeedForward'
    """
    defined = ast.FunctionDef | ast.ClassDef
    body = ast.parse(skeleton(kind)).body
    return next(node.name for node in body if isinstance(node, defined))
