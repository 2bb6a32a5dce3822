"""명령줄이 지키는 약속: 학습 폴더를 만들고, 이어 가고, 쓰는 일."""

import dataclasses
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import unicodedata
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from command_line import COMMAND, ROOT, SMALL, refuse, run
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.python.framework.config import (
    disable_op_determinism,
    is_op_determinism_enabled,
)

from transformer_notes import decoding, training
from transformer_notes.cli import answers as cli_answers
from transformer_notes.cli import pairs as cli_pairs
from transformer_notes.cli import run_folder
from transformer_notes.cli import train as cli_train
from transformer_notes.cli.korean import BadInput
from transformer_notes.cli.recipes import RECIPES
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import Transformer


@pytest.fixture(scope="module")
def pairs(words):
    return Path(run_folder.read(words).data)


@pytest.fixture
def copied(tmp_path, words):
    return Path(shutil.copytree(words, tmp_path / "copied"))


@pytest.fixture
def no_training(monkeypatch):
    """학습은 하지 않습니다. 학습에 넘긴 것을 돌려줍니다."""
    seen = []
    monkeypatch.setattr(training, "train", lambda *given, **how: seen.append(how))
    return seen


@pytest.fixture(scope="module")
def other(tmp_path_factory, pairs):
    """다른 시드와 다른 스케줄로 배운, 모양이 같은 폴더."""
    folder = tmp_path_factory.mktemp("runs") / "other"
    short = ["--epochs", 2, "--save-every", 2, "--seed", 1]
    asked = ["--schedule", "cosine", "--learning-rate", 0.01]
    run("train", folder, "--data", pairs, *SMALL, *short, *asked)
    return folder


@pytest.fixture(autouse=True)
def leave_no_determinism():
    yield
    disable_op_determinism()


def steps(folder):
    return training.saved_steps(folder / "checkpoints")


def weights(folder):
    return training.average_checkpoints(folder / "checkpoints", 1)


def answers(result):
    return result.stdout.splitlines()


def edit(path, change):
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record)
    path.write_text(json.dumps(record), encoding="utf-8")


def damage(folder, step):
    for path in (folder / "checkpoints").glob(f"step-{step}.data*"):
        path.write_bytes(path.read_bytes()[:-100])


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- 학습 폴더 ------------------------------------------------------------------------


def test_a_run_folder_holds_all_it_takes_to_use_it(words, pairs):
    record = run_folder.read(words)
    assert record.settings["d_model"] == 16 and record.recipe == "pairs"
    assert {"python", "tensorflow", "keras", "numpy"} <= set(record.versions)
    history = json.loads((words / "checkpoints" / "history.json").read_text())
    assert history[-1]["step"] == steps(words)[-1]
    assert history[-1]["validation_loss"] < history[0]["validation_loss"]
    names = {path.name for path in words.iterdir()}
    assert names == {"run.json", *record.files, "checkpoints"}


def test_no_held_out_source_is_trained_on(words, pairs):
    held_out = set((words / "held_out.tsv").read_text("utf-8").splitlines())
    lines = set(pairs.read_text("utf-8").splitlines())
    assert held_out < lines and len(lines) / 5 <= len(held_out) < len(lines) / 5 + 1


KEYS = st.integers(0, 9)


@given(st.lists(st.tuples(KEYS, KEYS), min_size=8, max_size=40))
def test_what_must_not_leak_is_on_one_side(numbers):
    """다듬은 입력이 같은 짝은 한쪽에 있고, chatbot에서는 답이 같은 짝도 그렇습니다."""
    rows = [cli_pairs.Row(f"{s}{'!' * (2 + t)}", f"{t}") for s, t in numbers]
    settings = {"held_out": 0.2, "seed": 3, "normalization": "korean"}
    for recipe in ("pairs", "translation", "classification", "chatbot"):
        try:
            kept, out = cli_pairs.split(rows, recipe, settings)
        except BadInput:  # 모두 이어져 있습니다
            continue
        assert sorted([*kept, *out]) == sorted(row[:2] for row in rows)
        assert len(out) >= 0.2 * len(rows)
        sources = [{source[0] for source, _ in side} for side in (kept, out)]
        assert not sources[0] & sources[1]
        if recipe == "chatbot":
            assert not {answer for _, answer in kept} & {answer for _, answer in out}


