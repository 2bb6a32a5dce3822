"""감상평의 두 꼴을 읽는다."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes import corpora
from transformer_notes.corpora import Review

OFFICIAL = "id\tdocument\tlabel\n"
RAW = "movie_id\treview_id\trating\tdocument\n"
texts = st.text(st.sampled_from("굿 재미\"'.,ㅋ"), max_size=9)


@given(st.lists(st.tuples(texts, st.integers(0, 1))))
def test_the_official_form_is_read_without_its_empty_documents(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("reviews") / "ratings.txt"
    lines = (f"{n}\t{text}\t{label}\n" for n, (text, label) in enumerate(rows))
    path.write_text(OFFICIAL + "".join(lines), encoding="utf-8")
    expected = [Review(t.strip(), label, None) for t, label in rows if t.strip()]
    assert corpora.load_reviews(path) == expected


@given(
    st.lists(st.tuples(st.integers(1, 99), st.sampled_from([1, 2, 3, 4, 9, 10]), texts))
)
def test_the_raw_form_tells_the_film_and_the_rating_becomes_a_label(
    tmp_path_factory, rows
):
    path = tmp_path_factory.mktemp("reviews") / "raw.tsv.gz"
    lines = (f"{film}\t7\t{rating}\t{text}\n" for film, rating, text in rows)
    path.write_bytes(gzip.compress((RAW + "".join(lines)).encode()))
    expected = [
        Review(text.strip(), int(rating > 8), str(film))
        for film, rating, text in rows
        if text.strip()
    ]
    assert corpora.load_reviews(path) == expected


def test_a_row_that_is_no_review_is_refused(tmp_path):
    path = tmp_path / "reviews.txt"
    for content, named in (
        *((f"{RAW}1\t2\t{n}\t굿\n", "2번째 줄.*rating") for n in ("5", "8", "열", "")),
        (f"{OFFICIAL}1\t굿\t1\n2\t별로\t2\n", "3번째 줄.*label"),
        (f"{OFFICIAL}1\t\t2\n", "2번째 줄.*label"),
        (f"{OFFICIAL}1\t굿\n", "2번째 줄.*3칸"),
        (f"{OFFICIAL}1\t굿\t이네\t1\n", "2번째 줄.*4칸"),
        ("1\t굿\t1\n", "1번째 줄.*id, document, label.*movie_id"),
        ("id,document,label\n1,굿,1\n", "1번째 줄.*id, document, label"),
    ):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=named):
            corpora.load_reviews(path)
