"""파이썬 문서와 그 한국어 번역."""

import re
from pathlib import Path
from typing import NamedTuple

from babel.messages.pofile import PoFileError, read_po

from transformer_notes.corpora import tables


class DocumentedPair(NamedTuple):
    """번역 하나."""

    #: 영어. 빈 글이 아닙니다.
    source: str
    #: 한국어. 빈 글이 아닙니다.
    target: str
    #: 문서의 이름, 이를테면 `library/math`.
    document: str


def load_python_docs(path):
    r"""파이썬 문서의 번역(python/python-docs-ko)을 읽습니다.

    파일이면 `document en ko`의 TSV입니다. 폴더이면 그 아래의 gettext `.po` 파일에서
    짝을 고릅니다.

    - 확정된 번역만 봅니다. fuzzy, 낡은 것, 빈 것, 복수형은 뺍니다.
    - reStructuredText의 역할, 링크, 글자 그대로, 강조의 표시를 지웁니다. 백슬래시로
      끊어 적은 것을 잇습니다. 줄바꿈과 이어진 공백은 공백 하나가 됩니다.
    - 한글이 없는 번역과, 영어 낱말이 없는 원문을 뺍니다. 네 글자가 안 되거나 소문자가
      셋 이어진 곳이 없으면 낱말이 없는 것으로 봅니다.
    - 똑같은 짝은 처음 나온 것만 둡니다.

    받아들이는 것은 `tables`에 적혀 있습니다.

    Args:
        path: TSV 파일, 또는 `.po` 파일의 폴더.

    Returns:
        `DocumentedPair`의 목록. 파일의 순서, 폴더이면 경로의 순서입니다.

    Raises:
        OSError: 읽지 못하는 파일이나 폴더.
        ValueError: 다른 첫 줄, 빈 칸이 있는 줄, `.po`가 없는 폴더, gettext가 아닌
            `.po`.

    Examples:
        >>> import tempfile
        >>> po = 'msgid "The :func:`len` of *s*."\nmsgstr "*s*\\\\의 :func:`len`."\n'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "functions.po").write_text(po, encoding="utf-8")
        ...     load_python_docs(folder)[0]
        DocumentedPair(source='The len of s.', target='s의 len.', document='functions')
    """
    path = Path(path)
    return _from_folder(path) if path.is_dir() else _from_tsv(path)


def _from_tsv(path):
    found = []
    for number, row in tables.read_tsv(path, ("document", "en", "ko")):
        given = " | ".join(row.values())
        tables.require(all(row.values()), path, number, "빈 칸이 없는 줄이", given)
        found.append(DocumentedPair(row["en"], row["ko"], row["document"]))
    return found


def _from_folder(folder):
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.po")}
    if not names:
        raise ValueError(
            f"{folder}에는 .po 파일이 필요합니다. 받은 것: 하나도 없는 폴더."
        )
    found = {}
    for name in sorted(names):
        for message in _translated(names[name]):
            source, target = _plain(message.id), _plain(message.string)
            if _is_english(source) and re.search("[가-힣]", target):
                found.setdefault((source, target), name.removesuffix(".po"))
    return [DocumentedPair(*pair, document) for pair, document in found.items()]


def _translated(path):
    texts = [text for _, text in tables.lines(path)]
    try:
        catalog = read_po(texts, abort_invalid=True)
    except (PoFileError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path}에는 gettext의 .po 파일이 필요합니다. 받은 것: babel이 읽지 못한 "
            f"파일({error}). babel은 줄을 0부터 셉니다."
        ) from None
    for message in catalog:
        if message.id and not message.fuzzy and not message.pluralizable:
            yield message


_NAMED = re.compile(r"^(.+?)\s*<[^<>]*>$")  # 글 <가리키는 것>
_ROLE = re.compile(r":[\w:+.-]+:`([^`]+)`")
_LINK = re.compile(r"`([^`<]+?)\s*<[^<>`]+>`__?")
_LITERAL = re.compile(r"``([^`]+)``")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")
# 곱셈이나 포인터의 별표와 구별합니다.
_EMPHASIS = re.compile(r"(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])")


def _plain(text):
    """표시를 지운 한 줄의 글."""
    text = " ".join(text.split()).replace("\\ ", "")
    text = _ROLE.sub(lambda role: _NAMED.sub(r"\1", role[1]).lstrip("~!"), text)
    for mark in (_LINK, _LITERAL, _STRONG, _EMPHASIS):
        text = mark.sub(r"\1", text)
    return " ".join(text.replace("\\", "").split())


def _is_english(text):
    return len(text) > 3 and re.search("[a-z]{3}", text)
