"""패키지의 모듈을 찾습니다. 가져오지 않고 파일과 구문만 읽습니다.

모듈의 이름은 패키지 아래에서 점으로 이은 것입니다(``corpora.dates``). 폴더의 이름은 그
폴더의 ``__init__``을, 빈 이름은 패키지 자신을 뜻합니다.
"""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "transformer_notes"


def modules():
    """모듈의 이름마다 그 파일입니다."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        found[".".join(parts)] = path
    return found


def read(path):
    return path.read_text(encoding="utf-8")


def shown(path):
    """패키지 아래의 경로입니다."""
    return path.relative_to(PACKAGE).as_posix()


def folder_of(path):
    """파일이 든 폴더를 점으로 이은 이름입니다."""
    return ".".join(path.relative_to(PACKAGE).parts[:-1])


def split(target, known):
    """점으로 이은 이름을 가장 긴 모듈의 이름과 그 안의 이름으로 나눕니다.

    모듈이 하나도 맞지 않으면 모듈은 빈 이름, 곧 패키지 자신입니다.
    """
    module = target
    while module and module not in known:
        module = module.rpartition(".")[0]
    return module, target[len(module) :].lstrip(".")


@functools.cache
def imports(source, folder=""):
    """소스가 패키지에서 가져오는 것의 (소스가 부르는 이름, 점으로 이은 원래 이름).

    함수 안에서 가져오는 것도 셉니다. ``folder``는 소스가 든 폴더로, 상대 경로로 가져온
    것을 찾는 데에 씁니다. 읽지 못하는 소스는 `SyntaxError`를 냅니다.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            base = []
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            if node.level:
                folders = [PACKAGE.name, *filter(None, folder.split("."))]
                base = folders[: len(folders) + 1 - node.level] + base
        else:
            continue
        for alias in node.names:
            top, _, name = ".".join([*base, alias.name]).partition(".")
            if top == PACKAGE.name:
                found.append((alias.asname or alias.name, name))
    return found


@functools.cache
def definitions(source):
    """정의하는 이름마다 (첫 줄, 끝 줄). 클래스 안의 것은 점으로 잇습니다."""
    found = {}

    def visit(body, prefix):
        for node in body:
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                    found[prefix + name] = start, node.end_lineno
                    visit(node.body, f"{prefix}{name}.")
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name))
                ):
                    found[prefix + name] = node.lineno, node.end_lineno

    visit(ast.parse(source).body, "")
    return found


def origin(target):
    """다른 모듈에서 가져와 내놓는 이름이면, 그것을 정의한 모듈에서의 이름입니다."""
    known = modules()
    module, name = split(target, known)
    first, _, rest = name.partition(".")
    if module and first and first not in definitions(read(known[module])):
        for bound, original in imports(read(known[module]), folder_of(known[module])):
            if bound == first:
                return origin(f"{original}.{rest}".rstrip("."))
    return target


def dependencies(sources):
    """소스들이 가져오는 모듈과, 그 모듈이 다시 가져오는 모듈의 이름마다 그 파일입니다.

    폴더를 가져오면 그 아래의 모듈을 모두 셉니다. ``__init__``이 무엇을 언제 내놓는지
    따지지 않으려는 것입니다. 그래서 패키지의 이름만 가져오면 모든 모듈입니다.
    """
    known = modules()
    found, waiting = set(), set()
    for source in sources:
        waiting |= _reached(source, "", known)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= _reached(read(known[name]), folder_of(known[name]), known)
    return {name: known[name] for name in sorted(found)}


def _reached(source, folder, known):
    try:
        targets = [target for _, target in imports(source, folder)]
    except SyntaxError:  # 매직이나 잘못된 셀
        targets = [""] if PACKAGE.name in source else []
    reached = set()
    for target in targets:
        module, _ = split(target, known)
        if known[module].name == "__init__.py":
            inside = f"{module}." if module else ""
            reached |= {name for name in known if name.startswith(inside)}
        while module:  # 모듈을 가져오면 위에 있는 폴더의 __init__도 실행됩니다
            reached |= {module} & known.keys()
            module = module.rpartition(".")[0]
        reached.add("")
    return reached
