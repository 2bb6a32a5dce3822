"""토크나이저가 지키는 약속."""

import collections
import json
import os
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes.masking import padding_mask
from transformer_notes.tokenization import (
    NORMALIZATIONS,
    PLACEHOLDERS,
    SPECIAL_TOKENS,
    Tokenizer,
    copied_spans,
    hide,
    show,
)

ROOT = Path(__file__).resolve().parents[1]

CORPUS = [
    "나는 어제 책을 읽었다",
    "나는 오늘 책은 샀다",
    "동생이 책에서 쪽지를 찾았다.",
    "ㅋㅋ 100쪽?\t(정말)\nI read ▁ <eos>",
]
TOKENIZER = Tokenizer.train(CORPUS, vocab_size=80, min_frequency=1)
KNOWN = sorted({character for text in CORPUS for character in text})
known_texts = st.text(KNOWN, max_size=20)
# 아직 쓰이지 않는 번호(Cn)는 유니코드의 판에 따라 정규화가 다를 수 있어 뺍니다.
assigned = st.characters(exclude_categories=["Cs", "Cn"])
any_texts = st.text(assigned, max_size=12)


MESSY = "ㅋㅎㅠㅜ!?.~\t\n\u3000\x85 １９0각까나"
KOREAN = Tokenizer.train(
    [*CORPUS, *MESSY], vocab_size=120, min_frequency=1, normalization="korean"
)


def decomposed(text):
    return unicodedata.normalize("NFD", text)


messy_texts = st.lists(
    st.sampled_from([*MESSY, "ㅋㅋㅋㅋ", "...", "ㅠㅠㅠ", "  ", decomposed("각")])
).map("".join)


# --- 자리표 -------------------------------------------------------------------------

code_texts = st.text([*"ab_.()[]{}<>\"'-1% \\가를", *PLACEHOLDERS], max_size=30)


@given(code_texts, code_texts)
def test_what_is_hidden_comes_back(source, other):
    spans = copied_spans(source)
    assert show(hide(source, spans), spans) == source
    hidden = hide(other, spans)
    if not set(PLACEHOLDERS) & set(other):
        assert show(hidden, spans) == other
    assert len(spans) == len({*spans}) <= len(PLACEHOLDERS)


def test_only_what_is_copied_is_hidden():
    text = "os.killpg(pid, f(9))를 x.y의 '-b', [0], <p>, 3.7과 --all, a_b, e.g. f(s)"
    found = ["os.killpg(pid, f(9))", "x.y", "'-b'", "[0]", "<p>", "3.7", "--all", "a_b"]
    assert copied_spans(text) == found
    assert show(f"{PLACEHOLDERS[1]}{PLACEHOLDERS[-1]}", found) == "x.y"
    many = " ".join(f"name_{i}" for i in range(20))  # 자리표보다 많습니다
    assert hide(many, copied_spans(many)).endswith(
        f"{PLACEHOLDERS[-1]} name_16 name_17 name_18 name_19"
    )
    written = f"{many} {PLACEHOLDERS[0]}"  # 자리표가 글에 적혀 있습니다
    assert show(hide(written, copied_spans(written)), copied_spans(written)) == written


# --- 되돌리기 -----------------------------------------------------------------------


@given(known_texts)
def test_decoding_returns_every_text_over_known_characters(text):
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text
    assert TOKENIZER.decode(TOKENIZER.encode(text, bos=True, eos=True)) == text


@given(st.lists(known_texts, min_size=1, max_size=5))
def test_decoding_a_padded_batch_returns_every_text(texts):
    ids = TOKENIZER.encode(texts, bos=True, eos=True)
    assert TOKENIZER.decode(ids) == texts
    assert TOKENIZER.decode(tf.constant(ids)) == texts
    assert TOKENIZER.decode(ids.tolist()) == texts


@given(known_texts)
def test_decomposed_hangul_gives_the_ids_of_composed_hangul(text):
    np.testing.assert_array_equal(
        TOKENIZER.encode(decomposed(text)), TOKENIZER.encode(text)
    )
    assert TOKENIZER.decode(TOKENIZER.encode(decomposed(text))) == text


