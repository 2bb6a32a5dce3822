"""레일: 페이지의 파이썬은 하나도 빠짐없이 실행된다."""

import re

import pytest
from snippets import find_snippets

# 아무도 실행하지 않는 것들입니다. 하나씩 심어 봅니다. 예는 pycon으로만 적습니다.
UNRUN = {
    "py": "```py\nplanted = 1\n```",
    "python": "```python\nplanted = 1\n```",
    "python3": "```python3\nplanted = 1\n```",
    "ipython3": "```ipython3\nplanted = 1\n```",
    "pycon without prompt": "```pycon\nplanted = 1\n```",
    "tilde": "~~~python\nplanted = 1\n~~~",
    "code-block": "```{code-block} python\nplanted = 1\n```",
    "colon code-block": ":::{code-block} python\nplanted = 1\n:::",
    "code-block options": "```{code-block} python\n:linenos:\n\nplanted = 1\n```",
    "colon code-cell": ":::{code-cell}\nplanted = 1\n:::",
    "nested code-cell": "````{note}\n```{code-cell}\nplanted = 1\n```\n````",
    "code-cell in a list": "- 항목\n\n  ```{code-cell}\n  planted = 1\n  ```",
    "eval-rst code": "```{eval-rst}\n.. code:: python\n\n   planted = 1\n```",
    "eval-rst code-cell": "```{eval-rst}\n.. code-cell::\n\n   planted = 1\n```",
    "nested python": "````{note}\n```python\nplanted = 1\n```\n````",
    "py prompt": "```py\n>>> planted = 1\n```",
    "no language": "```\n>>> planted = 1\n```",
    "doctest": "```{doctest}\n>>> planted = 1\n```",
    "code-block prompt": "```{code-block} python\n>>> planted = 1\n```",
    "eval-rst prompt": "```{eval-rst}\n>>> planted = 1\n```",
}
RUN = {
    "plain cell": ("cell", "```{code-cell}\nplanted = 1\n```"),
    "python cell": ("cell", "```{code-cell} python\nplanted = 1\n```"),
    "ipython3 cell": ("cell", "```{code-cell} ipython3\nplanted = 1\n```"),
    "cell with options": (
        "cell",
        "```{code-cell}\n:tags: [hide-input]\n\nplanted = 1\n```",
    ),
    "cell with yaml": ("cell", "```{code-cell}\n---\ntags: [a]\n---\nplanted = 1\n```"),
    "tilde cell": ("cell", "~~~{code-cell}\nplanted = 1\n~~~"),
    "python prompt": ("doctest", "```python\n>>> planted = 1\n```"),
    "pycon prompt": ("doctest", "```pycon\n>>> planted = 1\n```"),
    "nested prompt": ("doctest", "````{note}\n```pycon\n>>> planted = 1\n```\n````"),
    "colon nested": ("doctest", ":::{note}\n```pycon\n>>> planted = 1\n```\n:::"),
    "prompt in a list": ("doctest", "- 항목\n\n  ```pycon\n  >>> planted = 1\n  ```"),
}


@pytest.mark.parametrize("kind, text", RUN.values(), ids=RUN)
def test_every_executed_form_is_found_with_its_line(kind, text):
    text = f"머리\n\n{text}\n\n꼬리\n"
    (snippet,) = find_snippets(text)
    (line,) = (n for n, row in enumerate(text.splitlines(), 1) if "planted" in row)
    assert (snippet.kind, snippet.line) == (kind, line)


def test_other_languages_and_prose_are_left_alone():
    for text in (
        "```text\nx = 1\n```",
        "```bash\nls\n```",
        "`>>> x`",
        "```{math}\nx\n```",
    ):
        assert find_snippets(text) == []


def test_snippets_come_in_page_order():
    text = "```{code-cell}\na\n```\n\n```pycon\n>>> b\n```\n\n```{code-cell}\nc\n```\n"
    assert [s.source.strip() for s in find_snippets(text)] == [
        "a",
        ">>> b",
        "c",
    ]


