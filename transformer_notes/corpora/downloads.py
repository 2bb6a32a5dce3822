"""공개된 말뭉치를 받습니다. TensorFlow는 필요 없습니다.

어느 커밋의 무엇인지 아는 파일만 받습니다. 지문이 맞은 다음에야 그 이름을 붙입니다.
"""

import errno
import gzip
import hashlib
import io
import os
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from transformer_notes import _arguments
from transformer_notes.corpora import tables
from transformer_notes.corpora.python_docs import load_python_docs

TIMEOUT = 30  # 이만큼의 초 동안 아무것도 오지 않으면 그만둡니다
LONGEST = 1800  # 파일 하나를 받는 데에 쓰는 가장 긴 시간, 초
RETRIES = 2  # 실패하면 이만큼 다시 해 봅니다
ENVIRONMENT = "TRANSFORMER_NOTES_DATA"


class DownloadError(OSError):
    """받지 못했습니다. 메시지가 그 까닭을 말합니다."""


class File(NamedTuple):
    """받을 파일 하나."""

    #: 말뭉치의 주소 아래에서 부르는 이름.
    remote: str
    #: 폴더에 둘 이름.
    name: str
    #: 그 파일의 지문. 64자리이면 SHA-256, 40자리이면 git이 내용에 붙이는 번호입니다.
    digest: str
    #: 받는 것이 `.po`의 보관 파일인지. 골라 적은 짝만 두고, 지문도 그 글의 것입니다.
    archive: bool = False


class Dataset(NamedTuple):
    """공개된 말뭉치 하나."""

    #: 무엇인지 한 줄로.
    what: str
    #: 허가서.
    licence: str
    #: 출처의 쪽.
    home: str
    #: 파일들이 놓인 주소.
    base: str
    #: 받을 파일들.
    files: tuple[File, ...]


_RAW = "https://raw.githubusercontent.com"
_MULTI30K = """\
train.de.gz 726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6
train.en.gz d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f
val.de.gz f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a
val.en.gz 14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28
test_2016_flickr.de.gz 9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8
test_2016_flickr.en.gz 611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9
"""
DATASETS = {
    "chatbot": Dataset(
        "한국어 물음과 대답 11,823쌍",
        "MIT",
        "https://github.com/songys/Chatbot_data",
        f"{_RAW}/songys/Chatbot_data/master",
        (
            File(
                "ChatbotData.csv",
                "ChatbotData.csv",
                "287eb129695b577321c80ad397bb3c2279164d4ca577874d129fd3db5b30afe2",
            ),
        ),
    ),
    "nsmc": Dataset(
        "네이버 영화 감상평 200,000개",
        "CC0 1.0",
        "https://github.com/e9t/nsmc",
        f"{_RAW}/e9t/nsmc/cc0670e872d4ac27bfe36c87456783004b39ef6c",
        (
            File(
                "ratings_train.txt",
                "ratings_train.txt",
                "ac0dba272895dc1d0b3dd5f11afbeaeb7abe7876",
            ),
            File(
                "ratings_test.txt",
                "ratings_test.txt",
                "b6cfcd8cd1557bcd9bf06617b0e429ed73e9a367",
            ),
        ),
    ),
    "python_docs": Dataset(
        "파이썬 문서와 그 한국어 번역 30,516쌍",
        "파이썬 문서와 같음 (PSF License Version 2)",
        "https://github.com/python/python-docs-ko",
        "https://codeload.github.com/python/python-docs-ko/tar.gz",
        (
            File(
                "d0c58403de225366b23d0cafd8b86508186c8c8a",
                "python_docs.en-ko.tsv.gz",
                "8c09a6d50f9c91204512d6565e3eac962d815d963a4fb01eb165b5caa3f717b4",
                archive=True,
            ),
        ),
    ),
    "multi30k": Dataset(
        "사진의 설명 독일어–영어 31,014쌍",
        "연구용. 조건은 출처에 적혀 있습니다",
        "https://github.com/multi30k/dataset",
        f"{_RAW}/multi30k/dataset/master/data/task1/raw",
        tuple(
            File(remote, f"multi30k.{remote}", digest)
            for remote, digest in map(str.split, _MULTI30K.splitlines())
        ),
    ),
}


def download(name, folder=None, mirror=None, say=print):
    """공개된 말뭉치를 받습니다. 이미 온전히 있으면 받지 않습니다.

    받기 전에 허가서와 출처를 알립니다. 끊기거나 엉뚱한 것이 오면 몇 번 다시 해 봅니다.
    끝내 지문이 맞지 않은 것은 남기지 않습니다. 망가진 옛 파일은 지우고 다시 받습니다.

    `python_docs`는 저장소의 보관 파일을 받아 `corpora.load_python_docs`로 짝을 골라
    TSV로 적습니다. 보관 파일의 지문은 아무도 약속하지 않으므로, 고른 짝의 지문을
    봅니다. 이 책이 잰 것과는 별표를 지운 자리가 열네 쌍에서 다릅니다.

    Args:
        name: `DATASETS`에 있는 이름.
        folder: 둘 폴더. 없으면 만듭니다. None이면 환경 변수 `TRANSFORMER_NOTES_DATA`의
            폴더, 그것도 없으면 사용자의 캐시 폴더입니다.
        mirror: 다른 곳에서 받으려면 `Dataset.base` 대신 쓸 주소, `http`나 `https`.
            지문은 그대로 확인합니다.
        say: 알릴 것을 한 줄씩 받는 함수.

    Returns:
        받은 파일의 `pathlib.Path`. 파일이 여럿이면 그것들이 든 폴더입니다.

    Raises:
        ValueError: 모르는 이름.
        DownloadError: 받지 못했습니다.
        OSError: 쓰지 못하는 폴더, 가득 찬 디스크.
    """
    dataset = DATASETS[_arguments.choice("name", name, DATASETS)]
    base = dataset.base if mirror is None else mirror.rstrip("/")
    folder = _folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    say(f"{name}: {dataset.what}")
    say(f"허가서: {dataset.licence}")
    say(f"출처: {dataset.home}")
    for file in dataset.files:
        path = folder / file.name
        if path.exists() and _is_whole(file, path):
            say(f"이미 온전히 있습니다: {path}")
        else:
            path.unlink(missing_ok=True)
            _fetch(file, f"{base}/{file.remote}", folder, say)
    return folder / file.name if len(dataset.files) == 1 else folder