def test_whole_documents_and_whole_days_are_held_out():
    rows = [cli_pairs.Row("같은 글", f"{n}", f"문서{n % 5}") for n in range(50)]
    settings = {"held_out": 0.2, "seed": 0, "normalization": "nfc", "count": 300}
    kept, out = cli_pairs.split(rows, "translation", settings)
    documents = [{int(target) % 5 for _, target in side} for side in (kept, out)]
    assert len(documents[1]) == 1 and not documents[0] & documents[1]
    kept, out = cli_pairs.split(None, "dates", settings)
    assert (len(kept), len(out)) == (300, 60)
    assert not {day for _, day in kept} & {day for _, day in out}


def test_a_recipe_sets_what_the_options_do_not(tmp_path, pairs, no_training):
    folder = tmp_path / "run"
    small = ["--epochs", 1, "--d-model", 16, "--num-heads", 2, "--d-ff", 32]
    run("train", folder, "--recipe", "chatbot", "--data", pairs, *small)
    record = run_folder.read(folder)
    asked = {"epochs": 1, "d_model": 16, "num_heads": 2, "d_ff": 32}
    assert record.recipe == "chatbot"
    assert record.settings == RECIPES["chatbot"].settings | asked
    messy = Tokenizer.load(folder / "tokenizer.json").normalize("하나   둘!!!!")
    assert messy == "하나 둘!!"
    before = contents(folder)
    for resumed in ([], ["--recipe", "chatbot"]):
        run("train", folder, *resumed)
    line = refuse("train", folder, "--recipe", "translation")
    assert "--recipe" in line and "chatbot" in line and contents(folder) == before


def test_settings_that_depend_on_others_follow_them(tmp_path, pairs, no_training):
    """paper의 레시피에 cosine을 주면 dates의 학습률을, 그 반대이면 식을 씁니다."""
    for name, asked, expected in (
        ("a", ["--schedule", "cosine"], RECIPES["dates"].settings["learning_rate"]),
        ("b", ["--recipe", "translation", "--schedule", "paper"], None),
    ):
        run("train", tmp_path / name, "--data", pairs, *SMALL, *asked)
        settings = run_folder.read(tmp_path / name).settings
        assert settings["learning_rate"] == expected
    tokenizer = Tokenizer.load(tmp_path / "a" / "tokenizer.json")
    for norm in ("post", "pre"):
        config = run_folder.model_config(tokenizer, settings | {"norm": norm}, None)
        assert config.norm_first == (norm == "pre")
    for options_ in (["--learning-rate", 0.01], ["--count", 3]):
        line = refuse("train", tmp_path / "c", "--data", pairs, *options_)
        assert options_[0] in line and not (tmp_path / "c").exists()


def test_the_optimizer_follows_the_schedule_that_was_asked_for():
    """날짜의 기본값은 「날짜 읽기」의 것과 같은 학습률을 냅니다."""
    date = RECIPES["dates"].settings
    cosine = cli_train.make_optimizer(date, 1600)
    page = keras.optimizers.schedules.CosineDecay(
        0.0, 1400, warmup_target=0.003, warmup_steps=200
    )
    for step in range(0, 1600, 40):
        assert float(cosine._learning_rate(step)) == float(page(step))
    assert (cosine.beta_2, cosine.epsilon) == (0.98, 1e-9)
    paper = cli_train.make_optimizer(date | {"schedule": "paper"}, 1600)
    assert float(paper._learning_rate(200)) == pytest.approx((64 * 200) ** -0.5)
    constant = cli_train.make_optimizer(date | {"schedule": "constant"}, 1600)
    assert float(constant.learning_rate) == np.float32(0.003)
    short = cli_train.make_optimizer(date, 10)  # 웜업보다 짧은 학습
    assert float(short._learning_rate(5)) == np.float32(0.003)
    assert float(short._learning_rate(10)) == pytest.approx(0)


