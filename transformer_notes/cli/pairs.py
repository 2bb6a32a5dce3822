"""입력과 답의 짝: 파일을 읽고, 나누고, 토큰 번호로 바꿉니다."""

import hashlib
import itertools
import re
import unicodedata
from typing import NamedTuple

from transformer_notes import corpora
from transformer_notes._files import contents
from transformer_notes.cli.korean import BadInput, require, warn
from transformer_notes.cli.recipes import RECIPES
from transformer_notes.corpora import reviews, tables

LONGEST = 10_000  # 가장 긴 짝, 글자. 더 길면 토크나이저가 몇 분을 셉니다


class Row(NamedTuple):
    """파일의 한 줄."""

    source: str
    target: str
    #: 어느 문서나 영화의 것인지. 적혀 있지 않으면 None입니다.
    group: str | None = None


def read(path):
    """파일의 `Row`와 내용의 해시.

    첫 줄이 공개된 말뭉치의 것이면 `corpora`가 읽습니다. 아니면 두 칸의 파일입니다.
    """
    comma = path.name.lower().removesuffix(".gz").endswith(".csv")
    rows = tables.csv_rows if comma else tables.tsv_rows
    digest = hashlib.sha256(contents(path, tables.LARGEST)).hexdigest()
    _, first = next(rows(path), (0, []))
    first = tuple(field.strip() for field in first)
    if first == ("Q", "A", "label"):
        found = [Row(*talk[:2]) for talk in corpora.load_chatbot_csv(path)]
    elif first in (reviews.OFFICIAL, reviews.RAW):
        found = corpora.load_reviews(path)
        found = [Row(text, str(label), film) for text, label, film in found]
    elif first == ("document", "en", "ko"):
        found = [Row(*pair) for pair in corpora.load_python_docs(path)]
    else:
        form = "입력,답" if comma else "입력<탭>답"
        found = _two_columns(path, rows(path), form)
    require(found, f"{path}에는 짝이 되는 줄이 하나도 없습니다.")
    for row in found:
        require(
            len(row.source) + len(row.target) <= LONGEST,
            f"{path}에는 {LONGEST:,}글자 이하인 짝이 필요합니다. 받은 것: "
            f"{shortened(row.source)!r}로 시작하는 짝.",
        )
    # 떼어 둔 짝을 한 줄에 하나씩 적을 수 있게 합니다.
    return [
        Row(_one_line(row.source), _one_line(row.target), row.group) for row in found
    ], digest


def bundled(recipe):
    """패키지에 든 데이터. 날짜는 나눌 때 만들므로 여기에서는 없습니다."""
    if recipe == "dates":
        return None, None
    return [Row(*talk[:2]) for talk in corpora.conversations()], None


def _two_columns(path, rows, form):
    """`입력`과 `답`뿐인 줄. 빈 줄은 세어 알리고 건너뜁니다."""
    found, empty = [], 0
    for number, fields in rows:
        fields = [field.strip() for field in fields]
        if not any(fields):
            empty += 1
            continue
        pair = len(fields) == 2 and all(fields)
        given = f"칸 {len(fields)}개: {' | '.join(fields)}"
        tables.require(pair, path, number, f"'{form}'이", given)
        found.append(Row(*fields))
    if found and empty:
        warn(f"{path}의 빈 줄 {empty:,}개를 건너뜁니다.")
    return found


def _one_line(text):
    return re.sub(r"[\t\n]+", " ", text)


def write(path, pairs):
    """`read`가 읽는 꼴로 적습니다."""
    lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
    path.write_text(lines, encoding="utf-8", newline="\n")


def readable(tokenizer, text):
    """토크나이저가 모르는 글자를, 아는 글자로 된 같은 뜻의 꼴(NFKC)로 바꿉니다.

    전각 숫자 '２'가 '2'로 됩니다. 아는 글자는 학습한 그대로 둡니다.
    """
    try:
        unknown = tokenizer.unknown_characters(text)
    except ValueError:
        raise BadInput(
            f"글이 UTF-8이 아닙니다: {shortened(text)!r}. UTF-8로 적어 주세요."
        ) from None
    for character in unknown:
        plain = unicodedata.normalize("NFKC", character)
        if not tokenizer.unknown_characters(plain):
            text = text.replace(character, plain)
    return text


