"""노트북: 쪽과 같은 글과 셀을 담고, 저장소 없이 위에서부터 실행된다."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest
from nbclient import NotebookClient
from notebooks import code_cells, read_notebook
from take_along import WHEEL

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "html"
LONGEST = 600  # 초. 멈춰 선 셀을 끝낼 뿐입니다
NOTEBOOKS = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.ipynb"))


def printed(cell):
    """셀이 글자로 낸 것."""
    return "".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
        if output.output_type in {"stream", "execute_result"}
        and output.get("name") != "stderr"
    )


def test_every_lecture_is_offered_as_a_notebook():
    lectures = {path.stem for path in (ROOT / "docs" / "lectures").glob("*.[mr][ds]*")}
    offered = {Path(name).stem for name in NOTEBOOKS if name.startswith("lectures/")}
    assert offered == lectures


def test_no_cell_of_a_notebook_uses_a_name_that_stayed_on_the_page():
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821"]
    files = [SITE / name for name in NOTEBOOKS]
    found = subprocess.run([*ruff, *files], capture_output=True, text=True)
    assert not found.returncode, found.stdout


# 저장된 결과, 그림, 예가 있는 쪽. 나머지의 셀은 쪽의 셀과 같은지만 봅니다.
@pytest.mark.parametrize(
    "name",
    ["deeper/positional_encoding", "lectures/tokenization", "paper/questions"],
)
def test_a_notebook_runs_from_top_to_bottom_without_the_repository(name, tmp_path):
    notebook = nbformat.read(SITE / f"{name}.ipynb", as_version=4)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    client = NotebookClient(notebook, timeout=LONGEST, startup_timeout=LONGEST)
    asyncio.run(client.async_execute(cwd=str(tmp_path), env=environment))
    nbformat.validate(notebook)


def test_a_notebook_holds_the_cells_of_its_page_and_nothing_of_the_machine():
    for name in NOTEBOOKS:
        text = (SITE / name).read_text(encoding="utf-8")
        for foreign in (str(ROOT), "myst_nb", "{ref}", "{term}", "{glue"):
            assert foreign not in text, name
        (page,) = (ROOT / "docs").glob(name.replace(".ipynb", ".[mr][ds]*"))
        left = iter(c.source for c in nbformat.reads(text, as_version=4).cells)
        for cell in code_cells(read_notebook(page)):
            if "remove-cell" not in cell.metadata.get("tags", []):
                assert cell.source in left, (name, cell.source)


PAGE = """
(here)=
## 첫 절

{ref}`여기 <here>`에서 **값**을 봅니다. 값은 {glue:text}`value`입니다.
{cite}`vaswani2017attention`에 있습니다.

```{math}
:label: eq-a
a = 1
```

```{code-cell}
value = 41 + 1
print("값:", value)
```

```{code-cell}
:tags: [remove-cell]

from myst_nb import glue

glue("value", value)
```

```pycon
>>> import math
>>> import sacrebleu
>>> value + 1
43
>>> math.floor("a")
Traceback (most recent call last):
    ...
TypeError: must be real number, not str
```

- 하나
- 둘

| 이름 | 수 |
|---|---|
| 값 | 42 |

```{definition} masking.look_ahead_mask
```

```{exercise} 문제
:label: ex-a

값에 2를 더해 보세요.
```

````{solution-start} ex-a
````

```{code-cell}
print(value + 2)
```