# --- 이어 가기 ------------------------------------------------------------------------


def test_a_finished_run_says_so_and_changes_nothing(words, pairs, no_training):
    before = contents(words)
    for same in ([], ["--data", pairs, "--d-model", 16]):
        result = run("train", words, *same)
        assert f"{steps(words)[-1]:,}" in result.stdout and result.stderr == ""
    assert contents(words) == before and no_training == []


def test_fewer_epochs_than_were_done_are_told_how_many_more_it_takes(copied):
    assert "60보다 크게" in run("train", copied, "--epochs", 1).stdout


def test_a_run_with_another_schedule_ends_and_resumes(tmp_path, other):
    folder = shutil.copytree(other, tmp_path / "run")
    whole, last = weights(folder), steps(folder)[-1]
    for path in (folder / "checkpoints").glob(f"step-{last}.*"):
        path.unlink()
    run("train", folder)
    for a, b in zip(weights(folder), whole, strict=True):
        np.testing.assert_array_equal(a, b)
    assert "--learning-rate" in refuse("train", folder, "--learning-rate", 0.1)


def test_a_damaged_newest_checkpoint_is_told_and_used_around(copied, no_training):
    *_, before, last = steps(copied)
    damage(copied, last)
    result = run("translate", copied, "둘 셋 넷")
    assert answers(result)[0].isdigit()
    (line,) = result.stderr.splitlines()
    assert line.startswith("경고: ") and f"step-{last}" in line
    result = run("train", copied, "--tensorboard")
    assert f"{before:,}스텝에서" in result.stdout and f"step-{last}" in result.stderr
    (how,) = no_training
    settings = run_folder.read(copied).settings
    assert how["tensorboard"] and how["save_every"] == settings["save_every"] == 10
    assert how["label_smoothing"] == settings["label_smoothing"] == 0.1


def test_training_uses_operations_that_repeat_their_bits(copied, monkeypatch):
    seen = []

    def train(*arguments, **options):
        seen.append(is_op_determinism_enabled())

    monkeypatch.setattr(training, "train", train)
    run("train", copied, "--epochs", 61)
    assert seen == [True]


def test_other_settings_or_other_data_are_refused(copied, pairs, tmp_path):
    assert "--d-model" in refuse("train", copied, "--d-model", 32)
    other = tmp_path / "other.tsv"
    other.write_text(pairs.read_text("utf-8") + "하나\t1\n", encoding="utf-8")
    assert str(other) in refuse("train", copied, "--data", other)
    record = dataclasses.replace(run_folder.read(copied), data=str(tmp_path / "none"))
    run_folder.write(copied, record)
    assert "--data" in refuse("train", copied)
    run("train", copied, "--data", pairs)


def test_what_a_killed_run_left_is_swept_away(copied, no_training):
    before = contents(copied)
    for name in (".run.0123abcd.json", "checkpoints/.history.0123abcd.json"):
        (copied / name).write_text("[")
    for name in ("step-9_temp", "best/step-9_temp"):
        (copied / "checkpoints" / name).mkdir()
        (copied / "checkpoints" / name / "part-0").write_bytes(b"0")
    run("train", copied)
    assert contents(copied) == before
    assert not list((copied / "checkpoints").rglob("*_temp"))