def test_training_on_decomposed_hangul_gives_the_same_vocabulary():
    again = Tokenizer.train(map(decomposed, CORPUS), 80, min_frequency=1)
    assert again.vocabulary == TOKENIZER.vocabulary


@given(st.lists(any_texts, min_size=1, max_size=4))
def test_any_corpus_round_trips_through_its_own_tokenizer(texts):
    texts = [*texts, "글"]
    tokenizer = Tokenizer.train(texts, vocab_size=300, min_frequency=1)
    normalized = [unicodedata.normalize("NFC", text) for text in texts]
    assert tokenizer.decode(tokenizer.encode(texts)) == normalized


def test_compatibility_jamo_stay_as_they_are():
    assert TOKENIZER.decode(TOKENIZER.encode("ㅋㅋ")) == "ㅋㅋ"


def test_no_space_is_lost():
    texts = ["", " ", "  책", "책 ", "책  을", "\t책\n"]
    assert [TOKENIZER.decode(TOKENIZER.encode(text)) for text in texts] == texts


# --- 정규화 -------------------------------------------------------------------------


def tidied(text):
    """라이브러리 없이 적은 "korean"의 규칙. `split()`은 빈칸이 아닌 것도 자릅니다."""
    text = unicodedata.normalize("NFC", text)
    text = text.translate(str.maketrans("０１２３４５６７８９", "0123456789"))
    text = re.sub(r"[^\S\x1c-\x1f]+", " ", text).strip(" ")
    return re.sub(r"([ㅋㅎㅠㅜ!?.~])\1{2,}", r"\1\1", text)


@given(messy_texts | any_texts)
def test_korean_normalization_does_what_its_rules_say(text):
    assert KOREAN.normalize(text) == tidied(text)
    assert TOKENIZER.normalize(text) == unicodedata.normalize("NFC", text)


@given(messy_texts | any_texts)
@pytest.mark.parametrize("tokenizer", [TOKENIZER, KOREAN], ids=NORMALIZATIONS)
def test_normalizing_twice_changes_nothing_more(tokenizer, text):
    once = tokenizer.normalize(text)
    assert tokenizer.normalize(once) == once


@given(messy_texts)
def test_decoding_returns_the_normalized_text(text):
    ids = KOREAN.encode(text)
    assert KOREAN.decode(ids) == KOREAN.normalize(text)
    np.testing.assert_array_equal(ids, KOREAN.encode(tidied(text)))


def test_korean_normalization_by_example():
    read = {
        "아 ㅋㅋㅋㅋㅋ 웃겨": "아 ㅋㅋ 웃겨",
        "ㅋㅋ ㅋ": "ㅋㅋ ㅋ",
        "ㅠㅜㅠㅜㅠㅜ ㅠㅠㅠㅜㅜㅜ": "ㅠㅜㅠㅜㅠㅜ ㅠㅠㅜㅜ",
        "글쎄... 정말?!?! 네!!!": "글쎄.. 정말?!?! 네!!",
        "별점 １０점": "별점 10점",
        "\t책을\u3000 \n읽었다 ": "책을 읽었다",
        " \n ": "",
    }
    assert {text: KOREAN.normalize(text) for text in read} == read


@given(messy_texts | any_texts)
def test_characters_are_unknown_only_after_normalization(text):
    unknown = KOREAN.unknown_characters(text)
    assert unknown.total() == np.sum(KOREAN.encode(text) == KOREAN.unk_id)
    assert not unknown.keys() & {*"０１２３４５６７８９\t\n\u3000"}


def test_the_normalization_is_stored_with_the_tokenizer(tmp_path):
    path, text = tmp_path / "t.json", " 책을  ㅋㅋㅋㅋ １쪽... "
    KOREAN.save(path)
    loaded = Tokenizer.load(path)
    assert loaded.normalize(text) == "책을 ㅋㅋ 1쪽.."
    np.testing.assert_array_equal(loaded.encode(text), KOREAN.encode(text))
    backend = tokenizers.Tokenizer.from_file(str(path))
    assert backend.encode(text).ids == KOREAN.encode(text).tolist()