def _folder(given):
    import pooch

    chosen = given or os.environ.get(ENVIRONMENT) or pooch.os_cache("transformer-notes")
    return Path(chosen).expanduser()


def _is_whole(file, path):
    try:
        content = path.read_bytes()
        if file.archive:
            content = tables.unzipped(path, content)
    except ValueError:
        return False
    if len(file.digest) == 40:  # git은 종류와 크기를 앞에 붙여 번호를 매깁니다
        found = hashlib.sha1(b"blob %d\0" % len(content) + content)
    else:
        found = hashlib.sha256(content)
    return found.hexdigest() == file.digest


def _fetch(file, url, folder, say):
    """옆에 받고, 다시 해 보고, 다 된 것에 이름을 붙이는 일은 pooch가 합니다."""
    import pooch
    import requests

    def receive(url, output, _):
        say(f"받습니다: {url}")
        output = Path(output)
        _receive(url, output)
        if file.archive:
            output.write_bytes(_table(output.read_bytes()))
        if not _is_whole(file, output):
            raise ValueError(f"{file.name}의 지문이 아닙니다.")

    pooch.get_logger().setLevel("WARNING")  # 알리는 것은 say가 합니다
    fetcher = pooch.create(
        folder,
        base_url="",
        registry={file.name: None},  # 지문은 receive가 봅니다
        urls={file.name: url},
        retry_if_failed=RETRIES,
    )
    try:
        fetcher.fetch(file.name, downloader=receive)
    except (requests.RequestException, ValueError) as error:
        raise DownloadError(
            f"{_reason(error)} 조금 뒤에 다시 하거나 다른 곳의 주소를 mirror로 주세요. "
            f"받은 곳: {url}"
        ) from error
    except PermissionError:  # pooch는 까닭을 영어로만 적습니다
        code = errno.EACCES
        raise PermissionError(code, os.strerror(code), str(folder)) from None


def _receive(url, path):
    """주소의 내용을 받습니다. 끝없이 오거나 한 바이트씩 오는 것은 그만둡니다."""
    import requests
    import tqdm
    import urllib3

    end = time.monotonic() + LONGEST
    with requests.get(url, stream=True, timeout=TIMEOUT) as response:
        response.raise_for_status()
        bar = tqdm.tqdm(
            total=response.raw.length_remaining,
            unit="B",
            unit_scale=True,
            disable=not sys.stderr.isatty(),
        )
        try:
            with bar, open(path, "wb") as file:
                while chunk := response.raw.read1(2**16, decode_content=True):
                    file.write(chunk)
                    bar.update(len(chunk))
                    if file.tell() > tables.LARGEST or time.monotonic() > end:
                        raise DownloadError(
                            f"{tables.LARGEST:,}바이트나 {LONGEST}초를 넘게 옵니다. "
                            f"받은 곳: {url}"
                        )
        except urllib3.exceptions.HTTPError as error:
            raise requests.ConnectionError(error) from None


def _reason(error):
    import requests
    import urllib3

    if isinstance(error, requests.HTTPError):
        return f"서버가 거절했습니다({error.response.status_code})."
    # 내용을 받다가 기다린 것은 ConnectionError 안에 들어 있습니다.
    stalled = requests.Timeout, urllib3.exceptions.ReadTimeoutError
    if any(isinstance(cause, stalled) for cause in (error, *error.args)):
        return f"{TIMEOUT}초 동안 아무것도 오지 않았습니다."
    if isinstance(error, requests.ConnectionError):
        return "서버에 닿지 못했거나 받다가 끊겼습니다."
    return f"받지 못했습니다({error})."


def _table(content):
    """보관 파일의 .po에서 고른 짝을 gzip으로 줄인 TSV로 적습니다."""
    content = tables.unzipped("받은 보관 파일", content)
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            tarfile.open(fileobj=io.BytesIO(content)) as archive,
        ):
            members = [m for m in archive if m.isfile() and m.name.endswith(".po")]
            for member in members:
                member.name = member.name.partition("/")[2]  # 맨 위 폴더를 뗍니다
            archive.extractall(folder, members, filter="data")
            pairs = load_python_docs(folder)
    except tarfile.TarError:
        raise ValueError("받은 보관 파일이 온전한 tar가 아닙니다.") from None
    rows = [(pair.document, pair.source, pair.target) for pair in pairs]
    rows.insert(0, ("document", "en", "ko"))
    text = "".join("\t".join(row) + "\n" for row in rows)
    return gzip.compress(text.encode(), mtime=0)
