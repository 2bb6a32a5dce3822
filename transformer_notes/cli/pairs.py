"""입력과 답의 짝: 파일을 읽고, 나누고, 토큰 번호로 바꿉니다."""

import csv
import gzip
import hashlib
import itertools
import re
import unicodedata
import zlib

from transformer_notes.cli.korean import BadInput, warn

COLUMNS = ["입력", "답"]
HEADER = ["Q", "A"]  # 첫 줄에 이 이름이 있으면 그 열이 입력과 답입니다


def read(path):
    """파일의 짝과 내용의 해시. 빈 줄은 세어 알리고 건너뜁니다.

    이름이 .csv로 끝나면 쉼표로, 아니면 탭으로 나눕니다. .gz는 풀어서 읽습니다. 첫 줄이
    열의 이름이면 그 열만 읽습니다.
    """
    content = read_bytes(path)
    name = path.name.lower()
    plain = _unpacked(content, path) if name.endswith(".gz") else content
    comma = name.removesuffix(".gz").endswith(".csv")
    mark, rows = (",", _csv_rows) if comma else ("<탭>", _tsv_rows)
    names, places = COLUMNS, [0, 1]
    pairs, empty = [], 0
    for number, fields in rows(plain, path):
        fields = [field.strip() for field in fields]
        if not any(fields):
            empty += 1
        elif names is COLUMNS and not pairs and set(HEADER) <= set(fields):
            names, places = fields, [fields.index(name) for name in HEADER]
        elif len(fields) == len(names) and all(fields[place] for place in places):
            chosen = (fields[place] for place in places)
            pairs.append(tuple(unicodedata.normalize("NFC", text) for text in chosen))
        else:
            raise BadInput(
                f"{path}의 {number}번째 줄에는 '{mark.join(names)}'이 필요합니다. "
                f"받은 것: 칸 {len(fields)}개, {shortened(mark.join(fields))!r}."
            )
    if not pairs:
        raise BadInput(f"{path}에는 '{mark.join(names)}'인 줄이 하나도 없습니다.")
    if empty:
        warn(f"{path}의 빈 줄 {empty:,}개를 건너뜁니다.")
    return pairs, hashlib.sha256(content).hexdigest()


def _unpacked(content, path):
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        raise BadInput(
            f"{path}은(는) 온전한 gzip 파일이 아닙니다. 다시 받아 주세요."
        ) from None


def _tsv_rows(content, path):
    for number, line in enumerate(_lines(content, path), start=1):
        yield number, line.split("\t")


def _csv_rows(content, path):
    """줄의 번호와 칸들. 따옴표 안의 줄바꿈과 탭은 공백으로 읽습니다."""
    lines = (f"{line}\n" for line in _lines(content, path))
    rows, number = csv.reader(lines, strict=True), 1
    try:
        for fields in rows:
            yield number, [" ".join(re.split(r"[\t\r\n]+", text)) for text in fields]
            number = rows.line_num + 1
    except csv.Error:
        raise BadInput(
            f"{path}의 {number}번째 줄은 CSV가 아닙니다. 따옴표의 짝을 살펴보세요."
        ) from None


def write(path, pairs):
    """`read`가 읽는 꼴로 적습니다."""
    lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
    path.write_text(lines, encoding="utf-8", newline="\n")


