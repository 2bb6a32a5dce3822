"""명령줄의 시험이 함께 쓰는 것: 명령을 실행하는 법, 터미널, 아주 작은 학습."""

import contextlib
import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
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


#: 커서를 옮기고 색을 바꾸는 제어 문자
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


class Terminal:
    """진짜 터미널에서 도는 명령."""

    def __init__(self, *arguments, **streams):
        self.inside, outside = pty.openpty()
        streams = {"stdin": outside, "stdout": outside, "stderr": outside} | streams
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=ROOT,
            env=os.environ | {"TERM": "xterm", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            **streams,
        )
        os.close(outside)
        self.shown = b""

    def wait_for(self, text):
        """`text`가 화면에 나올 때까지 읽고, 거기까지를 지웁니다."""
        while text not in (seen := CONTROL.sub("", self.shown.decode("utf-8"))):
            ready, _, _ = select.select([self.inside], [], [], 600)
            assert ready, f"{text!r}이(가) 나오지 않습니다:\n{seen}"
            self.shown += self._read()
        before, _, after = seen.partition(text)
        self.shown = after.encode()
        return before

    def _read(self):
        try:
            chunk = os.read(self.inside, 65536)
        except OSError:
            chunk = b""
        assert chunk, f"끝나 버렸습니다:\n{self.shown.decode('utf-8', 'replace')}"
        if b"\x1b[6n" in chunk:  # 커서가 어디 있는지 묻습니다
            os.write(self.inside, b"\x1b[1;1R")
        return chunk

    def type(self, text):
        os.write(self.inside, text.encode())

    def end(self):
        """끝나기를 기다리고, 남은 것을 `shown`에 마저 읽습니다."""
        code = self.process.wait(timeout=600)
        with contextlib.suppress(OSError):  # 다 읽으면 EIO입니다
            while chunk := os.read(self.inside, 65536):
                self.shown += chunk
        os.close(self.inside)
        return code

    def kill(self):
        """시험이 실패해도 남지 않게 합니다."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def write_pairs(path):
    """낱말의 열을 숫자로 적는 짝 216개."""
    numbers = np.stack(np.meshgrid(*[range(6)] * 3), axis=-1).reshape(-1, 3)
    lines = (
        " ".join(WORDS[n] for n in row) + "\t" + "".join(map(str, row)) + "\n"
        for row in numbers
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path
