"""줄마다 짝인 두 파일을 읽는다."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes import corpora

sentences = st.text(st.sampled_from("ab é'\".\u2028\x85"), max_size=8).map(str.strip)
both_or_none = st.tuples(sentences.filter(bool), sentences.filter(bool)) | st.just(
    ("", "")
)


@given(st.lists(both_or_none), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_lines_that_stand_side_by_side_are_pairs(tmp_path_factory, pairs, end, zipped):
    folder = tmp_path_factory.mktemp("parallel")
    for name, column in (("de", 0), ("en", 1)):
        text = "".join(pair[column] + end for pair in pairs).encode()
        (folder / name).write_bytes(gzip.compress(text) if zipped else text)
    found = corpora.load_parallel(folder / "de", folder / "en")
    assert found == [pair for pair in pairs if any(pair)]


@pytest.mark.parametrize(
    "source, target, message",
    [
        ("a\nb\n", "c\n", "en의 2번째 줄에는 짝이 있는 글"),
        ("a\n\nb\n", "c\nd\ne\n", "de의 2번째 줄에는 짝이 있는 글"),
        ("a\nb\n", "c\n \n", "en의 2번째 줄에는 짝이 있는 글"),
    ],
)
def test_lines_without_a_partner_are_refused(tmp_path, source, target, message):
    paths = tmp_path / "de", tmp_path / "en"
    for path, text in zip(paths, (source, target)):
        path.write_text(text)
    with pytest.raises(ValueError, match=message):
        corpora.load_parallel(*paths)
