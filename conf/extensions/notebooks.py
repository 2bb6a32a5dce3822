"""페이지의 셀과 그 출력: 읽기, 열쇠, 저장소.

출력은 내용으로 찾습니다. 열쇠는 셀, 셀이 가져오는 패키지 모듈과 그 옆의 자료, 읽는 결과
파일, 고정된 버전에서 나오므로 문장을 고쳐도 그대로이고, 나머지를 고치면 달라집니다.
"""

import functools
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from discarding import discard
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from package import ROOT, dependencies
from snippets import MYST_EXTENSIONS, find_snippets

#: 어느 페이지의 출력이나 정하는 파일
ALWAYS = [
    ROOT / "conf" / "requirements.txt",
    Path(__file__).with_name("page_runner.py"),
]


def read_notebook(path, text=None):
    """페이지를 노트북으로 읽습니다. reStructuredText는 셀만 담깁니다."""
    path = Path(path)
    text = path.read_text(encoding="utf-8") if text is None else text
    if path.suffix == ".rst":
        cells = [s for s in find_snippets(path, text) if s.kind == "cell"]
        notebook = nbformat.v4.new_notebook()
        for cell in cells:
            metadata = {"tags": sorted(cell.tags)}
            notebook.cells.append(
                nbformat.v4.new_code_cell(cell.source, metadata=metadata)
            )
        notebook.metadata["source_map"] = [cell.line - 1 for cell in cells]
    else:
        notebook = read_myst_markdown_notebook(
            text,
            MdParserConfig(enable_extensions=set(MYST_EXTENSIONS)),
            add_source_map=True,
        )
        _mend_source_map(notebook, text.splitlines())
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "python"}
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index}"
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


def cache_key(notebook):
    """출력을 정하는 모든 것의 지문입니다. 셀이 없으면 빈 문자열입니다."""
    cells = [
        (c.source, sorted(c.metadata.get("tags", []))) for c in code_cells(notebook)
    ]
    if not cells:
        return ""
    parts = [json.dumps(cells), sys.version]
    parts += [_digest(path) for path in [*ALWAYS, *inputs(notebook)]]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def inputs(notebook):
    """셀이 쓰는 모듈, 그 옆에 둔 자료, 이름을 부르는 저장된 결과의 파일입니다."""
    cells = [cell.source for cell in code_cells(notebook)]
    paths = list(dependencies(cells).values())
    beside = [
        path
        for folder in sorted({path.parent for path in paths})
        for path in sorted(folder.iterdir())
        if path.is_file() and path.suffix != ".py"
    ]
    stored = [
        path
        for path in sorted((ROOT / "docs").rglob("*.*"))
        if path.suffix in {".html", ".json", ".toml"} and path.name in "".join(cells)
    ]
    return paths + beside + stored


def _digest(path):
    return path.name + hashlib.sha256(path.read_bytes()).hexdigest()


class Store:
    """열쇠마다 실행된 노트북 파일 하나를 둡니다. 파일은 통째로만 나타납니다.

    첫 줄은 나머지의 지문입니다. 맞지 않으면 다친 파일이므로 없는 것으로 봅니다.
    """

    def __init__(self, folder):
        self.folder = Path(folder)

    def path(self, key):
        return self.folder / f"{key}.page"

    def has(self, key):
        """저장된 출력이 있는가. 읽을 수 없는 것은 알리고 버립니다."""
        if not key or self._text(key) is not None:
            return True
        if self.path(key).exists():
            print(f"저장된 출력을 읽을 수 없어 버립니다: {self.path(key)}", flush=True)
            discard(self.path(key))
        return False

    def load(self, key):
        return _parse(self._text(key))

    def _text(self, key):
        try:
            digest, _, text = self.path(key).read_bytes().partition(b"\n")
        except OSError:
            return None
        return text if digest == _fingerprint(text) else None

    def save(self, key, notebook):
        self.folder.mkdir(parents=True, exist_ok=True)
        text = nbformat.writes(notebook).encode()
        with tempfile.NamedTemporaryFile(
            dir=self.folder, suffix=".part", delete=False
        ) as file:
            file.write(_fingerprint(text) + b"\n" + text)
        os.replace(file.name, self.path(key))

    def keep_only(self, keys):
        kept = {self.path(key) for key in keys}
        for path in self.folder.glob("*"):
            if path not in kept:
                discard(path)


def _fingerprint(text):
    return hashlib.sha256(text).hexdigest().encode()


@functools.cache
def _parse(text):
    return nbformat.reads(text.decode(), as_version=4)


def fill_outputs(notebook, store):
    """저장된 출력을 노트북의 셀에 옮겨 담습니다. 없으면 `LookupError`를 냅니다."""
    key = cache_key(notebook)
    if not store.has(key):
        raise LookupError(
            "실행한 뒤에 페이지나 모듈이 바뀌었습니다. 다시 실행해 주세요."
        )
    if key:
        executed = code_cells(store.load(key))
        for cell, done in zip(code_cells(notebook), executed, strict=True):
            cell["outputs"] = [nbformat.from_dict(output) for output in done.outputs]
            cell["execution_count"] = done.execution_count
    return notebook