def test_the_build_names_every_page_whose_python_nothing_runs(book):
    book.write(**{f"u{number}": text for number, text in enumerate(UNRUN.values())})
    result = book.build()
    assert result.returncode != 0
    for path in (book.root / "docs").glob("u*"):
        assert re.search(f"{path}:.*WARNING: ", result.stdout), path.read_text("utf-8")


def test_pytest_runs_each_block_and_leaves_no_trace_between_pages(book):
    first = """
```{code-cell}
import os, random, sys, tempfile
import keras, matplotlib, numpy as np, tensorflow as tf
from matplotlib import pyplot
keras.utils.set_random_seed(1)
tf.config.experimental.enable_op_determinism()
keras.config.set_dtype_policy("mixed_float16")
keras.config.set_floatx("float64")
keras.config.set_epsilon(1e-3)
tf.config.run_functions_eagerly(True)
matplotlib.rcParams["font.size"] = 99
np.set_printoptions(precision=1)
pyplot.figure()
os.environ["PLANTED"] = "1"
sys.path.append("planted")
os.chdir(tempfile.gettempdir())
keras.layers.Dense(1).name
random.seed(1)
```

```pycon
>>> 1 / 3
0.3333
>>> 1 / 3
0.35
>>> np.zeros(1)
array([1.])
>>> print(0.5)
0.4
>>> print(0.667)
0.666
```

```{code-cell}
:tags: [raises-exception]
1 / 0
```

```{code-cell}
:tags: [raises-exception]
1 + 1
```
"""
    second = """
```pycon
>>> import os, random, sys, keras, matplotlib, numpy, tensorflow as tf
>>> from matplotlib import pyplot
>>> from pathlib import Path
>>> from tensorflow.python.framework.config import is_op_determinism_enabled
>>> from tensorflow.python.framework.random_seed import get_seed
>>> keras.config.dtype_policy().name, is_op_determinism_enabled()
('float32', False)
>>> keras.config.floatx(), keras.config.epsilon()
('float32', 1e-07)
>>> tf.config.functions_run_eagerly(), get_seed(None)
(False, (None, None))
>>> seeded = random.Random(1).getstate(), numpy.random.RandomState(1).get_state()[1]
>>> random.getstate() == seeded[0], all(numpy.random.get_state()[1] == seeded[1])
(False, False)
>>> matplotlib.rcParams["font.size"] == matplotlib.rcParamsDefault["font.size"]
True
>>> numpy.get_printoptions()["precision"], pyplot.get_fignums()
(8, [])
>>> os.environ.get("PLANTED", "없음"), "planted" in sys.path
('없음', False)
>>> (Path.cwd() / "docs").is_dir(), keras.layers.Dense(1).name
(True, 'dense')
>>> "tempfile" in globals()
False
```
"""
    book.write(a=first, b=second)
    # 독스트링도 모이는지는 한 모듈이 말해 줍니다.
    result = book.pytest("docs", "-k", "a.md or b.md or embedding.py")
    outcomes = dict(
        reversed(line.split()[:2])
        for line in result.stdout.splitlines()
        if line.startswith(("PASSED", "FAILED"))
    )
    page = book.path("a").read_text(encoding="utf-8").splitlines()

    def outcome(text, number=0):
        line = [n for n, row in enumerate(page, 1) if row.strip() == text][number]
        (name,) = (n for n in outcomes if n.startswith(f"docs/a.md::line:{line},"))
        return outcomes[name]

    assert outcome("import os, random, sys, tempfile") == "PASSED"
    assert outcome(">>> 1 / 3", 0) == "PASSED"  # 적힌 자릿수까지 같습니다
    assert outcome(">>> 1 / 3", 1) == "FAILED"  # 마지막 자리보다 더 다릅니다
    assert outcome(">>> np.zeros(1)") == "FAILED"  # 0은 1이 아닙니다
    assert outcome(">>> print(0.5)") == "FAILED"
    assert outcome(">>> print(0.667)") == "PASSED"  # 기계마다 다른 반올림입니다
    assert outcome("1 / 0") == "PASSED"
    assert outcome("1 + 1") == "FAILED"  # 예외가 나지 않았습니다
    assert {o for n, o in outcomes.items() if "b.md" in n} == {"PASSED"}, result.stdout
    assert any(name.startswith("transformer_notes/embedding.py::") for name in outcomes)
