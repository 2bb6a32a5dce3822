"""페이지를 노트북으로 읽습니다.

jupyter-cache는 셀과 ``kernelspec``이 같은 노트북의 출력을 찾습니다. 그래서 출력을
정하는 나머지, 곧 셀이 쓰는 모듈과 자료와 고정된 버전의 지문을 거기에 적어 둡니다.
"""

import hashlib
import sys
from pathlib import Path

from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from package import ROOT, dependencies
from snippets import MYST_EXTENSIONS

#: 어느 페이지의 출력이나 정하는 파일
ALWAYS = [
    ROOT / "conf" / "requirements.txt",
    *(Path(__file__).with_name(name) for name in ("execution.py", "kernel.py")),
]


def read_notebook(path):
    return read_text(Path(path).read_text(encoding="utf-8"))


def read_text(text):
    """MyST 페이지의 글을 노트북으로 읽습니다. myst-nb도 부릅니다(``conf.py``)."""
    notebook = read_myst_markdown_notebook(
        text,
        MdParserConfig(enable_extensions=set(MYST_EXTENSIONS)),
        add_source_map=True,
    )
    _mend_source_map(notebook, text.splitlines())
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "python"}
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "inputs": _digest(notebook),
    }
    return notebook


def _mend_source_map(notebook, lines):
    """경고가 페이지의 줄 번호를 말하게 합니다.

    myst-nb는 잘라 낸 빈 줄을 세지 않고, 그릴 때 줄 번호에 1을 두 번 더합니다.
    """
    starts = notebook.metadata["source_map"]
    for index, cell in enumerate(notebook.cells):
        while cell.cell_type == "markdown" and not lines[starts[index]].strip():
            starts[index] += 1
        starts[index] -= 1


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def inputs(notebook):
    """셀이 쓰는 모듈, 그 옆에 둔 자료, 셀이 이름을 적은 docs의 파일입니다."""
    cells = [cell.source for cell in code_cells(notebook)]
    paths = {*dependencies(cells).values()}
    beside = [path for of in {p.parent for p in paths} for path in of.iterdir()]
    paths |= {path for path in beside if path.is_file() and path.suffix != ".py"}
    called = "".join(cells)
    paths |= {path for path in (ROOT / "docs").rglob("*.*") if path.name in called}
    return sorted(paths)


def _digest(notebook):
    """셀 말고 출력을 정하는 모든 것의 지문입니다."""
    found = hashlib.sha256(sys.version.encode())
    for path in [*ALWAYS, *inputs(notebook)]:
        found.update(f"{path.name}\0".encode() + path.read_bytes())
    return found.hexdigest()
