"""``pytest docs``: 모든 페이지와 README와 독스트링의 코드를 빠짐없이 실행합니다."""

import contextlib
import doctest
import itertools
import os
import random
import re
import sys
import tomllib
from bisect import bisect
from pathlib import Path

import pytest
from snippets import find_snippets
from sybil import Region, Sybil
from sybil.document import PythonDocStringDocument
from sybil.evaluators.doctest import DocTestEvaluator, OutputChecker
from sybil.parsers.abstract.doctest import DocTestStringParser
from tied_numbers import agrees, find

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PACKAGE = ROOT / "transformer_notes"
FACTS = DOCS / "paper" / "facts.toml"

REAL = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=e[+-]?\d))(?:e[+-]?\d+)?")


def decimals(number):
    """실수에 적힌 소수점 아래의 자릿수."""
    mantissa, _, exponent = number.partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)


def close(want, got):
    """적힌 자릿수까지 같은가.

    더 길게 찍힌 것은 반올림해 견줍니다. 셋째 자리부터는 마지막 자리에서 1만큼의 차이를
    받아들입니다. 기계마다 다른 반올림입니다. 그보다 짧게 적힌 수는 똑같아야 합니다.
    """
    digits = decimals(want)
    slack = 0.5 if decimals(got) > digits else digits >= 3
    return abs(float(want) - float(got)) <= slack * 10.0**-digits * (1 + 1e-6)


class Checker(OutputChecker):
    def check_output(self, want, got, optionflags):
        wanted = REAL.findall(want)
        if len(wanted) == len(REAL.findall(got)):
            numbers = iter(wanted)
            got = REAL.sub(
                lambda found: w if close(w := next(numbers), found[0]) else found[0],
                got,
            )
        return super().check_output(want, got, optionflags)


check_doctest = DocTestEvaluator()
check_doctest.runner = doctest.DocTestRunner(
    Checker(),
    verbose=False,
    optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
)


def page_snippets(document):
    """Sybil 파서: 페이지의 블록마다, doctest는 예마다 하나의 항목을 만듭니다."""
    starts = [0]
    for line in document.text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for snippet in find_snippets(document.text):
        first = snippet.line - 1
        if snippet.kind == "cell":
            last = first + snippet.source.count("\n") + 1
            yield Region(starts[first], starts[last] - 1, snippet, run_cell)
            continue
        for example in doctest.DocTestParser().get_examples(snippet.source):
            top = first + example.lineno
            last = top + (example.source + example.want).count("\n")
            yield Region(starts[top], starts[last] - 1, example, check_doctest)


def docstring_examples(document):
    """Sybil 파서: 독스트링의 doctest입니다."""
    return DocTestStringParser(check_doctest)(document.text, document.path)


def page_numbers(document):
    """Sybil 파서: 글에 적은 수를 그 자리에서 셈합니다. 블록 사이마다 한 항목입니다."""
    lines = [snippet.line for snippet in find_snippets(document.text)]

    def blocks_before(number):
        return bisect(lines, document.text.count("\n", 0, number[0].start()) + 1)

    for _, group in itertools.groupby(find(document.text), blocks_before):
        numbers = list(group)
        start, end = numbers[0][0].start(), numbers[-1][0].end()
        yield Region(start, end, [rest for _, *rest in numbers], check_numbers)


def check_numbers(example):
    for written, expression in example.parsed:
        value = eval(expression, example.namespace)
        assert agrees(written, value), f"{written} = {expression}: 값은 {value}입니다"


def run_cell(example):
    """셀을 실행합니다. 마지막 줄의 식은 노트북처럼 값을 구하기만 합니다."""
    snippet = example.parsed
    code = compile("\n" * (snippet.line - 1) + snippet.source, example.path, "exec")
    if "raises-exception" not in snippet.tags:
        exec(code, example.namespace)
        return
    try:
        exec(code, example.namespace)
    except Exception:
        return
    raise AssertionError("raises-exception이라고 했는데 예외가 나지 않았습니다")


class PageState:
    """페이지가 바꾼 것을 되돌립니다. 다음 페이지에 흔적을 남기지 않습니다."""

    def set_up(self, namespace):
        import keras
        import matplotlib
        import numpy
        import tensorflow

        namespace["__name__"] = "__main__"
        namespace["facts"] = tomllib.loads(FACTS.read_text(encoding="utf-8"))
        self.undo = contextlib.ExitStack()
        self.undo.callback(os.environ.update, dict(os.environ))
        self.undo.callback(os.environ.clear)
        self.undo.callback(os.chdir, Path.cwd())
        self.undo.callback(sys.path.__setitem__, slice(None), list(sys.path))
        self.undo.callback(random.setstate, random.getstate())
        self.undo.callback(numpy.random.set_state, numpy.random.get_state())
        self.undo.callback(numpy.set_printoptions, **numpy.get_printoptions())
        self.undo.callback(keras.config.set_dtype_policy, keras.config.dtype_policy())
        self.undo.callback(keras.config.set_floatx, keras.config.floatx())
        self.undo.callback(keras.config.set_epsilon, keras.config.epsilon())
        eagerly = tensorflow.config.functions_run_eagerly()
        self.undo.callback(tensorflow.config.run_functions_eagerly, eagerly)
        self.undo.callback(_forget_seeds)
        self.undo.callback(_close_figures)
        self.undo.enter_context(matplotlib.rc_context())
        os.chdir(ROOT)

    def tear_down(self, namespace):
        namespace.clear()
        self.undo.close()


def _forget_seeds():
    """시드, 결정성, Keras가 층 이름에 붙이는 번호를 시작할 때로 되돌립니다."""
    import keras
    import tensorflow
    from tensorflow.python.framework.config import disable_op_determinism

    keras.backend.clear_session(free_memory=False)
    tensorflow.random.set_seed(None)
    disable_op_determinism()  # 켜는 길만 공개되어 있습니다


def _close_figures():
    from matplotlib import pyplot

    pyplot.close("all")


pages, examples = PageState(), PageState()
PAGES = Sybil(
    path=ROOT,
    parsers=[page_snippets, page_numbers],
    patterns=["*.md"],
    setup=pages.set_up,
    teardown=pages.tear_down,
)
EXAMPLES = Sybil(
    path=ROOT,
    parsers=[docstring_examples],
    patterns=["*.py", "*.rst"],
    document_types={".py": PythonDocStringDocument},
    setup=examples.set_up,
    teardown=examples.tear_down,
)


class Snippets:
    """README와 패키지는 ``docs`` 밖에 있으므로 플러그인으로 등록해 함께 모읍니다."""

    collect_page = staticmethod(PAGES.pytest())
    collect_examples = staticmethod(EXAMPLES.pytest())

    @pytest.hookimpl
    def pytest_collect_file(self, file_path, parent):
        if DOCS in file_path.parents:
            return self.collect_page(file_path, parent)
        if file_path == ROOT / "README.rst" or PACKAGE in file_path.parents:
            return self.collect_examples(file_path, parent)
        return None


def pytest_configure(config):
    config.pluginmanager.register(Snippets())
    if any(Path(arg).resolve() == DOCS for arg in config.args):
        config.args += [str(ROOT / "README.rst"), str(PACKAGE)]