````{solution-end}
````
"""


@pytest.fixture(scope="module")
def small(shared_book):
    shared_book.write(page=PAGE, refs="```{bibliography}\n```\n")
    result = shared_book.build()
    assert result.returncode == 0, result.stdout
    return shared_book


def test_the_page_becomes_words_and_cells(small):
    notebook = nbformat.read(small.html / "page.ipynb", as_version=4)
    words = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    assert "## 첫 절" in words
    assert "여기에서 **값**을 봅니다. 값은 42입니다." in words
    assert "$$\na = 1 \\tag{1}\n$$" in words
    assert "- 하나\n- 둘" in words
    assert "| 이름 | 수 |\n| --- | --- |\n| 값 | 42 |" in words
    assert "```python\ndef look_ahead_mask(length):" in words
    assert "값에 2를 더해 보세요." in words
    assert re.search(
        r"- \\\[VSP\+17\\\] .*Attention (?i:is all)", words.split("## 참고문헌")[1]
    )
    assert "쪽 `page.html`입니다" in words and WHEEL in words
    html = (small.html / "page.html").read_text(encoding="utf-8")
    assert re.search(r'href="page\.ipynb"', html)
    assert "og:url" not in html and not (small.html / "sitemap.xml").exists()


def test_the_first_cell_installs_the_wheel_and_what_the_page_imports(small):
    notebook = nbformat.read(small.html / "page.ipynb", as_version=4)
    first = next(c.source for c in notebook.cells if c.cell_type == "code")
    assert "['transformer_notes', 'sacrebleu']" in first
    assert first.endswith(f'%pip install -q {WHEEL} "sacrebleu~=2.6"')


def test_the_wheel_holds_the_models_and_is_the_same_byte_for_byte(small):
    with ZipFile(SITE / WHEEL) as archive:  # 작은 책에는 모델이 없습니다
        names = {*archive.namelist()}
    models = (ROOT / "transformer_notes" / "models").glob("*.safetensors")
    assert {f"transformer_notes/models/{model.name}" for model in models} <= names
    kept, before = small.root / "build" / "wheel", (small.html / WHEEL).read_bytes()
    pack = "import sys; sys.path[:0] = ['conf']; import offered; offered.pack()"
    made = [path.stat().st_ino for path in kept.iterdir()]
    small.write(other="다른 쪽")
    assert small.python("-c", pack).returncode == 0
    # 다시 만들지 않았습니다
    assert [path.stat().st_ino for path in kept.iterdir()] == made
    small.path("other").unlink()
    small.write()
    shutil.rmtree(kept)
    assert small.python("-c", pack).returncode == 0
    (again,) = kept.rglob("*.whl")
    assert again.read_bytes() == before


def test_cells_and_examples_run_and_print_what_the_page_prints(small, tmp_path):
    notebook = nbformat.read(small.html / "page.ipynb", as_version=4)
    _, *code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [printed(cell).strip() for cell in code]
    assert shown[:2] == ["값: 42", "43"]
    assert shown[-1] == "44"
    copy = shutil.copy(small.html / "page.ipynb", tmp_path)
    command = Path(sys.executable).with_name("jupyter-execute")
    subprocess.run([command, "--inplace", "--timeout=600", copy], check=True)
    done = nbformat.read(copy, as_version=4)
    _, *again = [printed(c).strip() for c in done.cells if c.cell_type == "code"]
    assert again[:2] + again[-1:] == shown[:2] + shown[-1:]
    assert [path.name for path in tmp_path.iterdir()] == ["page.ipynb"]


def test_one_address_brings_every_link(small, monkeypatch):
    monkeypatch.setenv(
        "TRANSFORMER_NOTES_REPOSITORY", "https://github.com/example/notes"
    )
    result = small.build()
    assert result.returncode == 0, result.stdout
    site = "https://example.github.io/notes/"
    notebook = nbformat.read(small.html / "page.ipynb", as_version=4)
    words = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    first = next(c.source for c in notebook.cells if c.cell_type == "code")
    assert f"%pip install -q {site}{WHEEL} " in first
    assert f"[page.html]({site}page.html)" in words  # 쪽으로 돌아갑니다
    assert f"[여기]({site}page.html#here)" in words
    assert f"({site}refs.html#" in words  # 문헌
    html = (small.html / "page.html").read_text(encoding="utf-8")
    assert "colab.research.google.com/github/example/notes/blob/gh-pages/page" in html
    assert f'<link rel="canonical" href="{site}page.html"' in html
    assert f'property="og:url" content="{site}page.html"' in html
    assert "https://github.com/example/notes/issues/new" in html
    places = ElementTree.parse(small.html / "sitemap.xml").findall(".//{*}loc")
    assert {f"{site}{name}.html" for name in ("index", "page", "refs")} == {
        place.text for place in places
    }
