"""줄과 칸의 파일을 있는 그대로 읽고, 잘못된 줄은 어디인지 말하며 거절한다."""

import csv
import gzip
import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes.corpora import tables

HEADER = "Q", "A", "label"
# 흔한 글자 사이에 쉼표, 따옴표, 공백, 조합하는 글자가 자주 섞이게 합니다.
characters = st.one_of(
    st.sampled_from(",\"'\t ;가각힣ㅋ́≠\u3000\ufeff"),
    st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]),
)
texts = st.text(characters, max_size=8)
forms = st.fixed_dictionaries(
    {
        "mark": st.booleans(),
        "end": st.sampled_from(["\n", "\r\n"]),
        "last_end": st.booleans(),
        "zipped": st.booleans(),
        "form": st.sampled_from(["NFC", "NFD"]),
    }
)


def kept(fields):
    """읽은 다음에 남아야 할 글."""
    return [unicodedata.normalize("NFC", field).strip() for field in fields]


def write(path, text, *, mark, end, last_end, zipped, form):
    if not last_end:
        text = text.removesuffix(end)
    content = unicodedata.normalize(form, text).encode("utf-8-sig" if mark else "utf-8")
    path.write_bytes(gzip.compress(content) if zipped else content)


# --- 있는 그대로 --------------------------------------------------------------------


@given(
    rows=st.lists(st.tuples(*[texts | st.text('\n가,"')] * 3), max_size=6),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    blanks=st.lists(st.sampled_from(["", " ", ",,", '"",,', " , ,\t"]), max_size=3),
    form=forms,
)
def test_every_row_that_csv_writes_is_read_back(
    tmp_path_factory, rows, quoting, blanks, form
):
    path = tmp_path_factory.mktemp("csv") / "any.name"
    written, expected = io.StringIO(), []
    writer = csv.writer(written, quoting=quoting, lineterminator=form["end"])
    writer.writerow(HEADER)
    for row in rows:
        for blank in blanks:
            written.write(blank + form["end"])
        # 인용하지 않은 공백뿐인 줄과 구별되지 않는 것은 빈 줄입니다.
        number = written.getvalue().count("\n") + 1
        writer.writerow(row)
        if any(kept(row)):
            expected.append((number, kept(row)))
    write(path, written.getvalue(), **form)
    found = [(n, list(row.values())) for n, row in tables.read_csv(path, HEADER)]
    assert found == expected


@given(
    rows=st.lists(st.tuples(*[texts.map(lambda t: t.replace("\t", " "))] * 3)),
    form=forms,
)
def test_every_tab_separated_row_is_read_back_quotes_and_all(
    tmp_path_factory, rows, form
):
    path = tmp_path_factory.mktemp("tsv") / "any.name"
    lines = ["\t".join(row) + form["end"] for row in (HEADER, *rows)]
    write(path, "".join(lines), **form)
    found = [(n, list(row.values())) for n, row in tables.read_tsv(path, HEADER)]
    rows = [(number, kept(row)) for number, row in enumerate(rows, start=2)]
    assert found == [(number, row) for number, row in rows if any(row)]


@given(st.lists(texts, min_size=1), forms)
def test_lines_are_counted_blank_ones_too(tmp_path_factory, lines, form):
    path = tmp_path_factory.mktemp("lines") / "any.name"
    write(path, "".join(f"{line}{form['end']}" for line in lines), **form)
    found = list(tables.lines(path))
    if not lines[-1] and not form["last_end"]:
        lines = lines[:-1]  # 끝의 빈 줄은 마지막 줄바꿈과 구별되지 않습니다
    assert [number for number, _ in found] == list(range(1, len(lines) + 1))
    expected = [unicodedata.normalize("NFC", line) for line in lines]
    if form["mark"] is False and expected:
        expected[0] = expected[0].removeprefix("\ufeff")
    assert [text for _, text in found] == expected


def test_either_header_names_the_columns(tmp_path):
    path = tmp_path / "file"
    for header in (("a", "b"), ("b", "c", "a")):
        path.write_text("\t".join(header) + "\n" + "\t".join("123"[: len(header)]))
        (row,) = tables.read_tsv(path, ("a", "b"), ("b", "c", "a"))
        assert row == (2, dict(zip(header, "123")))


# --- 거절 ---------------------------------------------------------------------------


def test_a_broken_row_is_refused_with_its_place(tmp_path):
    path = tmp_path / "broken.csv"
    for content, line in (
        ("Q,A\n", 1),
        ("\n\n안녕,네,0\n", 3),
        ("Q,A,label\n가,나,0\n가,나\n", 3),
        ("Q,A,label\n가,나,다,0\n", 2),
        ('Q,A,label\n"가\n나,다,0\n라,마,0\n', 2),
        ('Q,A,label\n가,나,0\n"가"나,다,0\n', 3),
        ('Q,A,label\n"가\n나",다,0\n라,0\n', 4),
        ("Q,A,label\n가,나,0\n".encode("cp949"), 2),
        ("Q,A,label\n".encode("utf-16"), 1),
        (f"Q,A,label\n{'가' * 200}\n", 2),
        ("", 1),
        ("\ufeff\r\n , ,\r\n", 1),
    ):
        content = content if isinstance(content, bytes) else content.encode()
        for written in (content, gzip.compress(content)):
            path.write_bytes(written)
            with pytest.raises(ValueError) as caught:
                list(tables.read_csv(path, HEADER))
            said = str(caught.value)
            assert f"{line}번째 줄" in said
            assert said.startswith(str(path)) and "\n" not in said and len(said) < 400
            assert not re.search("codec|invalid", said.replace(str(path), ""), re.I)


@given(data=st.data())
def test_a_gzip_file_that_was_cut_anywhere_is_refused(tmp_path_factory, data):
    whole = gzip.compress("a\tb\n가\t나\n".encode() * 9)
    path = tmp_path_factory.mktemp("cut") / "cut.tsv.gz"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(ValueError):
        list(tables.read_tsv(path, ("a", "b")))


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(tables.lines(tmp_path / "none"))
