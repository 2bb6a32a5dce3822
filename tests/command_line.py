"""명령줄의 시험이 함께 쓰는 것: 명령을 실행하는 법과 아주 작은 학습."""

import sys
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from transformer_notes import cli

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "transformer_notes.cli"]
WORDS = "영 하나 둘 셋 넷 다섯".split()
SMALL = (
    "--d-model 16 --num-heads 2 --num-layers 1 --d-ff 32 --warmup-steps 100 "
    "--tokens 512 --held-out 0.2 --dropout 0 --epochs 60 --save-every 10"
).split()


def run(*arguments, stdin=None, code=0):
    """명령을 이 프로세스에서 실행합니다. 추적 기록은 어느 쪽으로도 나오지 않습니다."""
    result = CliRunner().invoke(cli.main, [str(a) for a in arguments], input=stdin)
    shown = f"{result.output}\n{result.exception!r}"
    assert result.exit_code == code, shown
    assert result.exception is None or isinstance(result.exception, SystemExit), shown
    return result


def refuse(*arguments, code=2, stdin=None):
    """거절하는 한 줄을 돌려줍니다. 표준 출력에는 아무것도 없습니다."""
    result = run(*arguments, code=code, stdin=stdin)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("오류: ")
    return line


def write_pairs(path):
    """낱말의 열을 숫자로 적는 짝 216개."""
    numbers = np.stack(np.meshgrid(*[range(6)] * 3), axis=-1).reshape(-1, 3)
    lines = (
        " ".join(WORDS[n] for n in row) + "\t" + "".join(map(str, row)) + "\n"
        for row in numbers
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path
