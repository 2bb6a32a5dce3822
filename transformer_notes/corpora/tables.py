"""줄과 칸으로 된 파일을 있는 그대로 읽습니다.

바이트 순서 표시, 윈도의 줄바꿈, 칸 끝의 공백, 빈 줄, 없는 마지막 줄바꿈, 풀어 쓴
한글(NFD), gzip으로 줄인 것을 받아들입니다. 글은 NFC로 내놓습니다.
"""

import csv
import gzip
import io
import unicodedata
import zlib

from transformer_notes._files import contents

LARGEST = 2**28  # 파일의 가장 큰 크기, 바이트. gzip을 푼 것도 그렇습니다
SHOWN = 60  # 메시지에 옮길 글자 수


def lines(path):
    """글 파일의 줄을 번호와 함께 내놓습니다. 빈 줄도 셉니다.

    Args:
        path: 파일의 경로. gzip이면 풀어서 읽습니다. 이름은 보지 않습니다.

    Yields:
        `(줄 번호, 글)`. 번호는 1부터이고, 글은 NFC이며 줄바꿈이 없습니다.

    Raises:
        OSError: 읽지 못하는 파일.
        ValueError: 망가진 gzip, 너무 큰 파일, UTF-8이 아닌 줄.
    """
    content = contents(path, LARGEST)
    if content.startswith(b"\x1f\x8b"):
        content = unzipped(path, content)
    parts = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not parts[-1]:
        parts.pop()
    for number, raw in enumerate(parts, start=1):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(
                f"{path}의 {number}번째 줄은 UTF-8이 아닙니다. 파일을 UTF-8로 바꾸어 "
                "주세요 (예: iconv -f cp949 -t utf-8)."
            ) from None
        yield number, unicodedata.normalize("NFC", text.rstrip("\r"))


def unzipped(name, content):
    """gzip을 풉니다.

    Args:
        name: 메시지에서 부를 이름.
        content: gzip으로 줄인 바이트열.

    Raises:
        ValueError: 망가진 gzip, 풀면 너무 큰 것.
    """
    try:
        with gzip.open(io.BytesIO(content)) as file:
            found = file.read(LARGEST + 1)
    except (EOFError, OSError, zlib.error):
        found = None
    if found is None or len(found) > LARGEST:
        raise ValueError(
            f"{name}에는 온전하고, 풀어도 {LARGEST:,}바이트 이하인 gzip 파일이 "
            "필요합니다. 받은 것: 끝이 잘렸거나 바뀌었거나 더 큰 파일."
        )
    return found


def read_csv(path, *headers):
    """쉼표로 나눈 파일의 줄. 따옴표 안의 쉼표와 줄바꿈은 칸의 글입니다.

    Args:
        path: 파일의 경로.
        *headers: 받아들일 첫 줄들. 저마다 칸의 이름의 튜플입니다.

    Yields:
        `(줄 번호, 칸의 이름마다 글)`. 번호는 그 줄이 시작하는 곳의 것입니다.

    Raises:
        OSError: 읽지 못하는 파일.
        ValueError: 첫 줄이나 칸의 수가 다른 줄, 닫지 않은 따옴표, `lines`가 거절한 것.
    """
    return _named(path, csv_rows(path), headers, "쉼표로 나눈")


def read_tsv(path, *headers):
    """탭으로 나눈 파일의 줄. 따옴표도 글자입니다. 나머지는 `read_csv`와 같습니다."""
    return _named(path, tsv_rows(path), headers, "탭으로 나눈")


def tsv_rows(path):
    """탭으로 나눈 파일의 `(줄 번호, 칸의 목록)`. 첫 줄도 빈 줄도 내놓습니다."""
    return ((number, line.split("\t")) for number, line in lines(path))


def csv_rows(path):
    """쉼표로 나눈 파일의 `(줄 번호, 칸의 목록)`. 첫 줄도 빈 줄도 내놓습니다.

    Raises:
        OSError: 읽지 못하는 파일.
        ValueError: 닫지 않은 따옴표, `lines`가 거절한 것.
    """
    reader = csv.reader((f"{line}\n" for _, line in lines(path)), strict=True)
    while True:
        number = reader.line_num + 1
        try:
            yield number, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"{path}의 {number}번째 줄에는 따옴표의 짝이 맞고 칸마다 "
                f"{csv.field_size_limit():,}글자 이하인 CSV가 필요합니다. 받은 것: "
                f"csv가 읽지 못한 줄 ({error}). 글 안의 따옴표는 두 번 적습니다."
            ) from None


def require(good, path, number, expected, given):
    """good이 아니면 그 줄을 거절합니다. 어디의 무엇이 왜 잘못인지 말합니다."""
    if len(given) > SHOWN:
        given = given[: SHOWN - 1] + "…"
    if not good:
        raise ValueError(
            f"{path}의 {number}번째 줄에는 {expected} 필요합니다. 받은 것: {given!r}."
        )


def _named(path, rows, headers, split):
    """칸의 끝을 다듬고, 첫 줄에 맞는 이름을 답니다. 빈 줄은 건너뜁니다."""
    rows = ((number, [field.strip() for field in fields]) for number, fields in rows)
    rows = ((number, fields) for number, fields in rows if any(fields))
    number, names = next(rows, (1, []))
    expected = " 또는 ".join(f"'{', '.join(header)}'" for header in headers)
    expected = f"{split} 이름({expected})이"
    require(tuple(names) in headers, path, number, expected, ", ".join(names))
    expected = f"{split} {len(names)}칸({', '.join(names)})이"
    for number, fields in rows:
        given = f"{len(fields)}칸: {' | '.join(fields)}"
        require(len(fields) == len(names), path, number, expected, given)
        yield number, dict(zip(names, fields))
