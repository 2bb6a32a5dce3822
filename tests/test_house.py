"""집의 질서: 강의의 순서를 거슬러 가져오지 않고, 방은 작고, 속 이름은 속에 있다."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "transformer_notes"
PATHS = sorted(PACKAGE.rglob("*.py"))


def module_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path):
    """가져오는 패키지 모듈의 첫 이름과, 가져온 이름들."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            top, _, module = (node.module or "").partition(".")
            if top == PACKAGE.name:
                for alias in node.names:
                    yield module or alias.name, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                top, _, module = alias.name.partition(".")
                if top == PACKAGE.name and module:
                    yield module, module


def lectures():
    """차례에 적힌 강의의 순서."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    return re.findall(r"^lectures/(\w+)$", index, re.MULTILINE)


def rooms():
    """맨 위의 모듈과 폴더마다, 그것이 가져오는 맨 위의 이름들."""
    found = {}
    for path in PATHS:
        here = module_of(path).partition(".")[0]
        used = {module.partition(".")[0] for module, _ in imports(path)}
        found[here] = found.get(here, set()) | used - {here}
    return found


def reached(name, found):
    """그 이름과, 그것이 가져오는 것, 그것이 다시 가져오는 것 모두."""
    seen, waiting = set(), {name}
    while waiting:
        here = waiting.pop()
        seen.add(here)
        waiting |= found[here] - seen
    return seen


def test_no_import_runs_back_up_the_order_of_the_lectures():
    found, order = rooms(), lectures()
    assert len(order) > 15
    for place, lecture in enumerate(order):
        if lecture not in found:
            continue
        later = reached(lecture, found) & set(order[place + 1 :])
        assert not later, f"{lecture}이(가) 뒤에 나오는 {later}을(를) 가져옵니다"


def test_no_lecture_imports_a_room_of_another_purpose():
    """쓰임새의 폴더(명령줄, 그림, 모델)는 강의를 알고, 강의는 그것을 모릅니다."""
    found, order = rooms(), set(lectures())
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    for lecture in order & found.keys():
        used = reached(lecture, found) & folders - order
        assert not used, f"{lecture}이(가) {used}을(를) 가져옵니다"


def test_what_stands_at_the_top_is_a_page_or_serves_a_lecture():
    found = rooms()
    pages = {path.stem for path in (ROOT / "docs").glob("*/*.[mr][ds]*")}
    serves = set().union(*(reached(name, found) for name in pages & found.keys()))
    alone = {path.stem for path in PACKAGE.glob("[!_]*.py")} - pages - serves
    assert not alone, f"강의도 아니고 강의가 쓰지도 않는 모듈: {alone}"


def test_the_package_the_corpora_and_the_checker_import_no_tensorflow():
    """글을 읽고 받는 일에도, 검사기의 이름을 보는 일에도 TensorFlow가 필요 없습니다."""
    script = (
        "import sys, transformer_notes.corpora as c, transformer_notes.checker as k"
    )
    script += "; sys.exit('tensorflow' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def private_names(path):
    """다른 모듈의 것이면서 ``_``로 시작하는 이름들. 맨 위의 도우미는 세지 않습니다."""
    modules = {alias for _, alias in imports(path)}
    for name in modules:
        last = name.rpartition(".")[2]
        if last.startswith("_") and not (PACKAGE / f"{last}.py").exists():
            yield name
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules and node.attr.startswith("_"):
                yield f"{node.value.id}.{node.attr}"


def test_no_private_name_crosses_modules():
    found = {module_of(path): [*private_names(path)] for path in PATHS}
    assert {module: names for module, names in found.items() if names} == {}


def test_lectures_show_only_public_names():
    shown = re.compile(r"(?:\{definition\} |definition:: |\{src\}`|:src:`)([\w.]+)")
    for page in (ROOT / "docs").rglob("*.[mr][ds]*"):
        for target in shown.findall(page.read_text(encoding="utf-8")):
            private = [
                part for part in target.split(".")[1:] if re.match(r"_[a-z]", part)
            ]
            assert not private, f"{page.name}: {target}"


def test_every_public_module_is_in_the_api():
    """명령줄과 연습문제의 뼈대, 검사기와 위젯의 안쪽은 공개하지 않습니다."""
    inner = ("cli", "exercises", "checker.", "figures.widgets.")
    names = {module_of(path) for path in PATHS} - {""}
    public = {name for name in names if not name.startswith((*inner, "_"))}
    pages = (ROOT / "docs" / "reference" / "api").glob("*.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert {*re.findall(r"automodule:: transformer_notes\.(\S+)", text)} == public