def test_a_file_with_a_step_more_or_less_is_refused(tmp_path):
    path = tmp_path / "t.json"
    KOREAN.save(path)
    whole = path.read_text(encoding="utf-8")
    count = len(json.loads(whole)["normalizer"]["normalizers"])
    assert count == 1 + 10 + 2 + 8 + 1  # NFC, 숫자, 빈칸, 되풀이, 앞의 공백
    for place in range(count):
        for keep in (0, 2):  # 빼거나, 두 번 적습니다
            file = json.loads(whole)
            steps = file["normalizer"]["normalizers"]
            steps[place : place + 1] = [steps[place]] * keep
            path.write_text(json.dumps(file), encoding="utf-8")
            with pytest.raises(ValueError, match=r"t\.json.*글을 나누는 방법"):
                Tokenizer.load(path)


# --- 특수 토큰 ----------------------------------------------------------------------


def test_special_tokens_have_fixed_ids():
    ids = (TOKENIZER.pad_id, TOKENIZER.unk_id, TOKENIZER.bos_id, TOKENIZER.eos_id)
    assert ids == (0, 1, 2, 3)
    assert tuple(TOKENIZER.vocabulary[:4]) == SPECIAL_TOKENS
    assert TOKENIZER.vocab_size == len(TOKENIZER.vocabulary) == 80


@pytest.mark.parametrize("through_a_file", [False, True])
def test_special_tokens_written_in_a_text_stay_text(tmp_path, through_a_file):
    texts = [f"{token} {token}책" for token in SPECIAL_TOKENS] * 9
    tokenizer = Tokenizer.train(texts, vocab_size=100, min_frequency=1)
    if through_a_file:
        tokenizer.save(tmp_path / "t.json")
        tokenizer = Tokenizer.load(tmp_path / "t.json")
    ids = tokenizer.encode(texts)
    assert not np.isin(
        ids, [tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id]
    ).any()
    assert tokenizer.decode(ids) == texts


def test_exactly_pad_bos_and_eos_are_silent():
    (letter,) = TOKENIZER.encode("책")[-1:]
    spoken = [token for token in range(4) if TOKENIZER.decode([token, letter]) != "책"]
    assert spoken == [TOKENIZER.unk_id]


@given(st.lists(st.integers(0, 79), max_size=20))
def test_silent_tokens_never_change_the_decoded_text(ids):
    spoken = [token_id for token_id in ids if token_id not in (0, 2, 3)]
    assert TOKENIZER.decode(ids) == TOKENIZER.decode(spoken)


def test_unknown_characters_are_one_unk_each_and_are_reported():
    text = "나는 👍👍 책을 봤다"
    assert TOKENIZER.tokenize("👍👍") == [" ", "<unk>", "<unk>"]
    assert np.sum(TOKENIZER.encode(text) == TOKENIZER.unk_id) == 3
    assert TOKENIZER.unknown_characters(text) == {"👍": 2, "봤": 1}
    assert TOKENIZER.unknown_characters([text, "봤"]) == {"👍": 2, "봤": 2}
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == ("나는 <unk><unk> 책을 <unk>다")


@given(st.text(max_size=20))
def test_reported_characters_are_exactly_the_unk_tokens(text):
    unknown = TOKENIZER.unknown_characters(text)
    assert unknown.total() == np.sum(TOKENIZER.encode(text) == TOKENIZER.unk_id)
    assert not unknown.keys() & set(KNOWN)


# --- 배치 ---------------------------------------------------------------------------


@given(
    st.lists(known_texts, max_size=5),
    st.booleans(),
    st.booleans(),
    st.none() | st.integers(3, 12),
    st.sampled_from(["longest", "max_length"]),
)
def test_each_row_is_its_text_between_bos_and_eos(texts, bos, eos, limit, padding):
    if limit is None:
        padding = "longest"
    ids = TOKENIZER.encode(texts, bos=bos, eos=eos, max_length=limit, padding=padding)
    rows = []
    for text in texts:
        tokens = TOKENIZER.encode(text).tolist()
        if limit is not None:
            tokens = tokens[: limit - bos - eos]
        rows.append([2] * bos + tokens + [3] * eos)
    length = max(map(len, rows), default=0)
    length = limit if padding == "max_length" else length
    assert ids.dtype == np.int32
    assert ids.shape == (len(texts), length)
    for row, expected in zip(ids.tolist(), rows, strict=True):
        assert row == expected + [0] * (length - len(expected))


