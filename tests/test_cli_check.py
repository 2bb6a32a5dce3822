"""독자의 코드를 확인하는 명령: 어떤 코드를 주어도 분명한 말로 끝난다."""

import ast
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import COMMAND, ROOT, refuse, run

from transformer_notes import exercises

RIGHT = """
import numpy as np

def positional_encoding(length, d_model):
    pairs = np.arange(0, d_model, 2)
    angles = np.arange(length)[:, None] / 10000 ** (pairs / d_model)
    table = np.zeros((length, d_model), "float32")
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table
"""
WRONG = RIGHT.replace("    return table", "    table[0] = 0\n    return table")
HEAD = "def positional_encoding(length, d_model):\n"


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """독자의 파일을 적고 명령으로 확인합니다."""
    monkeypatch.chdir(tmp_path)

    def judge(source, *options, code, kind="positional_encoding", name=None):
        (tmp_path / "mine.py").write_text(source, encoding="utf-8")
        target = f"mine.py:{name or kind}"
        return run("check", target, "--as", kind, *options, code=code)

    return judge


def the_error(result):
    """표준 오류의 마지막 줄. 표준 출력에는 아무것도 없습니다."""
    assert result.stdout == ""
    line = result.stderr.splitlines()[-1]
    assert line.startswith("오류: ")
    return line


# --- 판정 ----------------------------------------------------------------------------


UNREAD = """
import numpy as np

class Secret:
    __slots__ = ()

    def __call__(self, x):
        return np.tanh(x)

feed_forward = Secret()
"""


def test_what_cannot_be_judged_ends_with_3(judged):
    unknown = judged(UNREAD, code=3, kind="feed_forward")
    assert "모르겠습니다: 위치별" in unknown.stdout and "맞습니다" not in unknown.stdout


def test_right_code_ends_with_0_and_wrong_code_with_1_and_its_name(judged):
    right = judged(RIGHT, code=0)
    assert "실수" not in right.stdout and right.stderr == ""
    wrong = judged(WRONG, code=1)
    assert "실수 17" in wrong.stdout and "mistake-17" in wrong.stdout
    assert wrong.stderr == ""
    assert judged(WRONG, code=1).stdout == wrong.stdout  # 언제나 같은 말입니다


def test_a_mask_that_hides_where_true_is_judged_as_it_says(judged):
    source = (
        "import numpy as np\n"
        "def look_ahead_mask(length):\n"
        "    return np.triu(np.ones((length, length), bool), 1)\n"
    )
    kind = "look_ahead_mask"
    judged(source, "--mask-true", "hide", code=0, kind=kind)
    assert "실수 2" in judged(source, code=1, kind=kind).stdout


def test_an_adapter_lets_another_calling_convention_be_judged(judged):
    source = RIGHT.replace("(length, d_model):", "(d_model, length):") + (
        "def turned(function, length, d_model):\n    return function(d_model, length)\n"
    )
    judged(source, "--adapter", "turned", code=0)


def test_a_keras_layer_fits_into_the_limits(judged):
    source = (
        "import keras\n"
        "class Narrow(keras.layers.Layer):\n"
        "    def __init__(self, d_model, d_ff):\n"
        "        super().__init__()\n"
        "        self.wide = keras.layers.Dense(d_ff)\n"
        "        self.narrow = keras.layers.Dense(d_model)\n"
        "    def call(self, x):\n"
        "        return self.narrow(self.wide(x))\n"
    )
    assert (
        "실수 23" in judged(source, code=1, kind="feed_forward", name="Narrow").stdout
    )


def test_an_exception_is_shown_at_its_line(judged):
    source = HEAD + "    table = []\n    return table[length]\n"
    shown = judged(source, code=1).stdout
    assert "IndexError" in shown and re.search(r"3\D", shown)
    assert "Traceback" not in shown


def test_a_skeleton_is_not_yet_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = run("exercise", "positional_encoding").stdout
    command = written.splitlines()[-1].split()[1:]
    assert "NotImplementedError" in run(*command, code=1).stdout