def test_two_that_make_the_same_folder_end_with_one_and_a_sentence(
    tmp_path, words, monkeypatch
):
    record, folder = run_folder.read(words), tmp_path / "run"
    tokenizer = run_folder.read_tokenizer(words, record)
    monkeypatch.setattr(run_folder, "is_new", lambda folder: True)

    def other(*arguments):
        shutil.copytree(words, folder)
        return Transformer(run_folder.model_config(tokenizer, record.settings, None))

    monkeypatch.setattr(run_folder, "build", other)
    line = refuse("train", folder, "--data", record.data, *SMALL, code=1)
    assert str(folder) in line and re.search("[가-힣]", line)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_empty_folder_that_one_stands_in_is_filled(
    tmp_path, pairs, no_training, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run("train", ".", "--data", pairs, *SMALL)
    names = {path.name for path in Path().iterdir()}
    assert names == {"run.json", "tokenizer.json", "held_out.tsv"}
    assert len(no_training) == 1


def test_other_library_versions_are_noted(copied):
    record = run_folder.read(copied)
    record.versions["tensorflow"] = "1.0.0\x1b[2J"
    run_folder.write(copied, record)
    said = run("train", copied).stderr
    assert "tensorflow 1.0.0" in said and "\x1b" not in said


# --- 다른 것, 망가진 것 -------------------------------------------------------------


def test_what_is_not_a_run_folder_is_refused(tmp_path):
    for command in (["translate"], ["evaluate"], ["chat"], ["train"]):
        (tmp_path / "file").write_text("일기")
        assert str(tmp_path / "file") in refuse(*command, tmp_path / "file")
        assert "run.json" in refuse(*command, tmp_path)
        if command != ["train"]:
            assert str(tmp_path / "none") in refuse(*command, tmp_path / "none")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_of_another_version_says_so(copied):
    edit(copied / "run.json", lambda record: record.update(format=9, tokens={}))
    for command in ("train", "translate", "evaluate"):
        line = refuse(command, copied)
        assert "9" in line and str(run_folder.FORMAT) in line


def places(values, way=()):
    """사전 속의 이름을 모두, 바깥에서부터의 길로 늘어놓습니다."""
    for name, value in values.items():
        yield (*way, name)
        if isinstance(value, dict):
            yield from places(value, (*way, name))


def test_any_other_value_in_run_json_is_damage(copied):
    """이름마다 바꾸고, 빼고, 더합니다. 언제나 한 줄로 거절합니다."""
    path = copied / "run.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    odd = [None, True, 0, -1, 10**400, "6", "", ["1", "2"], {"a": 1}, 0.5]
    commands = ["train", "translate", "evaluate", "chat"]
    count = 0
    for *way, last in places(whole):
        for value in [*odd, "remove", "add"]:
            record = inside = json.loads(json.dumps(whole))
            for name in way:
                inside = inside[name]
            if value == "remove":
                del inside[last]
            else:
                inside[last + "?" * (value == "add")] = value
            if record == whole or last == "format" and value in (0, -1, 10**400):
                continue
            path.write_text(json.dumps(record), encoding="utf-8")
            line = refuse(commands[count % 4], copied, code=1)
            assert str(path) in line, (way, last, value)
            count += 1
    assert count > 341


def test_no_file_of_a_folder_is_used_when_it_is_not_the_one_of_the_training(
    copied,
):
    """섞인 것, 잘린 것, 없는 것, 아주 큰 것. 답하는 대신 어느 것인지 말합니다."""
    exchanged = json.loads((copied / "tokenizer.json").read_text("utf-8"))
    *_, one, other = numbers = exchanged["model"]["vocab"]
    numbers[one], numbers[other] = numbers[other], numbers[one]
    held_out = (copied / "held_out.tsv").read_bytes()
    damages = {
        "run.json": [b"{", b"[]", b"\xff", b"[" * 10**5],
        "tokenizer.json": [b"{}", json.dumps(exchanged).encode(), None],
        "held_out.tsv": [held_out[:99], held_out.replace(b"1\n", b"2\n", 1), None],
    }
    for name, contents_ in damages.items():
        path = copied / name
        whole = path.read_bytes()
        for content in contents_:
            path.unlink() if content is None else path.write_bytes(content)
            assert name in refuse("evaluate", copied, code=1), content
        path.touch()
        os.truncate(path, 10**11)  # 메모리보다 큽니다. 빈 자리는 디스크를 쓰지 않습니다
        assert name in refuse("evaluate", copied, code=1)
        path.write_bytes(whole)


def test_checkpoints_of_another_run_are_refused(copied, other):
    """모양은 같고 시드와 스케줄이 다릅니다."""
    for name in ("best", "."):
        place = copied / "checkpoints" / name
        for path in place.glob("step-*"):
            path.unlink()
        for path in (other / "checkpoints" / name).glob("step-*"):
            shutil.copy(path, place)
        which = ["--checkpoint", "best"] if name == "best" else []
        for command in (["translate"], ["evaluate"]):
            assert str(place) in refuse(*command, copied, *which, code=1)
    assert str(copied) in refuse("chat", copied, code=1)
    assert "checkpoints" in refuse("train", copied, "--epochs", 1_000, code=1)
    assert "checkpoints" in refuse("train", copied, code=1)


def test_files_that_are_not_checkpoints_are_not_counted(copied):
    for name in ("step-abc.index", "step-.index", "step-9x.index"):
        (copied / "checkpoints" / name).write_bytes(b"")
    result = run("train", copied)
    assert f"{steps(copied)[-1]:,}" in result.stdout and result.stderr == ""


def test_more_epochs_continue_a_finished_run_even_with_a_damaged_history(copied):
    before, path = steps(copied)[-1], copied / "checkpoints" / "history.json"
    os.truncate(path, 10**11)
    result = run("train", copied, "--epochs", 61)
    assert f"{before:,}스텝" in result.stdout
    assert steps(copied)[-1] == before // 60 * 61
    assert run_folder.read(copied).settings["epochs"] == 61
    assert json.loads(path.read_text())[-1]["step"] == steps(copied)[-1]


def test_a_folder_without_checkpoints_says_to_train(copied):
    shutil.rmtree(copied / "checkpoints")
    assert "train" in refuse("translate", copied, "둘", code=1)


def test_what_may_not_be_read_is_said_to_be_so(words, monkeypatch):
    def forbidden(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", forbidden)
        line = refuse("translate", words, "둘", code=1)
    assert "checkpoints" in line and "권한" in line
    monkeypatch.setattr(Path, "read_bytes", forbidden)
    assert "권한" in refuse("translate", words, "둘", code=1)


# --- 쓰지 못할 때 --------------------------------------------------------------------


def test_a_model_too_large_for_the_memory_is_refused(tmp_path, pairs, monkeypatch):
    def too_large(*arguments):
        raise tf.errors.ResourceExhaustedError(None, None, "OOM")

    monkeypatch.setattr(Transformer, "build", too_large)
    refuse("train", tmp_path / "run", "--data", pairs, *SMALL, code=1)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_training_ends_with_one_line(copied, words_model, monkeypatch):
    monkeypatch.setattr(run_folder, "build", lambda *_: words_model[1])
    for error, said in (
        (FloatingPointError("3번째 스텝"), "3번째 스텝"),
        (tf.errors.ResourceExhaustedError(None, None, "OOM"), "--tokens"),
        (tf.errors.InternalError(None, None, "a\nb"), "a b"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "권한"),
        (OSError(errno.EMLINK, os.strerror(errno.EMLINK)), "운영 체제"),
        (OSError(errno.ENOSPC, "가득", str(copied)), f"가득 ({copied})"),
        (
            IsADirectoryError(errno.EISDIR, "폴더", "a", None, str(copied)),
            f"폴더 ({copied})",
        ),
        (MemoryError(), "메모리"),
    ):

        def fail(*arguments, error=error, **options):
            raise error

        monkeypatch.setattr(training, "train", fail)
        result = run("train", copied, "--epochs", 61, code=1)
        (line,) = result.stderr.splitlines()
        assert line.startswith("오류: ") and said in line


# --- translate -----------------------------------------------------------------------


def test_answers_equal_greedy_and_beam_search(opened, words_model):
    tokenizer, model = words_model
    texts = ["셋", "하나 둘 셋", "넷 영"]
    ids = tokenizer.encode(texts, eos=True)
    special = tokenizer.bos_id, tokenizer.eos_id
    greedy = tokenizer.decode(decoding.greedy(model, ids, *special).numpy())
    assert answers(run("translate", opened, *texts)) == greedy
    beams, _ = decoding.beam_search(model, ids, *special, beam_size=3)
    found = answers(run("translate", opened, *texts, "--beam", 3))
    assert found == tokenizer.decode(beams.numpy())


def test_lines_of_input_and_output_agree(opened):
    texts = ["하나 둘 셋", "", "둘 셋 넷", "  ", "영 영 영"] * 30  # 배치보다 많습니다
    lines = answers(run("translate", opened, stdin="\n".join(texts)))
    assert len(lines) == len(texts)
    assert all(bool(text.strip()) == bool(line) for text, line in zip(texts, lines))
    alone = answers(run("translate", opened, *texts[:1], *texts[2:3]))
    assert [lines[0], lines[2]] == alone
    marked = "\ufeff" + unicodedata.normalize("NFD", "하나 둘 셋") + "\r\n"
    assert answers(run("translate", opened, stdin=marked)) == alone[:1]


def test_bad_standard_input_is_refused(opened):
    wrong = "하나\n".encode() + "둘\n".encode("cp949")
    for command in ("translate", "chat"):
        result = run(command, opened, stdin=wrong, code=2)
        assert "2번째" in result.stderr and "UTF-8" in result.stderr
    refuse("translate", opened, stdin="")
    assert "UTF-8" in refuse("translate", opened, "\udcff")


def test_odd_characters_are_answered_with_a_warning_and_never_shown_raw(opened):
    odd = "스물\x1b[2J\x07\x9b\u202e"
    result = run("translate", opened, "하나", odd)
    assert len(answers(result)) == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("경고: 2번째 글") and "스 물" in line
    missing = run("evaluate", opened, "--data", f"{odd}.tsv", code=2)
    for character in odd[2:]:
        if character not in "[2J":
            assert character not in result.output + missing.output


def test_long_input_is_warned_about_and_too_long_refused(opened):
    result = run("translate", opened, "하나 " * 10)
    assert result.stderr.startswith("경고: ") and answers(result)
    most = str(run_folder.read(opened).settings["max_length"])
    assert most in refuse("translate", opened, "하나 " * 1000)


def test_attention_is_drawn(opened, tmp_path):
    for suffix, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        path = tmp_path / f"map.{suffix}"
        result = run("translate", opened, "하나 둘 셋", "--attention", path)
        assert answers(result)[0].isdigit() and str(path) in result.stderr
        assert path.read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 2
    path = tmp_path / "none" / "map.png"
    result = run("translate", opened, "하나", "--attention", path, code=1)
    assert result.stderr.startswith("오류: ") and not path.parent.exists()


# --- evaluate ------------------------------------------------------------------------


def scores(text):
    match = re.fullmatch(
        r"짝 +([\d,]+)개\n완전 일치 +([\d.]+)% \(([\d,]+)개\)\n"
        r"손실 +([\d.]+) \(스무딩 없이\)\n정확도 +([\d.]+)%\n",
        text,
    )
    return [float(number.replace(",", "")) for number in match.groups()]


@pytest.fixture(scope="module")
def scored(words):
    return scores(run("evaluate", words).stdout)


def test_scores_equal_a_plain_loop_that_never_pads(words, words_model, scored):
    count, percent, right, loss, accuracy = scored
    tokenizer, model = words_model
    lines = (words / "held_out.tsv").read_text("utf-8").splitlines()
    exact, losses, hits = 0, [], []
    for source, target in (line.split("\t") for line in lines):
        ids = tokenizer.encode([source], eos=True)
        answer = decoding.greedy(model, ids, tokenizer.bos_id, tokenizer.eos_id)
        exact += tokenizer.decode(answer[0].numpy()) == target
        row = tokenizer.encode([target], bos=True, eos=True)
        logits = model((ids, row[:, :-1])).numpy()[0].astype(np.float64)
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        losses += [-log_p[place, token] for place, token in enumerate(row[0, 1:])]
        hits += list(logits.argmax(axis=1) == row[0, 1:])
    assert (count, right) == (len(lines), exact)
    assert percent == pytest.approx(100 * exact / len(lines), abs=0.01)
    assert loss == pytest.approx(np.mean(losses), abs=1e-4)
    assert accuracy == pytest.approx(100 * np.mean(hits), abs=0.01)
    assert 0 < right  # 아무것도 배우지 못한 모델로는 시험이 되지 않습니다


def test_other_pairs_can_be_scored(opened, tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("하나 둘 셋\t123\n" * 2, encoding="utf-8")
    assert scores(run("evaluate", opened, "--data", path).stdout)[0] == 2
    path.write_text("하나 둘 셋\t스물\n", encoding="utf-8")
    assert scores(run("evaluate", opened, "--data", path).stdout)[2] == 0
    path.write_text("하나 " * 1000 + "\t1\n", encoding="utf-8")
    result = run("evaluate", opened, "--data", path, code=2)
    assert str(path) in result.stderr.splitlines()[-1]


def test_averaged_checkpoints_are_used_on_request(words, scored):
    count = len(steps(words))
    average = training.average_checkpoints(words / "checkpoints", count)
    assert any(np.any(a != b) for a, b in zip(average, weights(words)))
    asked = "evaluate", words, "--checkpoint", f"average:{count}"
    assert scores(run(*asked).stdout)[3] != scored[3]
    for command in ["evaluate"], ["translate"]:
        line = refuse(*command, words, "--checkpoint", f"average:{count + 1}")
        assert "--checkpoint" in line and str(count) in line


def test_the_best_weights_can_be_chosen(copied):
    """가장 옛 체크포인트를 best에 두어, 가장 새것과 다르게 합니다."""
    folder = copied / "checkpoints"
    shutil.rmtree(folder / "best")
    (folder / "best").mkdir()
    for path in folder.glob(f"step-{steps(copied)[0]}.*"):
        shutil.copy(path, folder / "best")
    _, model = run_folder.open_model(copied, run_folder.read(copied), "best")
    best = training.best_checkpoint(folder)
    for a, b in zip(model.get_weights(), best, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(np.any(a != b) for a, b in zip(best, weights(copied)))
    shutil.rmtree(folder / "best")
    wanted = "translate", copied, "둘", "--checkpoint", "best"
    assert "best" in refuse(*wanted, code=1)


# --- 진짜 프로세스 --------------------------------------------------------------------


def test_ctrl_c_stops_cleanly_and_the_same_command_ends_with_the_same_bits(
    tmp_path, pairs, words
):
    folder = tmp_path / "stopped"
    with subprocess.Popen(
        [*COMMAND, "train", folder, "--data", pairs, *SMALL],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # 배경에서 도는 셸은 SIGINT를 무시하게 물려줍니다.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while not re.match(r"\d+/\d+스텝", process.stdout.readline()):
            pass
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 130, errors
    (line,) = errors.splitlines()
    assert line.endswith(f"train {folder}")
    stopped = steps(folder)[-1]
    assert f"{stopped}스텝에서" in run("train", folder).stdout
    assert steps(folder)[-1] > stopped
    for a, b in zip(weights(folder), weights(words), strict=True):
        np.testing.assert_array_equal(a, b)


def test_ctrl_c_before_the_first_checkpoint_says_so(
    tmp_path, pairs, words, monkeypatch
):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "train", interrupt)
        result = run("train", tmp_path / "run", "--data", pairs, *SMALL, code=130)
    assert f"train {tmp_path / 'run'}" in result.stderr
    for module in (cli_train, run_folder):
        monkeypatch.setattr(module, "start_tensorflow", interrupt)
    run("train", tmp_path / "new", code=130)
    assert not (tmp_path / "new").exists()
    run("translate", words, "둘", code=130)


def test_a_pipe_gets_answers_and_nothing_else(words):
    """TensorFlow의 로그도, 먼저 닫힌 파이프의 추적 기록도 나오지 않습니다."""
    with subprocess.Popen(
        [*COMMAND, "translate", words],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write("하나 둘 셋\n".encode() * cli_answers.BATCH)
        process.stdin.flush()
        first = process.stdout.readline().decode()  # 입력이 끝나기 전에 답합니다
        process.stdout.close()
        process.stdin.write("하나 둘 셋\n".encode() * cli_answers.BATCH * 20)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=600) == 1
    assert first == "123\n"
