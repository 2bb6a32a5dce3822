"""브라우저 속의 파이썬이 하는 일: 쪽에서 적은 코드를 판정해 JSON으로 답합니다."""

import contextlib
import io
import json
import linecache
import re
from pathlib import Path

import numpy as np

from transformer_notes.checker import TITLES, check
from transformer_notes.checker.messages import link
from transformer_notes.cli.judge import explain, find, load

#: 그릴 배열의 앞쪽 축에서 보일 칸의 수와, 마지막 두 축에서 보일 줄의 수.
SLICES, LINES = 4, 8
#: 32비트의 주소로 담지 못하는 배열에는 다른 예외가 납니다.
NO_MEMORY = re.compile("MemoryError|array is too big|Maximum allowed dimension")
#: 옮겨 적을 출력의 글자 수.
PRINTED = 20_000


class Printed(io.TextIOBase):
    """`print`한 글을 쪽으로 보냅니다. 한도를 넘으면 버립니다."""

    def __init__(self, send):
        self.send, self.left = send, PRINTED

    def write(self, text):
        if self.left > 0:
            self.send(text[: self.left])
            self.left -= len(text)
        return len(text)


def run(setup, source, send):
    """앞의 문장들을 말없이 실행하고 셀을 실행합니다. `judge`와 같은 꼴로 답합니다."""
    path, names = Path("cell.py"), {"__name__": "__main__"}
    path.write_text(source, encoding="utf-8")
    linecache.clearcache()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(setup, names)
    printed = Printed(send)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            exec(compile(source, str(path.resolve()), "exec"), names)
    except BaseException as error:  # sys.exit도 여기로 옵니다
        return answered({"verdict": "failed", "message": explain(error, path)})
    return answered({"verdict": "ran", "message": ""})


def judge(source, kind, name, mask_true, send):
    """`verdict`와 쪽이 보일 것을 담은 사전의 JSON입니다."""
    path = Path(f"my_{kind}.py")
    path.write_text(source, encoding="utf-8")
    linecache.clearcache()
    printed = Printed(send)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        answer = _judge(path, kind, name, mask_true)
    if "NotImplementedError" in answer["message"]:
        answer["verdict"] = "unwritten"
    return answered(answer)


def answered(answer):
    """메모리가 모자랐는지와 몇 번째 줄의 일인지를 더해 JSON으로 적습니다."""
    if NO_MEMORY.search(answer["message"]):
        answer["verdict"] = "memory"
    line = re.search(r"(\d+)번째 줄", answer["message"])
    return json.dumps(answer | {"line": int(line[1]) if line else 0})


def _judge(path, kind, name, mask_true):
    try:
        module = load(path)
        try:
            candidate = find(module, name, path)
        except LookupError as error:
            return {"verdict": "failed", "message": error.args[0]}
        report = check(candidate, kind, mask_true=mask_true)
    except BaseException as error:  # sys.exit도 여기로 옵니다
        return {"verdict": "failed", "message": explain(error, path)}
    first, example = report.message.partition("\n")[0], report.example
    failed = first.endswith("실행하지 못했습니다.")
    why = re.search("^어긋난 것: (.*)$", report.message, re.MULTILINE)
    return {
        "verdict": "failed" if failed else report.verdict,
        "message": report.message,
        "why": why[1] if why else "",
        "mistakes": [[n, TITLES[n], link(n)] for n in report.mistakes],
        "inputs": {k: drawn(v) for k, v in example.inputs.items()} if example else {},
        "wanted": example.wanted if example else "",
        "expected": drawn(example.expected) if example else None,
        "given": drawn(example.given) if example else None,
    }


def drawn(value):
    """배열은 그릴 것을, 나머지는 글을 돌려줍니다."""
    if value is None:
        return None
    if callable(value):
        return {"text": "함수"}
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        number = isinstance(value, float | np.floating)
        return {"text": f"{value:.6g}" if number else str(value)}
    whole = np.atleast_2d(value)
    whole = whole.reshape(-1, *whole.shape[-2:])
    part = whole[:SLICES, :LINES, :LINES]
    return {
        "shape": list(value.shape),
        "kind": value.dtype.kind,
        "cut": part.shape != whole.shape,
        "slices": [[[_cell(cell) for cell in row] for row in one] for one in part],
    }


def _cell(value):
    if not np.isfinite(value):
        return str(value)
    return round(float(value), 4) + 0.0
