"""집의 질서: 강의의 순서를 거슬러 가져오지 않고, 방은 작고, 속 이름은 속에 있다."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "transformer_notes"
PATHS = sorted(PACKAGE.rglob("*.py"))
#: 어느 강의도 이름을 따오지 않은 도우미. 이것들은 강의보다 먼저 있습니다.
HELPERS = {"checks", "files", "keras_mask", "softmax"}
#: 강의를 위한 도우미와, 그것을 앞문으로 내놓는 강의.
BESIDE = {
    "normalization": "tokenization",
    "config": "encoder",
    "generation": "decoding",
    "losses": "training",
    "schedules": "training",
    "batches": "training",
    "checkpoints": "training",
    "variants": "since_2017",
}
#: 강의가 아니라 쓰임새의 방. 무엇이든 가져와도 되지만 강의는 이것을 가져오지 않습니다.
USES = {
    "checker",
    "classification",
    "cli",
    "corpora",
    "downloads",
    "exercises",
    "models",
    "plotting",
    "results",
    "schematics",
    "widgets",
}


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


def test_no_import_runs_back_up_the_order_of_the_lectures():
    order = {name: place for place, name in enumerate(lectures())}
    assert len(order) > 15

    def place(module):
        top = module.partition(".")[0]
        if top in HELPERS:
            return -1
        if top in USES:
            return len(order)
        # 도우미는 제 강의의 바로 앞에 있습니다.
        return order[top] if top in order else order[BESIDE[top]] - 0.5

    for path in PATHS:
        here = module_of(path)
        if not here or here.partition(".")[0] in USES:
            continue
        for module, _ in imports(path):
            together = BESIDE.get(here, here) == BESIDE.get(module)
            together |= here.partition(".")[0] == module.partition(".")[0]  # 한 방
            assert together or place(module) < place(here), (
                f"{here}이(가) 뒤에 나오는 {module}을(를) 가져옵니다"
            )


@pytest.mark.parametrize("path", PATHS, ids=module_of)
def test_no_module_is_longer_than_400_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", PATHS, ids=module_of)
def test_no_private_name_crosses_modules(path):
    modules = {alias for _, alias in imports(path)}
    for _, name in imports(path):
        assert not name.rpartition(".")[2].startswith("_"), name
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules:
                assert not node.attr.startswith("_"), f"{node.value.id}.{node.attr}"


def test_lectures_show_only_public_names():
    shown = re.compile(r"(?:\{definition\} |definition:: |\{src\}`|:src:`)([\w.]+)")
    for page in (ROOT / "docs").rglob("*.[mr][ds]*"):
        for target in shown.findall(page.read_text(encoding="utf-8")):
            private = [part for part in target.split(".") if re.match(r"_[a-z]", part)]
            assert not private, f"{page.name}: {target}"


def test_every_lecture_that_has_a_module_shares_its_name():
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    known = set(lectures()) | HELPERS | set(BESIDE) | USES
    assert modules <= known, modules - known


def test_importing_the_package_makes_no_import_of_tensorflow():
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    assert not [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import)]
