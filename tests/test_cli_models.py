"""명령줄이 지키는 약속: 함께 온 모델로 옮기고 분류합니다."""

from pathlib import Path

import keras
import pytest
from command_line import refuse, run

from transformer_notes import models, training
from transformer_notes.classification import Classifier, label_pairs
from transformer_notes.models import files
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import TransformerConfig

TEXTS = ["참 좋은 영화", "다시는 보지 않을 영화", "영화"]
SIZES = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 12, "dropout": 0.0}


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """세 글만 배운 작은 모델. 20토큰까지 받고, 학습에는 14토큰까지 있었다고 합니다."""
    tokenizer = Tokenizer.train(TEXTS, 40)
    config = TransformerConfig(tokenizer.vocab_size, max_length=20, **SIZES)
    keras.utils.set_random_seed(0)
    model, folder = Classifier(config, 2), tmp_path_factory.mktemp("models")
    data = training.Batches(label_pairs(tokenizer, TEXTS, [1, 0, 1]), 100)
    adam = keras.optimizers.Adam(0.01)
    training.train(model, data, 40, folder, optimizer=adam, progress=False)
    path = folder / "tiny.safetensors"
    card = {"labels": ["부정", "긍정"], "longest_source": 14}
    files.write(path, model, tokenizer, "classify", card)
    return path


@pytest.fixture(scope="module")
def exported(words_model, tmp_path_factory):
    """학습 폴더의 모델을 파일 하나로."""
    tokenizer, model = words_model
    path = tmp_path_factory.mktemp("models") / "words.safetensors"
    files.write(path, model, tokenizer, "translate", {"longest_source": 9})
    return path


# --- translate --model ---------------------------------------------------------------


def test_dates_are_read_without_training():
    asked = "2026년 11월 21일 토요일", "26. 11. 21(토)"
    for arguments, stdin in (asked, None), ((), "\n".join(asked) + "\n"):
        result = run("translate", "--model", "dates", *arguments, stdin=stdin)
        assert (result.stdout, result.stderr) == ("2026-11-21\n" * 2, "")


def test_dates_asks_back_about_a_day_that_is_not():
    result = run("translate", "--model", "dates", "2050년 1월 1일")
    assert result.stdout == "\n"
    assert "1번째 글" in result.stderr


def test_an_option_may_stand_anywhere():
    before = run("translate", "--model", "dates", "26.11.21").stdout
    assert run("translate", "26.11.21", "--model", "dates").stdout == before
    assert run("translate", "--model=dates", "--", "26.11.21").stdout == before


def test_a_model_file_answers_nearly_as_its_folder(opened, exported):
    texts = ["하나 둘 셋", "다섯 영 넷"]
    asked = "translate", "--probability"
    folder = run(*asked, opened, *texts).stdout.splitlines()
    file = run(*asked, "--model", exported, *texts).stdout.splitlines()
    for one, other in zip(folder, file, strict=True):
        (text, p, *_), (same, q, *_) = (line.split("\t") for line in (one, other))
        assert text == same and float(p) == pytest.approx(float(q), abs=0.05)


def test_attention_is_drawn_from_a_model_that_came_along(tmp_path):
    picture = tmp_path / "map.svg"
    run("translate", "--model", "dates", "26.11.21", "--attention", picture)
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


def test_a_folder_and_a_model_exclude_each_other(opened, exported):
    both = refuse("translate", opened, "하나", "--model", exported)
    assert "--model" in both and str(opened) in both
    with_folder = "translate", "--model", exported, "하나"
    line = refuse(*with_folder, "--checkpoint", "best")
    assert "--checkpoint" in line
    folder = run("translate", "--model", opened, "하나", "--checkpoint", "best")
    assert folder.stdout == run("translate", opened, "하나").stdout


def test_an_unknown_model_lists_those_that_came_along(tmp_path):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"safetensors")
    for command in ("translate", "classify"):
        line = refuse(command, "--model", "datse", "하나")
        assert all(name in line for name in ("datse", *models.available()))
        assert str(broken) in refuse(command, "--model", broken, "하나")
        assert "--model" in refuse(command, "--model", "", "하나")


def test_another_folder_of_its_name_does_not_hide_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("dates").mkdir()
    assert run("translate", "--model", "dates", "26.11.21").stdout == "2026-11-21\n"
    Path("runs").mkdir()
    assert "'runs'" in refuse("translate", "--model", "runs", "26.11.21")


def test_a_command_names_the_other_when_the_model_is_of_the_other_kind(reader):
    line = refuse("translate", "--model", reader, "영화")
    assert str(reader) in line and "classify" in line
    line = refuse("classify", "--model", "dates", "영화")
    assert "dates" in line and "translate" in line


# --- classify ------------------------------------------------------------------------


def test_every_text_gets_its_most_probable_label(reader):
    chances = models.load(reader).classify(TEXTS)
    expected = [
        f"{label}\t{max(row):#.4g}\n"
        for label, row in zip(("긍정", "부정", "긍정"), chances)
    ]
    result = run("classify", "--model", reader, *TEXTS)
    assert (result.stdout, result.stderr) == ("".join(expected), "")
    one_by_one = [run("classify", "--model", reader, text).stdout for text in TEXTS]
    assert one_by_one == expected


def test_standard_input_is_answered_line_by_line(reader):
    expected = run("classify", "--model", reader, *TEXTS).stdout.splitlines()
    lines = f"\ufeff{TEXTS[0]}\r\n\n {TEXTS[1]} \n{TEXTS[2]}"
    result = run("classify", "--model", reader, stdin=lines)
    assert result.stdout.splitlines() == [expected[0], "", *expected[1:]]
    refuse("classify", "--model", reader, stdin="")
    only_blank = run("classify", "--model", reader, stdin="\n\n")
    assert only_blank.stdout == "\n\n"


def test_a_batch_of_lines_may_be_larger_than_one_reading(reader):
    lines = "".join(f"{TEXTS[place % 3]}\n" for place in range(200))
    found = run("classify", "--model", reader, stdin=lines).stdout.splitlines()
    assert len(found) == 200 and found[:3] * 66 == found[:198]


def test_unknown_characters_and_long_texts_are_named(reader):
    result = run("classify", "--model", reader, "영화 zz")
    assert "1번째 글" in result.stderr and "z" in result.stderr
    assert result.stdout.count("\n") == 1
    result = run("classify", "--model", reader, "영화 " * 14)
    assert "15토큰" in result.stderr and "14토큰" in result.stderr
    line = refuse("classify", "--model", reader, "영화 " * 20)
    assert "20토큰" in line and "21토큰" in line
    assert "UTF-8" in refuse("classify", "--model", reader, stdin=b"\xff\n")
    assert "빈 글" in refuse("classify", "--model", reader, " ")
