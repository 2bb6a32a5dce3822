"""명령 `data`: 공개된 말뭉치를 받습니다."""

import re
from pathlib import Path

import click

from transformer_notes.cli.korean import Command, put, say
from transformer_notes.cli.options import Value, one_of
from transformer_notes.corpora import downloads

DATASET = one_of(*downloads.DATASETS)
ADDRESS = re.compile("https?://[^/]")
MIRROR = Value("URL", str, ADDRESS.match, "http나 https로 시작하는 주소가")


@click.command(cls=Command)
@click.argument("name", metavar="NAME", type=DATASET)
@click.option("--folder", type=Path, help="둘 폴더.")
@click.option("--mirror", type=MIRROR, help="출처 대신 받을 곳의 주소.")
def data(name, folder, mirror):
    """공개된 말뭉치를 받고, 둔 곳을 적습니다.

    NAME은 다음 가운데 하나입니다.
      chatbot      한국어 물음과 대답
      nsmc         네이버 영화 감상평
      python_docs  파이썬 문서와 그 한국어 번역
      multi30k     사진의 설명, 독일어와 영어

    허가서와 출처를 알린 다음에 받습니다. 이미 온전히 있으면 받지 않고,
    망가져 있으면 다시 받습니다. --mirror로 받아도 같은 파일인지 봅니다.

    --folder가 없으면 환경 변수 TRANSFORMER_NOTES_DATA의 폴더에, 그것도
    없으면 사용자의 캐시 폴더에 둡니다.

    예:
      transformer-notes data chatbot
      transformer-notes data nsmc --folder data
    """
    put(downloads.download(name, folder, mirror, say))