def test_what_the_code_prints_does_not_disturb_the_report(judged):
    noisy = RIGHT.replace("    pairs", "    print('길이', length)\n    pairs")
    quiet, loud = judged(RIGHT, code=0), judged(noisy, code=0)
    assert loud.stdout == quiet.stdout
    lines = loud.stderr.splitlines()
    assert lines[0].startswith("| 길이 ") and len(lines) <= 21


def test_a_flood_of_output_is_cut(judged):
    flood = RIGHT.replace("    pairs", "    print('x' * 3_000_000)\n    pairs")
    result = judged(flood, code=0)
    assert len(result.stderr) < 3_000 and "옮기지 않습니다" in result.stderr


def test_colours_only_on_a_terminal(tmp_path):
    (tmp_path / "mine.py").write_text(WRONG, encoding="utf-8")
    target = "mine.py:positional_encoding"
    command = [*COMMAND, "check", target, "--as", "positional_encoding"]
    options = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(ROOT)}}
    piped = subprocess.run(command, capture_output=True, **options)
    assert piped.returncode == 1 and b"\x1b" not in piped.stdout
    ours, theirs = pty.openpty()
    shown = subprocess.run(command, stdout=theirs, stderr=theirs, **options)
    os.close(theirs)
    assert shown.returncode == 1 and b"\x1b[" in os.read(ours, 100_000)
    os.close(ours)


