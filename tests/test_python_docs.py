"""파이썬 문서의 번역: .po에서 짝을 고르고, 고른 것을 다시 읽는다."""

import io
import re

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes import corpora
from transformer_notes.corpora import DocumentedPair

HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n\n'


def entry(source, target, before=""):
    lines = ("", before, f"msgid {quoted(source)}", f"msgstr {quoted(target)}", "")
    return "\n".join(lines)


def quoted(text):
    return '"' + re.sub(r'(["\\])', r"\\\1", text).replace("\n", "\\n") + '"'


def read(folder, *entries, name="library/any"):
    path = folder / f"{name}.po"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER + "".join(entries), encoding="utf-8")
    return corpora.load_python_docs(folder)


# --- 고르기 -------------------------------------------------------------------------


def test_markup_goes_and_text_stays(tmp_path):
    for marked, plain in (
        ("call :func:`open` now", "call open now"),
        ("call :c:func:`PyObject_Call` now", "call PyObject_Call now"),
        ("the :meth:`~object.__index__` method", "the object.__index__ method"),
        ("set :c:macro:`!EDOM` now", "set EDOM now"),
        ("see :ref:`the guide <guide-a>`.", "see the guide."),
        ("see `the guide <https://example.org/a_b>`_.", "see the guide."),
        ("see `the guide\n<https://example.org>`__.", "see the guide."),
        ("see `the guide`_ and the_guide_.", "see `the guide`_ and the_guide_."),
        ("``None`` or ``o[i] == v``", "None or o[i] == v"),
        ("an *index* and **never** two", "an index and never two"),
        ("*does not*, (*or does*).", "does not, (or does)."),
        ("the *i*\\ th item", "the *i*th item"),
        ("*x*\\ :sup:`16` plus one", "*x*16 plus one"),
        ("``f(*args, **kwargs)`` and *args*", "f(*args, **kwargs) and args"),
        ("``a * b`` and ``c * d`` here", "a * b and c * d here"),
        ("``char *`` is a PyObject* here", "char * is a PyObject* here"),
        ("a path\\file here", "a pathfile here"),
        ("two  spaces\nand a line", "two spaces and a line"),
        ("an example::", "an example::"),
    ):
        (pair,) = read(tmp_path, entry(marked, f"{marked} 가나다"))
        assert pair == (plain, f"{plain} 가나다", "library/any")


def test_particles_join_what_they_follow(tmp_path):
    for marked, plain in (
        ("*tp_call*\\과 벡터콜", "tp_call과 벡터콜"),
        (":class:`str`\\를 반환합니다", "str를 반환합니다"),
        ("``1``\\을 반환합니다", "1을 반환합니다"),
        ("**반드시** 구현해야 합니다", "반드시 구현해야 합니다"),
        (":term:`네임드 튜플 <named tuple>`\\로", "네임드 튜플로"),
        ("*list*\\ 슬라이스", "*list*슬라이스"),
    ):
        (pair,) = read(tmp_path, entry("some words", marked))
        assert pair.target == plain


def test_what_is_no_settled_translation_is_left_out(tmp_path):
    for left_out in (
        entry("old words", "", ""),
        entry("old words", "옛 글", "#, fuzzy"),
        entry("old words", "옛 글", "#, python-format, fuzzy"),
        '\n#~ msgid "old words"\n#~ msgstr "옛 글"\n',
        entry("old words", "words"),
        entry("API", "인터페이스"),
        entry("set", "집합"),
        entry("X = 1", "엑스는 하나"),
        '\nmsgid "one word"\nmsgid_plural "many words"\nmsgstr[0] "낱말"\n',
    ):
        found = read(tmp_path, left_out, entry("new words", "새 글"))
        assert found == [DocumentedPair("new words", "새 글", "library/any")]


def test_documents_come_in_the_order_of_their_paths_and_repeats_once(tmp_path):
    for name in ("library/asyncio", "library/asyncio-task", "about", "c-api/arg"):
        found = read(
            tmp_path, entry("the same", "같은 글"), entry(name, "다른 글"), name=name
        )
    assert found == [
        DocumentedPair("the same", "같은 글", "about"),
        DocumentedPair("about", "다른 글", "about"),
        DocumentedPair("c-api/arg", "다른 글", "c-api/arg"),
        DocumentedPair("library/asyncio-task", "다른 글", "library/asyncio-task"),
        DocumentedPair("library/asyncio", "다른 글", "library/asyncio"),
    ]


english = st.text(st.sampled_from("abcd efg,.\"'"), min_size=1, max_size=90)
korean = st.text(st.sampled_from("가나다 라마,.\"'"), min_size=1, max_size=90)


@given(st.dictionaries(english, korean, max_size=8))
def test_what_gettext_writes_is_read_back_and_the_tsv_of_it_too(
    tmp_path_factory, texts
):
    folder = tmp_path_factory.mktemp("po")
    catalog, expected = Catalog(locale="ko"), {}
    for source, target in texts.items():
        catalog.add(source, target)
        pair = " ".join(source.split()), " ".join(target.split())
        if re.search("[a-z]{3}", pair[0]) and len(pair[0]) > 3:
            if re.search("[가-힣]", pair[1]):
                expected[pair] = DocumentedPair(*pair, "tutorial")
    written = io.BytesIO()
    write_po(written, catalog)
    (folder / "tutorial.po").write_bytes(written.getvalue())
    found = corpora.load_python_docs(folder)
    assert set(found) == set(expected.values()) and len(found) == len(expected)
    table = folder / "pairs.tsv"
    rows = [("document", "en", "ko"), *((d, s, t) for s, t, d in found)]
    table.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    assert corpora.load_python_docs(table) == found


# --- 거절 ---------------------------------------------------------------------------


def test_a_file_that_is_no_gettext_is_refused(tmp_path):
    path = tmp_path / "broken.po"
    for content, place in (
        ('msgid "a"\nmsgstr "가"\n나머지 "줄"\n', "on 2.*줄을 0부터"),
        ('"a"\n', "on 0"),
        ("<html></html>\n", "on 0"),
        ('msgid "a"\nmsgid "b"\nmsgstr "나"\n', "on 0"),
        ('msgid "a"\nmsgstr[하나] "가"\n', "gettext"),
        ('msgid "a"\nmsgstr "가"\n'.encode("cp949"), "2번째 줄.*UTF-8"),
    ):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ValueError, match=place) as caught:
            corpora.load_python_docs(tmp_path)
        assert str(path) in str(caught.value)


@given(st.data())
def test_a_file_that_was_cut_or_scratched_is_read_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("cut")
    parts = entry("a *b* word", "낱말"), entry("two words", "두 낱말", "#, fuzzy")
    whole = bytearray((HEADER + "".join(parts)).encode())
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        whole[place] = data.draw(st.sampled_from(b'"\\ [\nm\xff'))
    else:
        del whole[place:]
    (folder / "cut.po").write_bytes(whole)
    try:
        corpora.load_python_docs(folder)
    except ValueError as error:
        assert str(folder) in str(error)


def test_what_holds_no_translations_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.po"):
        corpora.load_python_docs(tmp_path)
    path = tmp_path / "pairs.tsv"
    for row, named in (("a\tsome words", "3칸"), ("a\tsome words\t ", "빈 칸")):
        path.write_text(f"document\ten\tko\n{row}\n", encoding="utf-8")
        with pytest.raises(ValueError, match=f"2번째 줄.*{named}"):
            corpora.load_python_docs(path)
