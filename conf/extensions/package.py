"""패키지의 모듈을 찾습니다. 가져오지 않고 파일과 구문만 읽습니다."""

import ast
import functools
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "transformer_notes"


def modules():
    """모듈의 이름마다 그 파일입니다. 폴더의 이름은 그 폴더의 ``__init__``입니다."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def read(path):
    return path.read_text(encoding="utf-8")


def shown(path):
    """패키지 아래의 경로입니다."""
    return path.relative_to(PACKAGE).as_posix()


def split(target, known):
    """점으로 이은 이름을 가장 긴 모듈의 이름과 그 안의 이름으로 나눕니다."""
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
        match node:
            case ast.Import(names=names):
                found += [(alias.asname or alias.name, alias.name) for alias in names]
            case ast.ImportFrom(names=names, module=module, level=level):
                base = resolve_name("." * level + (module or ""), folder)
                found += [(a.asname or a.name, f"{base}.{a.name}") for a in names]
    return [pair for pair in found if pair[1].partition(".")[0] == PACKAGE.name]


def imports_of(path):
    folder = ".".join(path.relative_to(PACKAGE.parent).parts[:-1])
    return imports(read(path), folder)


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
    first, dot, rest = name.partition(".")
    if module and first and first not in definitions(read(known[module])):
        for bound, original in imports_of(known[module]):
            if bound == first:
                return origin(f"{original}{dot}{rest}")
    return target


def dependencies(sources):
    """소스들이 가져오는 모듈과, 그 모듈이 다시 가져오는 모듈의 이름마다 그 파일입니다.

    모듈을 가져오면 그 위에 있는 폴더의 ``__init__``도 실행됩니다. 폴더를 가져오면 그
    아래의 모듈을 모두 셉니다. ``__init__``이 무엇을 언제 내놓는지 따지지 않으려는
    것입니다. 그래서 패키지의 이름만 가져오면 모든 모듈입니다.
    """
    known, found, waiting = modules(), set(), []
    for source in sources:
        try:
            waiting += [target for _, target in imports(source)]
        except SyntaxError:  # 매직이나 잘못된 셀
            waiting += [PACKAGE.name] * (PACKAGE.name in source)
    while waiting:
        module, _ = split(waiting.pop(), known)
        for name in known.keys() - found:
            if f"{name}.".startswith(f"{module}.") or module.startswith(f"{name}."):
                found.add(name)
                waiting += [target for _, target in imports_of(known[name])]
    return {name: known[name] for name in sorted(found)}