# --- 받은 것이 잘못됨 ----------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["mine.py:f"], "--as이(가) 빠졌습니다"),
        (["mine.py:f", "--as", "atention"], "--as에는 accuracy, add_norm"),
        (["mine.py", "--as", "loss"], "my_file.py:my_function"),
        (["mine.py:f g", "--as", "loss"], "my_file.py:my_function"),
        (["none.py:f", "--as", "loss"], "파일이 없거나 파일이 아닙니다: none.py"),
        (["..:f", "--as", "loss"], "파일이 없거나 파일이 아닙니다"),
        (["mine.py:f", "--as", "loss", "--mask-true", "x"], "attend, hide"),
        (["mine.py:f", "--as", "loss", "--seconds", "0"], "0보다 크고"),
    ],
)
def test_wrong_use_is_refused(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in refuse("check", *arguments)


@pytest.mark.parametrize(
    "source, message",
    [
        ("def positional_encodin(a, b):\n    pass\n", "혹시 positional_encodin입니까"),
        ("x = 1\n", "mine.py에 .*positional_encoding.* 없습니다"),
        ("positional_encoding = 3\n", "부를 수 있는 positional_encoding"),
        ("x = 1\ndef f(:\n", "2번째 줄 `def f.*SyntaxError"),
        ("x = 1\ny = x / 0\n", "2번째 줄 `y = x / 0`: ZeroDivisionError"),
        ("import nowhere_at_all\n", "1번째 줄 .*ModuleNotFoundError"),
        ("import sys\nsys.exit(0)\n", "2번째 줄 .*SystemExit"),
        ("x = '\x00'\n", "null bytes"),
        ("x = input()\n", "1번째 줄 .*EOFError"),
    ],
)
def test_a_file_that_cannot_be_used_is_explained(judged, source, message):
    assert re.search(message, the_error(judged(source, code=2)))


def test_a_missing_adapter_is_named(judged):
    assert "turned" in the_error(judged(RIGHT, "--adapter", "turned", code=2))


def test_a_neighbour_file_can_be_imported_but_hides_no_library(judged, tmp_path):
    (tmp_path / "tables.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "numpy.py").write_text("raise RuntimeError", encoding="utf-8")
    judged("from tables import positional_encoding\n", code=0)


# --- 끝나지 못함 ---------------------------------------------------------------------


def is_gone(pid, within=600):
    """프로세스가 끝났는지. 거두어지지 않은 것은 끝난 것입니다."""
    status, deadline = Path("/proc", pid, "status"), time.monotonic() + within
    while status.exists() and "zombie" not in status.read_text():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_an_endless_loop_is_stopped_with_its_children_and_its_line_told(
    judged, tmp_path
):
    source = (
        "import subprocess, sys\n" + HEAD + "    child = subprocess.Popen("
        "[sys.executable, '-c', 'import time; time.sleep(6000)'])\n"
        "    open('child', 'w').write(str(child.pid))\n"
        "    while True:\n        pass\n"
    )
    line = the_error(judged(source, "--seconds", "5", code=1))
    assert re.search(r"5초 안에 끝나지 않아.*mine.py [56]번째 줄", line)
    assert is_gone((tmp_path / "child").read_text())


def test_ctrl_c_stops_the_code_too(tmp_path):
    source = (
        "import os\n" + HEAD + "    with open('half', 'w') as file:\n"
        "        file.write(str(os.getpid()))\n    os.rename('half', 'child')\n"
        "    while True:\n        pass\n"
    )
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    target, child = "mine.py:positional_encoding", tmp_path / "child"
    process = subprocess.Popen(
        [*COMMAND, "check", target, "--as", "positional_encoding"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        # 배경에서 도는 셸은 SIGINT를 무시하게 물려줍니다.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 600
    while not child.exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130 and said.decode().endswith("멈추었습니다.\n")
    assert is_gone(child.read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="메모리 제한은 리눅스에만 있습니다")
def test_a_memory_hog_is_stopped_with_a_word(judged):
    source = HEAD + "    return bytearray(3 * 2**30)\n"
    result = judged(source, "--memory", "1", code=1)
    assert "MemoryError" in result.stdout
    assert "1 GiB보다 더 쓰려고" in result.stderr


@pytest.mark.parametrize(
    "body, message",
    [
        ("import sys; sys.exit(0)", "2번째 줄 .*SystemExit"),
        ("import os; os._exit(0)", "끝났습니다.코드 0.*os._exit"),
        ("import os; os.abort()", "SIGABRT로 죽었습니다.*mine.py 2번째 줄"),
        (
            "import ctypes; ctypes.string_at(0)",
            "SIGSEGV로 죽었습니다.*mine.py 2번째 줄",
        ),
    ],
)
def test_code_that_ends_the_program_is_explained(judged, body, message):
    assert re.search(message, the_error(judged(HEAD + f"    {body}\n", code=1)))


# --- 뼈대 ----------------------------------------------------------------------------


def test_every_kind_of_the_checker_has_a_skeleton():
    from transformer_notes import checker

    assert exercises.kinds() == sorted(checker.KINDS)


def test_a_skeleton_is_short_says_what_to_write_and_is_empty():
    for kind in exercises.kinds():
        text = exercises.skeleton(kind)
        assert len(text.splitlines()) <= 25 and "돌려줄 것" in text, kind
        assert exercises.title(kind), kind
        (shown,) = (n for n in ast.parse(text).body if getattr(n, "name", None))
        assert shown.name == exercises.name(kind) and ast.get_docstring(shown)
        functions = [n for n in ast.walk(shown) if isinstance(n, ast.FunctionDef)]
        assert all(isinstance(n.body[-1], ast.Raise) for n in functions), kind


def test_the_list_names_every_kind():
    lines = run("exercise").stdout.splitlines()
    assert [line.split()[0] for line in lines] == exercises.kinds()


def test_a_skeleton_is_written_and_never_over_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run("exercise", "loss").stdout
    assert "transformer-notes check my_loss.py:loss --as loss" in shown
    mine = tmp_path / "my_loss.py"
    assert mine.read_text(encoding="utf-8") == exercises.skeleton("loss")
    mine.write_text("mine")
    assert "적지 않습니다: my_loss.py" in refuse("exercise", "loss")
    assert mine.read_text() == "mine"
    shown = run("exercise", "loss", "my other.py").stdout
    assert "check 'my other.py:loss' --as loss" in shown
    assert (tmp_path / "my other.py").exists()
    assert "없는 자리" in refuse("exercise", "loss", "nowhere/x.py", code=1)
    assert "--help" in refuse("exercise", "lost")


def test_an_unknown_skeleton_is_an_error():
    with pytest.raises(ValueError, match="attention"):
        exercises.skeleton("../cli/check")