@given(known_texts, st.integers(2, 10))
def test_truncation_never_cuts_eos(text, limit):
    ids = TOKENIZER.encode(text, eos=True, max_length=limit)
    assert len(ids) <= limit
    assert ids[-1] == TOKENIZER.eos_id


@given(st.lists(known_texts, min_size=1, max_size=5))
def test_padding_mask_sees_exactly_the_tokens_of_each_text(texts):
    mask = padding_mask(TOKENIZER.encode(texts, eos=True))
    lengths = [len(TOKENIZER.encode(text, eos=True)) for text in texts]
    np.testing.assert_array_equal(
        tf.reduce_sum(tf.cast(mask, "int32"), -1)[:, 0, 0], lengths
    )


def test_one_text_is_one_row_without_a_batch_axis():
    ids = TOKENIZER.encode("책을", eos=True, max_length=9, padding="max_length")
    assert ids.shape == (9,)
    assert TOKENIZER.encode(["책을"]).shape[0] == 1
    assert TOKENIZER.encode([]).shape == (0, 0)


def test_texts_may_come_from_an_array_or_a_generator():
    expected = TOKENIZER.encode(CORPUS)
    np.testing.assert_array_equal(TOKENIZER.encode(np.array(CORPUS)), expected)
    np.testing.assert_array_equal(TOKENIZER.encode(t for t in CORPUS), expected)


def test_decode_takes_empty_and_ragged_ids():
    ids = [], [0], [[]], np.zeros((2, 0)), [[1, 2], [3]]
    found = ["", "", [""], ["", ""], ["<unk>", ""]]
    assert [TOKENIZER.decode(rows) for rows in ids] == found


# --- 학습 ---------------------------------------------------------------------------


def merge_by_hand(texts, merges):
    """라이브러리 없이 쌍을 합칩니다. 부호가 없는 글만 받습니다."""
    words = collections.Counter(" " + w for text in texts for w in text.split(" "))
    split = {word: list(word) for word in words}
    vocabulary = [*SPECIAL_TOKENS, *sorted(set("".join(words)))]
    for _ in range(merges):
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(split[word], split[word][1:]):
                pairs[pair] += count
        numbers = {token: number for number, token in enumerate(vocabulary)}
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], numbers[p[0]], numbers[p[1]]))
        vocabulary += [] if "".join(best) in numbers else ["".join(best)]
        for tokens in split.values():
            place = 0
            while place < len(tokens) - 1:
                if (tokens[place], tokens[place + 1]) == best:
                    tokens[place : place + 2] = ["".join(best)]
                place += 1
    return vocabulary


@given(
    st.lists(st.text("가나다라", min_size=1, max_size=5), min_size=1, max_size=8),
    st.integers(0, 12),
)
def test_merges_equal_an_independent_implementation(words, merges):
    expected = merge_by_hand(words, merges)
    tokenizer = Tokenizer.train(words, len(expected), min_frequency=1)
    assert tokenizer.vocabulary == expected


@given(st.permutations(CORPUS))
def test_training_does_not_depend_on_the_order_of_the_texts(texts):
    assert Tokenizer.train(texts, 80, 1).vocabulary == TOKENIZER.vocabulary


def test_training_is_the_same_in_every_process_and_with_any_threads(tmp_path):
    program = (
        "import sys; from transformer_notes.tokenization import Tokenizer\n"
        "path, *texts = sys.argv[1:]\n"
        "Tokenizer.train(texts, 80, min_frequency=1).save(path)"
    )
    TOKENIZER.save(tmp_path / "here.json")
    subprocess.run(
        [sys.executable, "-c", program, tmp_path / "there.json", *CORPUS],
        env=os.environ | {"RAYON_NUM_THREADS": "1", "PYTHONHASHSEED": "1"},
        cwd=ROOT,
        check=True,
    )
    here, there = (tmp_path / f"{name}.json" for name in ("here", "there"))
    assert here.read_bytes() == there.read_bytes()


