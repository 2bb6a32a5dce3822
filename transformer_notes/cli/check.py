"""명령 `check`: 독자의 함수나 층을 다른 프로세스에서 확인합니다."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import click

from transformer_notes.cli.korean import BadInput, Command, Failed, put, require, say
from transformer_notes.cli.options import AMOUNT, KIND, MASK_TRUE, NAME, TARGET

PACKAGE = Path(__file__).resolve().parents[2]
SHOWN = 20, 2_000  # 독자의 출력 가운데 보일 줄과 바이트
EXIT_CODES = {"right": 0, "known": 1, "wrong": 1, "unjudged": 3}
STARTING = 60  # 독자의 코드 앞에서 쓰는 시간의 한도, 초. 느린 기계에서도 넉넉합니다


class Needed(click.Option):
    """꼭 주어야 하는 옵션. click은 도움말에 그것을 영어로 적습니다."""

    def get_help_extra(self, ctx):
        extra = super().get_help_extra(ctx)
        extra.pop("required", None)
        return extra


@click.command(cls=Command)
@click.argument("target", metavar="FILE:NAME", type=TARGET)
@click.option(
    "--as", "kind", cls=Needed, type=KIND, required=True, help="무엇을 썼는지."
)
@click.option(
    "--mask-true",
    type=MASK_TRUE,
    default="attend",
    help="True의 뜻: attend(봄), hide(가림). [기본값: attend]",
)
@click.option("--adapter", type=NAME, help="부르는 법을 바꾸는 함수의 이름.")
@click.option("--seconds", type=AMOUNT, default=60, help="시한, 초. [기본값: 60]")
@click.option(
    "--memory", type=AMOUNT, default=4, help="더 써도 되는 메모리, GiB. [기본값: 4]"
)
@click.pass_context
def check(ctx, target, kind, mask_true, adapter, seconds, memory):
    """FILE에 있는 함수나 층 NAME이 맞는지 확인합니다.

    맞으면 맞다고, 아니면 어느 실수인지 가장 작은 예와 함께 적습니다.
    KIND는 명령 exercise가 적는 이름 가운데 하나입니다.

    FILE은 다른 프로세스에서 실행합니다. 시한이나 메모리를 넘으면
    멈추고, 그때 있던 줄을 말합니다. FILE이 적는 글은 표준 오류에
    첫머리만 옮깁니다.

    인자의 이름도 순서도 다르면 FILE에 adapter(함수, *우리의 인자)를 적고 그
    이름을 --adapter로 줍니다.

    남의 코드를 가두어 두는 곳은 아닙니다. 믿지 못하는 파일은
    검사하지 마세요.

    끝내기 코드: 0 맞음, 1 맞지 않거나 끝까지 보지 못함,
    2 받은 것이 잘못됨, 3 맞는지 모름.

    예:
      transformer-notes check my_attention.py:attention --as attention
      transformer-notes check my.py:mask --as padding_mask --mask-true hide
    """
    path, name = target
    require(path.is_file(), f"파일이 없거나 파일이 아닙니다: {path}.")
    answer = _judge(path, name, kind, mask_true, adapter, seconds, memory)
    for word, refusal in ("bad", BadInput), ("failed", Failed):
        if word in answer:
            raise refusal(answer[word])
    for line in answer["message"].splitlines():
        put(_opened(line), **_style(line, answer["verdict"]))
    if re.search(r"MemoryError|bad_alloc|ResourceExhausted", answer["message"]):
        say(_too_much_memory(memory))
    ctx.exit(EXIT_CODES[answer["verdict"]])


def _judge(path, name, kind, mask_true, adapter, seconds, memory):
    """다른 프로세스에서 확인하고, 그 답이나 답하지 못한 까닭을 돌려줍니다."""
    with tempfile.TemporaryDirectory() as folder:
        answer, trace = Path(folder, "answer"), Path(folder, "trace")
        task = {
            "path": str(path),
            "name": name,
            "kind": kind,
            "mask_true": mask_true,
            "adapter": adapter,
            "seconds": seconds,
            "memory": memory,
            "answer": str(answer),
            "trace": str(trace),
        }
        code, printed = _run(json.dumps(task), seconds + STARTING)
        _show(printed)
        if answer.exists():
            return json.loads(answer.read_text(encoding="utf-8"))
        late, where = _read_trace(path, trace)
    if code is None or late:
        why = (
            f"{seconds:g}초 안에 끝나지 않아 멈추었습니다.{where} 되풀이가 끝나는지 "
            "보고, 그저 느린 것이면 --seconds를 늘리세요."
        )
    elif code < 0:
        why = f"프로그램이 신호 {_signal_name(-code)}로 죽었습니다.{where}"
        if -code in (signal.SIGABRT, getattr(signal, "SIGKILL", None)):
            why += f" {_too_much_memory(memory)}"
    else:
        why = (
            f"확인을 마치기 전에 프로그램이 끝났습니다(코드 {code}). "
            "os._exit를 부르는 곳이 있는지 보세요."
        )
    return {"failed": why}


def _run(task, seconds):
    """끝내기 코드(시한이 지나면 None)와 적은 글의 첫머리를 돌려줍니다."""
    process = subprocess.Popen(
        # -P: 지금 폴더에 있는 numpy.py 같은 파일이 진짜를 가리지 않게 합니다.
        [sys.executable, "-P", "-m", "transformer_notes.cli.judge", task],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # TensorFlow의 로그
        env=_environment(),
        start_new_session=True,  # 딸린 프로세스까지 한꺼번에 끝냅니다
    )
    printed = bytearray()
    reader = threading.Thread(target=_read, args=(process.stdout, printed), daemon=True)
    reader.start()
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        code = None
    finally:  # Ctrl-C로 멈출 때에도
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        reader.join(1)
    return code, bytes(printed)


def _environment():
    paths = [str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUTF8": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",  # 작은 예에는 CPU가 빠르고 언제나 같습니다
    }


def _read(pipe, printed):
    """끝까지 읽되 첫머리만 남깁니다. 읽지 않으면 적는 쪽이 기다립니다."""
    while block := pipe.read1(65_536):
        printed += block[: SHOWN[1] + 1 - len(printed)]


def _show(printed):
    lines, most = printed.decode("utf-8", "replace")[: SHOWN[1]].splitlines(), SHOWN[0]
    for line in lines[:most]:
        say(f"| {line}")
    if len(lines) > most or len(printed) > SHOWN[1]:
        say("| (나머지 출력은 옮기지 않습니다)")


def _read_trace(path, trace):
    """faulthandler가 적은 것에서 시한이 지났는지와 독자의 파일에 있던 줄을 읽습니다."""
    text = trace.read_text(encoding="utf-8", errors="replace") if trace.exists() else ""
    # faulthandler는 이름을 ASCII로 적습니다.
    name = str(path.resolve()).encode("ascii", "backslashreplace").decode()
    found = re.search(rf'File "{re.escape(name)}", line (\d+)', text)
    where = f" 그때 {path} {found[1]}번째 줄에 있었습니다." if found else ""
    return text.startswith("Timeout"), where


def _signal_name(number):
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return str(number)


def _too_much_memory(memory):
    return (
        f"메모리를 {memory:g} GiB보다 더 쓰려고 했을 수 있습니다. "
        "꼭 필요하면 --memory를 늘리세요."
    )


def _opened(line):
    """터미널에는, 지은 사이트가 곁에 있으면 읽을 곳을 열 수 있는 주소로 적습니다."""
    from transformer_notes.checker.messages import PAGE

    page = PACKAGE / "build" / "html" / PAGE
    opens = sys.stdout.isatty() and page.is_file()
    return line.replace(PAGE, page.as_uri()) if opens else line


def _style(line, verdict):
    """맞으면 초록, 모르면 노랑, 실수의 제목은 굵은 빨강입니다."""
    colours = {"right": "green", "unjudged": "yellow"}
    if verdict in colours:
        return {"fg": colours[verdict]}
    return {"fg": "red", "bold": True} if line.startswith("실수 ") else {}
