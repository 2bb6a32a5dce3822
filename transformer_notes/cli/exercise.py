"""명령 `exercise`: 연습문제의 뼈대를 적습니다."""

import shlex
from pathlib import Path

import click

from transformer_notes import exercises
from transformer_notes._files import replacing
from transformer_notes.cli.korean import Command, put, require
from transformer_notes.cli.options import FILE, KIND


@click.command(cls=Command)
@click.argument("kind", metavar="[KIND]", type=KIND, required=False)
@click.argument("file", metavar="[FILE]", type=FILE, required=False)
def exercise(kind, file):
    """연습문제의 뼈대를 파일로 적고, 확인하는 명령을 알려 줍니다.

    KIND가 없으면 무엇이 있는지 한 줄에 하나씩 적습니다.

    FILE이 없으면 my_KIND.py에 적습니다. 이미 있는 파일에는 적지
    않습니다.

    예:
      transformer-notes exercise
      transformer-notes exercise attention
      transformer-notes exercise attention answers/attention.py
    """
    if kind is None:
        for known in exercises.kinds():
            put(f"{known:22}{exercises.title(known)}")
        return
    file = file or Path(f"my_{kind}.py")
    require(
        not file.exists(),
        f"이미 있는 파일에는 적지 않습니다: {file}. 다른 이름을 주세요.",
    )
    with replacing(file) as partial:
        partial.write_text(exercises.skeleton(kind), encoding="utf-8")
    put(f"{file}에 뼈대를 적었습니다. 빈자리를 채운 다음 확인하세요.")
    target = shlex.quote(f"{file}:{exercises.name(kind)}")
    put(f"  transformer-notes check {target} --as {kind}")