def test_rare_pairs_are_not_merged():
    tokenizer = Tokenizer.train(["가나 가나 가다"], 100, min_frequency=2)
    assert tokenizer.vocabulary[4:] == [" ", "가", "나", "다", " 가", " 가나"]


def test_the_smallest_vocabulary_holds_special_tokens_and_characters():
    tokenizer = Tokenizer.train(["책을 책을"], vocab_size=7)
    assert tokenizer.vocabulary == [*SPECIAL_TOKENS, " ", "을", "책"]


# --- 파일 ---------------------------------------------------------------------------


@given(texts=st.lists(known_texts, min_size=1, max_size=5))
def test_loaded_tokenizer_encodes_and_decodes_as_before(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("saved") / "tokenizer.json"
    TOKENIZER.save(path)
    loaded = Tokenizer.load(str(path))
    assert loaded.vocabulary == TOKENIZER.vocabulary
    ids = loaded.encode(texts, bos=True, eos=True)
    np.testing.assert_array_equal(ids, TOKENIZER.encode(texts, bos=True, eos=True))
    assert loaded.decode(ids) == texts


def test_the_file_is_one_that_the_library_reads(tmp_path):
    TOKENIZER.save(tmp_path / "t.json")
    backend = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    assert backend.encode(CORPUS[0]).ids == TOKENIZER.encode(CORPUS[0]).tolist()
    assert backend.decode(backend.encode(CORPUS[0]).ids) == CORPUS[0]


def test_saving_leaves_one_readable_file(tmp_path):
    path = tmp_path / "t.json"
    for _ in range(2):
        TOKENIZER.save(path)
    assert os.listdir(tmp_path) == ["t.json"]
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_interrupted_save_keeps_the_old_file(tmp_path, monkeypatch, failing):
    path = tmp_path / "t.json"
    path.write_text("옛 파일", encoding="utf-8")

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, failing, interrupt)
    with pytest.raises(KeyboardInterrupt):
        TOKENIZER.save(path)
    assert path.read_text(encoding="utf-8") == "옛 파일"
    assert os.listdir(tmp_path) == ["t.json"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "tokenizer.json"
    TOKENIZER.save(path)
    return path.read_bytes()


@given(data=st.data())
def test_half_a_file_is_named(tmp_path_factory, saved, data):
    # 마지막 바이트는 닫는 중괄호입니다. 그 앞 어디에서 끊겨도 알아봅니다.
    half = saved[: data.draw(st.integers(0, len(saved) - 1))]
    path = tmp_path_factory.mktemp("half") / "half.json"
    path.write_bytes(half)
    with pytest.raises(ValueError, match=rf"half\.json \({len(half)}바이트"):
        Tokenizer.load(path)


def test_other_files_are_named(tmp_path):
    path = tmp_path / "other.json"
    contents = b"", b"{}", b"[1, 2]", b'{"text": 1}', b"\xff\xfe\x00", "책".encode()
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"온전한 파일.*other\.json.*train으로"):
            Tokenizer.load(path)


def foreign_wordpiece():
    return tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))


def foreign_bpe():
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.train_from_iterator(
        CORPUS, tokenizers.trainers.BpeTrainer(show_progress=False)
    )
    return backend