def read_bytes(path):
    """파일의 내용. 읽지 못하면 그 까닭을 말합니다."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"파일이 없습니다: {path}.") from None
    except IsADirectoryError:
        raise BadInput(f"파일이 필요합니다. 받은 것: 폴더 {path}.") from None
    except PermissionError:
        raise BadInput(f"파일을 읽을 권한이 없습니다: {path}.") from None


def _lines(content, name):
    raw_lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, raw in enumerate(raw_lines[: len(raw_lines) - (not raw_lines[-1])], 1):
        yield decode_line(raw, number, name)


def decode_line(raw, number, name):
    """UTF-8로 적은 한 줄. 줄바꿈은 뗍니다."""
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise BadInput(
            f"{name}의 {number}번째 줄은 UTF-8이 아닙니다. 파일을 UTF-8로 바꾸어 "
            "주세요 (예: iconv -f cp949 -t utf-8)."
        ) from None


def readable(tokenizer, text):
    """토크나이저가 모르는 글자를, 아는 글자로 된 같은 뜻의 꼴(NFKC)로 바꿉니다.

    전각 숫자 '２'가 '2'로 됩니다. 아는 글자는 학습한 그대로 둡니다.
    """
    for character in tokenizer.unknown_characters(text):
        plain = unicodedata.normalize("NFKC", character)
        if not tokenizer.unknown_characters(plain):
            text = text.replace(character, plain)
    return text


def shortened(text):
    """메시지에 옮길 만큼만 남깁니다."""
    return text if len(text) <= 40 else f"{text[:39]}…"


def split(pairs, recipe, settings):
    """학습할 짝과 떼어 둘 짝. 같은 날이나 같은 입력은 한쪽에만 있습니다."""
    import numpy as np

    from transformer_notes import corpora
    from transformer_notes.normalization import NORMALIZATIONS

    rate, seed = settings["held_out"], settings["seed"]
    if recipe == "dates":
        days, held_out_days = corpora.split_days(rate, seed)
        count = settings["count"]
        held_out_count = max(1, round(count * rate))
        return (
            corpora.dates(count, seed, days),
            corpora.dates(held_out_count, seed + 1, held_out_days),
        )
    read = NORMALIZATIONS[settings["normalization"]].normalize_str
    sources = sorted({read(source) for source, _ in pairs})
    if len(sources) < 2:
        raise BadInput(
            "데이터에는 서로 다른 입력이 둘 이상 필요합니다. 하나는 채점하려고 떼어 "
            f"둡니다. 받은 것: {len(sources)}개."
        )
    order = np.random.default_rng(seed).permutation(len(sources))
    held_out = {sources[place] for place in order[: max(1, round(rate * len(order)))]}
    return (
        [pair for pair in pairs if read(pair[0]) not in held_out],
        [pair for pair in pairs if read(pair[0]) in held_out],
    )


def train_tokenizer(pairs, settings):
    """짝의 입력과 답에서 함께 배운 토크나이저. 크기가 None이면 글자마다 토큰 하나."""
    from transformer_notes.normalization import NORMALIZATIONS
    from transformer_notes.tokenization import SPECIAL_TOKENS, Tokenizer

    texts = [text for pair in pairs for text in pair]
    name, size = settings["normalization"], settings["vocab_size"]
    if size is None:
        read = map(NORMALIZATIONS[name].normalize_str, texts)
        size = len(SPECIAL_TOKENS) + len({" "}.union(*read))
    return Tokenizer.train(texts, size, normalization=name)


def encode(tokenizer, pairs, max_length):
    """너무 길지 않은 짝과 그 토큰 번호의 짝. 뺀 것은 세어 알립니다."""
    sources = tokenizer.encode([source for source, _ in pairs], eos=True)
    targets = tokenizer.encode([target for _, target in pairs], bos=True, eos=True)
    kept, ids = [], []
    for pair, *rows in zip(pairs, sources, targets):
        rows = tuple(row[row != tokenizer.pad_id] for row in rows)
        if max(map(len, rows)) <= max_length:
            kept.append(pair)
            ids.append(rows)
    if len(kept) < len(pairs):
        warn(
            f"{max_length}토큰보다 긴 짝 {len(pairs) - len(kept):,}개를 뺍니다. "
            "넣으려면 --max-length를 늘리세요."
        )
    return kept, ids


def groups(items, size):
    """차례로 `size`개씩 묶습니다. 다 모이는 대로 내놓습니다."""
    items = iter(items)
    while group := list(itertools.islice(items, size)):
        yield group