def shortened(text):
    """메시지에 옮길 만큼만 남깁니다."""
    return text if len(text) <= 40 else f"{text[:39]}…"


def split(rows, recipe, settings):
    """학습할 짝과 떼어 둘 짝. 같은 것은 한쪽에만 있습니다.

    같은 것은 날짜이면 같은 날, 문서나 영화가 적혀 있으면 그것, 아니면 같은 입력입니다.
    chatbot에서는 같은 답도 그렇습니다.
    """
    from transformer_notes.tokenization import NORMALIZATIONS

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

    def keys(row):
        yield ("group", row.group) if row.group else ("source", read(row.source))
        if RECIPES[recipe].by_answer:
            yield "target", read(row.target)

    try:
        parts = corpora.split_groups(rows, keys, max(rate, 1 / len(rows)), seed)
    except ValueError:
        raise BadInput(
            "데이터에는 떼어 두고도 남을 만큼 서로 다른 짝이 필요합니다. 받은 것: 서로 "
            f"이어진 짝 {len(rows):,}개. --held-out을 줄이거나 데이터를 더 모으세요."
        ) from None
    return tuple([row[:2] for row in part] for part in parts)


def labels_of(pairs):
    """학습할 짝의 답을 레이블로 볼 때 그 이름의 목록. 수이면 수의 순서입니다."""
    labels = sorted({target for _, target in pairs})
    require(
        len(labels) > 1,
        "데이터에는 서로 다른 레이블이 둘 이상 필요합니다. 받은 것: "
        f"{', '.join(labels)}.",
    )
    return sorted(labels, key=int) if all(map(str.isdecimal, labels)) else labels


def train_tokenizer(pairs, settings, labels):
    """짝의 입력과 답에서 함께 배운 토크나이저. 답이 레이블이면 입력에서만 배웁니다.

    크기가 None이면 글자마다 토큰 하나입니다.
    """
    from transformer_notes.tokenization import NORMALIZATIONS, SPECIAL_TOKENS, Tokenizer

    texts = [text for pair in pairs for text in pair[: 1 if labels else 2]]
    name, size = settings["normalization"], settings["vocab_size"]
    if size is None:
        read = map(NORMALIZATIONS[name].normalize_str, texts)
        size = len(SPECIAL_TOKENS) + len({" "}.union(*read))
    return Tokenizer.train(texts, size, normalization=name)


def encode(tokenizer, pairs, max_length, labels):
    """너무 길지 않은 짝과 그 토큰 번호의 짝. 뺀 것은 세어 알립니다."""
    if labels:
        pairs = _labelled(pairs, labels)
        rows = _label_rows(tokenizer, pairs, labels)
    else:
        rows = _target_rows(tokenizer, pairs)
    fits = [max(map(len, row)) <= max_length for row in rows]
    if not all(fits):
        warn(
            f"{max_length}토큰보다 긴 짝 {fits.count(False):,}개를 뺍니다. "
            "다 넣으려면 --max-length를 늘려 새로 학습하세요."
        )
    return list(itertools.compress(pairs, fits)), list(itertools.compress(rows, fits))


def _target_rows(tokenizer, pairs):
    sources = tokenizer.encode([source for source, _ in pairs], eos=True)
    targets = tokenizer.encode([target for _, target in pairs], bos=True, eos=True)
    pad_id = tokenizer.pad_id
    return [tuple(row[row != pad_id] for row in both) for both in zip(sources, targets)]


def _labelled(pairs, labels):
    kept = [pair for pair in pairs if pair[1] in labels]
    if len(kept) < len(pairs):
        warn(
            f"학습에 없던 레이블의 짝 {len(pairs) - len(kept):,}개를 뺍니다. 배운 "
            f"레이블: {shortened(', '.join(labels))}."
        )
    return kept


def _label_rows(tokenizer, pairs, labels):
    from transformer_notes.classification import label_pairs

    numbers = [labels.index(label) for _, label in pairs]
    return label_pairs(tokenizer, [text for text, _ in pairs], numbers)


def groups(items, size):
    """차례로 `size`개씩 묶습니다. 다 모이는 대로 내놓습니다."""
    items = iter(items)
    while group := list(itertools.islice(items, size)):
        yield group