@pytest.mark.parametrize("make", [foreign_wordpiece, foreign_bpe])
def test_tokenizers_of_others_are_named(tmp_path, make):
    make().save(str(tmp_path / "foreign.json"))
    with pytest.raises(ValueError, match=r"foreign\.json.*다른 토크나이저.*from_file"):
        Tokenizer.load(tmp_path / "foreign.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.update(normalizer=None),
        lambda file: file["model"].update(unk_token=None),
        lambda file: file["model"].update(byte_fallback=True),
        lambda file: file["added_tokens"][0].update(content="[PAD]"),
        lambda file: file["model"]["vocab"].update({"책": 500}),
        lambda file: file["model"]["vocab"].update({"책": 3}),
    ],
    ids=["normalizer", "unk", "bytes", "special", "gap", "twice"],
)
def test_changed_files_are_named(tmp_path, saved, change):
    file = json.loads(saved)
    change(file)
    (tmp_path / "changed.json").write_text(json.dumps(file), encoding="utf-8")
    with pytest.raises(ValueError, match=r"changed\.json"):
        Tokenizer.load(tmp_path / "changed.json")


def test_a_huge_number_is_refused_before_its_places_are_counted(tmp_path, saved):
    """라이브러리는 그 번호까지의 빈자리를 모두 세려 합니다."""
    file = json.loads(saved)
    file["model"]["vocab"]["책"] = 2**32 - 1
    (tmp_path / "huge.json").write_text(json.dumps(file), encoding="utf-8")
    with pytest.raises(ValueError, match=r"huge\.json"):
        Tokenizer.load(tmp_path / "huge.json")


def test_damaged_files_never_raise_anything_but_value_error(tmp_path, saved):
    generator = random.Random(0)
    path = tmp_path / "damaged.json"
    for _ in range(100):
        damaged = bytearray(saved)
        start = generator.randrange(len(saved))
        del damaged[start : start + generator.randrange(1, 200)]
        path.write_bytes(damaged)
        try:
            Tokenizer.load(path)
        except ValueError as error:
            assert "damaged.json" in str(error)


def test_missing_files_and_folders_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="없는"):
        Tokenizer.load(tmp_path / "없는.json")
    with pytest.raises(FileNotFoundError, match="없는"):
        TOKENIZER.save(tmp_path / "없는" / "t.json")


# --- 틀린 입력은 말로 알려 준다 -----------------------------------------------------


@pytest.mark.parametrize(
    "method", ["tokenize", "unknown_characters", "encode", "normalize"]
)
def test_text_that_cannot_be_written_is_named(method):
    with pytest.raises(UnicodeEncodeError, match=r"utf-8.*udfff.*surrogates"):
        getattr(TOKENIZER, method)("\udfff")
    with pytest.raises(TypeError, match="int"):
        getattr(TOKENIZER, method)(3)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([-1], ValueError, "0부터 79까지.*-1.*같은 어휘 집합"),
        ([5, 80], ValueError, "0부터 79까지.*80"),
        ([[5], [6, 700]], ValueError, "0부터 79까지.*700"),
        (np.array([2**64 - 1], np.uint64), ValueError, "18446744073709551615"),
        ([1.0], TypeError, "정수 토큰 번호.*float64.*argmax"),
        ([True], TypeError, "정수 토큰 번호.*bool"),
        ("책", TypeError, "정수 토큰 번호.*<U1"),
        (5, TypeError, "int"),
        (None, TypeError, "정수 토큰 번호.*object"),
    ],
)
def test_decode_names_wrong_ids(ids, error, message):
    with pytest.raises(error, match=message):
        TOKENIZER.decode(ids)


def test_wrong_arguments_are_refused():
    texts = ["책을 읽었다"]
    for call, kind, name in (
        (lambda: Tokenizer.train("책", 20), TypeError, "texts"),
        (lambda: Tokenizer.train([], 20), ValueError, "texts"),
        (lambda: Tokenizer.train(["책", None], 20), TypeError, "texts"),
        (lambda: Tokenizer.train(texts, 5), ValueError, "vocab_size"),
        (lambda: Tokenizer.train(texts, 20, normalization="x"), ValueError, "normaliz"),
        (lambda: Tokenizer.train(texts, 20).encode(3), TypeError, "int"),
        (
            lambda: Tokenizer.train(texts, 20).encode("책", padding="no"),
            ValueError,
            "padd",
        ),
        (
            lambda: Tokenizer.train(texts, 20).encode("책", eos=True, max_length=1),
            ValueError,
            "max_length",
        ),
    ):
        with pytest.raises(kind, match=name):
            call()
