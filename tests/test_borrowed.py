"""다른 패키지가 공개하지 않은 이름은 모두 이 표에 있고, 저마다 지키는 시험이 있다."""

import ast
import importlib
import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [*sorted((ROOT / "conf").rglob("*.py")), ROOT / "docs" / "conftest.py"]
OURS = {path.stem for path in SOURCES} | {"transformer_notes"}

#: 패키지와 고정한 버전, 빌린 이름, 그 이름의 뜻이 바뀌면 실패하는 시험입니다.
BORROWED = [
    (
        "myst-nb==1.4.0",
        "myst_nb.core.read.read_myst_markdown_notebook",
        "test_execution.py::test_the_key_ignores_prose_and_sees_cells_and_tags",
    ),
    (
        "myst-parser==5.2.0",
        "myst_parser.config.main.MdParserConfig",
        "test_execution.py::test_the_key_ignores_prose_and_sees_cells_and_tags",
    ),
    (
        "sphinx==9.0.4",
        "sphinx.environment.collectors.toctree.TocTreeCollector",
        "test_navigation.py::test_numbers_go_on_through_the_book_and_begin_with_the_chapter",
    ),
    (
        "fonttools==4.68.0",
        "fontTools.ttLib.TTFont",
        "test_fonts.py::test_every_letter_of_the_site_is_in_a_font",
    ),
    (
        "ipykernel==7.4.0",
        "ipykernel.kernelapp.IPKernelApp",
        "test_execution.py::test_two_executions_give_the_same_bytes",
    ),
    (
        "pybtex==0.26.1",
        "pybtex.backends.markdown.Backend",
        "test_take_along.py::test_the_page_becomes_words_and_cells",
    ),
    (
        "tensorflow==2.21.0",
        "tensorflow.python.framework.config.disable_op_determinism",
        "test_snippets.py::test_pytest_runs_each_block_and_leaves_no_trace_between_pages",
    ),
]
#: 아래 모듈은 그 패키지의 문서가 쓰라고 적어 둔 곳입니다.
PUBLIC = r"""
    (docutils|sybil)\..* | jupyter_cache\.base | jupyter_client\.provisioning
    | markdown_it\.renderer | nbclient\.exceptions | nbformat\.v4 | playwright\.sync_api
    | pygments\.(formatters|lexers) | sphinx\.util(\.docutils)?
"""


def hidden(module):
    """바깥 패키지의, 문서에 없는 모듈인가."""
    top = module.partition(".")[0]
    if top in OURS | sys.stdlib_module_names or "." not in module:
        return False
    return not re.fullmatch(PUBLIC, module, re.VERBOSE)


def borrowed_in(source):
    """소스가 쓰는, 바깥 패키지가 공개하지 않은 이름들입니다."""
    tree, imported, modules, names = ast.parse(source), set(), {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if hidden(alias.name):
                    imported.add(alias.name)
                    modules[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = node.module, alias.name
                if hidden(node.module) or alias.name.startswith("_"):
                    imported.add(f"{node.module}.{alias.name}")
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            chain = ast.unparse(node)
            for alias, module in modules.items():
                if chain.startswith(f"{alias}."):
                    used.add(module + chain.removeprefix(alias))
            top = chain.partition(".")[0]
            private = re.match("_[^_]", node.attr)
            if private and top not in {"self", *sys.stdlib_module_names}:
                used.add(chain)
        elif isinstance(node, ast.ClassDef):  # 부모의 밑줄 메서드를 바꾸는 것
            for base in (names[b.id] for b in node.bases if ast.unparse(b) in names):
                if base[0].partition(".")[0] not in OURS:
                    parent = getattr(importlib.import_module(base[0]), base[1])
                    methods = [getattr(item, "name", "") for item in node.body]
                    used |= {
                        ".".join([*base, method])
                        for method in methods
                        if re.match("_[^_]", method) and hasattr(parent, method)
                    }
    chains = {name for name in used if not any(n.startswith(name + ".") for n in used)}
    return imported | chains


def test_every_borrowed_name_is_in_the_table_and_nothing_else():
    found = set().union(*(borrowed_in(p.read_text("utf-8")) for p in SOURCES))
    assert found == {name for _, name, _ in BORROWED}


@pytest.mark.parametrize(
    "source, name",
    [
        ("from myst_nb.core.render import x", "myst_nb.core.render.x"),
        ("def f():\n    import IPython.core.magic", "IPython.core.magic"),
        (
            "import IPython.core.magic as m\nm.Magics.x = 1",
            "IPython.core.magic.Magics.x",
        ),
        ("from sphinx import _cli", "sphinx._cli"),
        ("app.env._toctree", "app.env._toctree"),
        (
            "from sphinx.util.docutils import SphinxRole\n"
            "class Role(SphinxRole):\n    def _mine(self): pass\n",
            "",
        ),
        ("from sphinx.util import logging\nlogging.getLogger", ""),
        ("import os\nos._exit(0)\nself._own", ""),
    ],
)
def test_a_planted_name_is_found_and_public_names_are_left_alone(source, name):
    assert borrowed_in(source) >= {name} if name else borrowed_in(source) == set()


@pytest.mark.parametrize("pinned, name, test", BORROWED, ids=[b[0] for b in BORROWED])
def test_borrowed_names_exist_at_the_pinned_version_and_are_guarded(pinned, name, test):
    package, _, number = pinned.partition("==")
    assert version(package) == number, "버전이 바뀌었습니다. 빌린 이름을 다시 보세요."
    lock = (ROOT / "conf" / "requirements.txt").read_text()
    assert f"\n{pinned} " in lock
    file, _, function = test.partition("::")
    assert f"def {function}(" in (ROOT / "tests" / file).read_text("utf-8")
    resolve(name)  # 없으면 예외가 납니다


def resolve(name):
    module, _, attribute = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ImportError:
        return getattr(resolve(module), attribute)
