"""명령줄이 지키는 약속: 학습 폴더를 만들고, 이어 가고, 쓰는 일."""

import contextlib
import copy
import errno
import functools
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
from click.testing import CliRunner
from command_line import COMMAND, ROOT, SMALL, refuse, run, write_pairs
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.python.framework.config import (
    disable_op_determinism,
    is_op_determinism_enabled,
)

from transformer_notes import cli, decoding, training
from transformer_notes.cli import answers as cli_answers
from transformer_notes.cli import pairs as cli_pairs
from transformer_notes.cli import run_folder
from transformer_notes.cli import train as cli_train
from transformer_notes.cli.korean import BadInput
from transformer_notes.cli.recipes import RECIPES
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import Transformer, TransformerConfig


@functools.cache
def opened_model(folder):
    return run_folder.open_model(folder, run_folder.read(folder), 1)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("runs") / "words"
    run("train", folder, "--data", pairs, *SMALL)
    disable_op_determinism()
    return folder


@pytest.fixture
def opened(finished, monkeypatch):
    """여러 번 부르는 시험이 모델과 그래프를 한 번만 만들게 합니다."""
    found = opened_model(finished)
    monkeypatch.setattr(run_folder, "open_model", lambda *_: found)
    return finished


@pytest.fixture
def copied(tmp_path, finished):
    return Path(shutil.copytree(finished, tmp_path / "copied"))


@pytest.fixture(autouse=True)
def leave_no_determinism():
    yield
    disable_op_determinism()


def newest(folder):
    return max(
        int(path.stem[5:])
        for path in (folder / "checkpoints").glob("step-*.index")
        if path.stem[5:].isdigit()
    )


def weights(folder):
    return training.average_checkpoints(folder / "checkpoints", 1)


def answers(result):
    return result.stdout.splitlines()


def edit(path, change):
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record)
    path.write_text(json.dumps(record), encoding="utf-8")


# --- 학습 폴더 ------------------------------------------------------------------------


def test_a_run_folder_holds_all_it_takes_to_use_it(finished, pairs):
    record = json.loads((finished / "run.json").read_text(encoding="utf-8"))
    assert record["format"] == run_folder.FORMAT
    assert record["settings"]["d_model"] == record["model"]["d_model"] == 16
    assert record["data"] == str(pairs)
    assert {"python", "tensorflow", "keras", "numpy"} <= set(record["versions"])
    history = json.loads((finished / "checkpoints" / "history.json").read_text())
    assert history[-1]["step"] == newest(finished)
    assert history[-1]["validation_loss"] < history[0]["validation_loss"]
    names = {path.name for path in finished.iterdir()}
    assert names == {"run.json", "tokenizer.json", "held_out.tsv", "checkpoints"}


def test_no_held_out_source_is_trained_on(finished, pairs):
    held_out = set((finished / "held_out.tsv").read_text("utf-8").splitlines())
    lines = set(pairs.read_text("utf-8").splitlines())
    assert held_out < lines and len(held_out) == round(0.2 * len(lines))
    twice = [("하나", "1"), ("하나", "일"), ("둘", "2"), ("셋", "3")]
    rows = [cli_pairs.Row(*pair) for pair in twice]
    for seed in range(5):
        settings = {"held_out": 0.3, "seed": seed}
        kept, out = cli_pairs.split(rows, "pairs", settings)
        assert sorted(kept + out) == sorted(twice)
        assert not {source for source, _ in kept} & {source for source, _ in out}


KEYS = st.integers(0, 9)


@given(st.lists(st.tuples(KEYS, KEYS), min_size=8, max_size=40))
@pytest.mark.parametrize("recipe", ["translation", "classification", "chatbot"])
def test_what_must_not_leak_is_on_one_side(recipe, numbers):
    """다듬은 입력이 같은 짝은 한쪽에 있고, chatbot에서는 답이 같은 짝도 그렇습니다."""
    rows = [cli_pairs.Row(f"{s}{'!' * (2 + t)}", f"{t}") for s, t in numbers]
    settings = {"held_out": 0.2, "seed": 3, "normalization": "korean"}
    try:
        kept, out = cli_pairs.split(rows, recipe, settings)
    except BadInput:  # 모두 이어져 있습니다
        return
    assert sorted([*kept, *out]) == sorted(row[:2] for row in rows)
    assert len(out) >= 0.2 * len(rows)
    sources = [{source[0] for source, _ in side} for side in (kept, out)]
    assert not sources[0] & sources[1]
    if recipe == "chatbot":
        assert not {answer for _, answer in kept} & {answer for _, answer in out}


def test_whole_documents_are_held_out():
    rows = [cli_pairs.Row("같은 글", f"{n}", f"문서{n % 5}") for n in range(50)]
    settings = {"held_out": 0.2, "seed": 0, "normalization": "nfc"}
    kept, out = cli_pairs.split(rows, "translation", settings)
    documents = [{int(target) % 5 for _, target in side} for side in (kept, out)]
    assert len(documents[1]) == 1 and not documents[0] & documents[1]


def test_dates_hold_out_whole_days():
    settings = {"held_out": 0.1, "seed": 0, "count": 300}
    kept, out = cli_pairs.split(None, "dates", settings)
    assert (len(kept), len(out)) == (300, 30)
    assert not {day for _, day in kept} & {day for _, day in out}


def test_dates_are_learned_without_a_file(tmp_path):
    folder = tmp_path / "dates"
    run("train", folder, "--count", 60, *SMALL, "--epochs", 1)
    assert "이미 끝난" in run("train", folder).stdout
    assert re.fullmatch(r".*\n", run("translate", folder, "26. 11. 21(토)").stdout)
    assert "패키지의 데이터로" in refuse("train", folder, "--data", folder / "x.tsv")

    def age(record):
        record["format"] = 3
        del record["recipe"], record["labels"]
        del record["settings"]["normalization"], record["settings"]["norm"]

    edit(folder / "run.json", age)
    assert run_folder.read(folder)["recipe"] == "dates"


def test_a_recipe_sets_what_the_options_do_not(tmp_path, pairs):
    folder = tmp_path / "run"
    small = ["--epochs", 1, "--d-model", 16, "--num-heads", 2, "--d-ff", 32]
    run("train", folder, "--recipe", "chatbot", "--data", pairs, *small)
    record = run_folder.read(folder)
    asked = {"epochs": 1, "d_model": 16, "num_heads": 2, "d_ff": 32}
    assert record["recipe"] == "chatbot"
    assert record["settings"] == RECIPES["chatbot"].settings | asked
    messy = Tokenizer.load(folder / "tokenizer.json").normalize("하나   둘!!!!")
    assert messy == "하나 둘!!"
    for resumed in ([], ["--recipe", "chatbot"]):
        assert "이미 끝난" in run("train", folder, *resumed).stdout
    line = refuse("train", folder, "--recipe", "translation")
    assert "--recipe chatbot입니다. 받은 것: translation" in line


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_place_of_the_norm_is_a_setting(tmp_path, pairs, monkeypatch, norm):
    monkeypatch.setattr(training, "train", lambda *arguments, **options: [])
    run("train", tmp_path / "run", "--data", pairs, *SMALL, "--norm", norm)
    assert run_folder.read(tmp_path / "run")["model"]["norm_first"] == (norm == "pre")


def test_another_schedule_has_the_rate_it_needs(tmp_path, pairs, monkeypatch):
    """paper의 레시피에 cosine을 주면 dates의 학습률을, 그 반대이면 식을 씁니다."""
    monkeypatch.setattr(training, "train", lambda *arguments, **options: [])
    for recipe, schedule, rate in (
        ("pairs", "cosine", RECIPES["dates"].settings["learning_rate"]),
        ("translation", "paper", None),
    ):
        asked = ["--recipe", recipe, "--schedule", schedule, "--epochs", 1]
        run("train", tmp_path / recipe, "--data", pairs, *SMALL, *asked)
        assert run_folder.read(tmp_path / recipe)["settings"]["learning_rate"] == rate


def test_a_finished_run_says_so_and_changes_nothing(finished, pairs):
    before = (finished / "run.json").read_bytes(), newest(finished)
    for options in ([], ["--data", pairs, "--d-model", 16]):
        result = run("train", finished, *options)
        assert "이미 끝난 학습입니다" in result.stdout and result.stderr == ""
    assert before == ((finished / "run.json").read_bytes(), newest(finished))


def test_more_epochs_continue_a_finished_run(copied):
    before = newest(copied)
    result = run("train", copied, "--epochs", 61)
    assert f"{before:,}스텝에서 이어 갑니다" in result.stdout
    assert newest(copied) == before // 60 * 61
    assert json.loads((copied / "run.json").read_text())["settings"]["epochs"] == 61


def test_training_uses_operations_that_repeat_their_bits(copied, monkeypatch):
    seen = []

    def train(*arguments, **options):
        seen.append(is_op_determinism_enabled())

    monkeypatch.setattr(training, "train", train)
    run("train", copied, "--epochs", 61)
    assert seen == [True]


def test_other_settings_or_other_data_are_refused(copied, pairs, tmp_path):
    assert "--d-model 16" in refuse("train", copied, "--d-model", 32)
    other = tmp_path / "other.tsv"
    other.write_text(pairs.read_text("utf-8") + "하나\t1\n", encoding="utf-8")
    assert "내용이" in refuse("train", copied, "--data", other)
    edit(copied / "run.json", lambda record: record.update(data="/no/such/file"))
    assert "--data로 알려 주세요" in refuse("train", copied)
    assert "이미 끝난" in run("train", copied, "--data", pairs).stdout


@pytest.mark.parametrize("number", [1, run_folder.FORMAT + 1])
@pytest.mark.parametrize("command", ["train", "translate", "evaluate"])
def test_a_folder_of_another_version_says_what_to_do(copied, command, number):
    def change(record):
        del record["tokenizer_sha256"]  # 다른 형식에는 다른 이름이 있습니다
        record["format"] = number
        record["versions"]["transformer-notes"] = "9.9"

    edit(copied / "run.json", change)
    line = refuse(command, copied)
    assert f"형식: {number}" in line and "9.9" in line and "다시 학습하세요" in line


@pytest.mark.parametrize("number", [2, 3])
def test_a_folder_of_an_older_format_is_still_read(copied, number):
    """2는 학습률의 설정을, 3은 레시피와 정규화를 적기 전의 폴더입니다."""

    def change(record):
        record["format"] = number
        del record["recipe"], record["labels"]
        del record["settings"]["normalization"], record["settings"]["norm"]
        if number == 2:
            del record["settings"]["schedule"], record["settings"]["learning_rate"]

    now = json.loads((copied / "run.json").read_text(encoding="utf-8"))
    before = answers(run("translate", copied, "둘 셋 넷"))
    edit(copied / "run.json", change)
    assert run_folder.read(copied) == now
    assert answers(run("translate", copied, "둘 셋 넷")) == before
    run("train", copied, "--epochs", 61)
    record = json.loads((copied / "run.json").read_text(encoding="utf-8"))
    assert record == now | {"settings": now["settings"] | {"epochs": 61}}
    edit(copied / "run.json", lambda record: record["settings"].pop("schedule"))
    assert "있어야 할 이름" in refuse("translate", copied, "둘", code=1)


@pytest.mark.parametrize("number", [2, 3])
def test_an_older_format_with_newer_names_is_damage(copied, number):
    edit(copied / "run.json", lambda record: record.update(format=number))
    assert "있어야 할 이름" in refuse("translate", copied, "둘", code=1)


@pytest.mark.parametrize("schedule, rate", [("paper", 0.1), ("cosine", None)])
def test_a_rate_that_does_not_fit_the_schedule_is_damage(copied, schedule, rate):
    def change(record):
        record["settings"] |= {"schedule": schedule, "learning_rate": rate}

    edit(copied / "run.json", change)
    assert "learning_rate" in refuse("translate", copied, "둘", code=1)


def test_the_optimizer_follows_the_schedule_that_was_asked_for():
    """날짜의 기본값은 「날짜 읽기」의 것과 같은 학습률을 냅니다."""
    date = RECIPES["dates"].settings
    steps = np.arange(1600)
    cosine = cli_train.make_optimizer(date, 1600)
    page = keras.optimizers.schedules.CosineDecay(
        0.0, 1400, warmup_target=0.003, warmup_steps=200
    )
    ours = [float(cosine._learning_rate(step)) for step in steps[::40]]
    assert ours == [float(page(step)) for step in steps[::40]]
    assert (cosine.beta_2, cosine.epsilon) == (0.98, 1e-9)
    paper = cli_train.make_optimizer(date | {"schedule": "paper"}, 1600)
    assert float(paper._learning_rate(200)) == pytest.approx((64 * 200) ** -0.5)
    constant = cli_train.make_optimizer(date | {"schedule": "constant"}, 1600)
    assert float(constant.learning_rate) == np.float32(0.003)
    short = cli_train.make_optimizer(date, 10)  # 웜업보다 짧은 학습
    assert float(short._learning_rate(5)) == np.float32(0.003)
    assert float(short._learning_rate(10)) == pytest.approx(0)


@pytest.mark.parametrize("schedule", ["cosine", "constant"])
def test_a_run_with_another_schedule_ends_and_resumes(tmp_path, pairs, schedule):
    folder = tmp_path / schedule
    short = ["--epochs", 2, "--save-every", 2]
    asked = ["--schedule", schedule, "--learning-rate", 0.01]
    run("train", folder, "--data", pairs, *SMALL, *short, *asked)
    settings = run_folder.read(folder)["settings"]
    assert (settings["schedule"], settings["learning_rate"]) == (schedule, 0.01)
    for path in (folder / "checkpoints").glob(f"step-{newest(folder)}.*"):
        path.unlink()
    assert "이어 갑니다" in run("train", folder).stdout
    assert "--learning-rate 0.01" in refuse("train", folder, "--learning-rate", 0.1)


def test_the_papers_schedule_takes_no_rate(tmp_path, pairs):
    data = tmp_path / "run", "--data", pairs
    assert "--schedule cosine" in refuse("train", *data, "--learning-rate", 0.01)
    assert not (tmp_path / "run").exists()


def test_other_library_versions_are_noted(copied):
    edit(copied / "run.json", lambda r: r["versions"].update(tensorflow="1.0.0"))
    assert "tensorflow 1.0.0 → " in run("train", copied).stderr


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_what_is_not_a_run_folder_is_refused(tmp_path, command):
    assert "학습 폴더가 없습니다" in refuse(command, tmp_path / "none")
    assert "run.json이 없습니다" in refuse(command, tmp_path)
    (tmp_path / "file").touch()
    assert "받은 것: 파일" in refuse(command, tmp_path / "file")


def test_train_never_writes_into_what_it_did_not_make(tmp_path):
    (tmp_path / "diary.txt").write_text("일기")
    assert "run.json이 없습니다" in refuse("train", tmp_path)
    assert "받은 것: 파일" in refuse("train", tmp_path / "diary.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


@pytest.mark.parametrize(
    "name, content",
    [
        ("run.json", b"{"),
        ("run.json", b"[]"),
        ("run.json", b"\xff"),
        ("run.json", b'{"format": 2}'),
        ("tokenizer.json", b"{}"),
        ("held_out.tsv", None),
    ],
)
def test_a_damaged_folder_says_which_file(copied, name, content):
    (copied / name).unlink()
    if content is not None:
        (copied / name).write_bytes(content)
    line = refuse("evaluate", copied, code=1)
    assert name in line and "망가졌습니다" in line


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("settings", None, "settings에 있어야 할 이름"),
        ("settings.epochs", "6", "settings.epochs에는 1 이상.*받은 것: '6'"),
        ("settings.tokens", True, "settings.tokens에는 1 이상.*받은 것: True"),
        ("settings.seed", -1, "settings.seed에는 0 이상"),
        ("settings.label_smoothing", float("nan"), "0 이상 1 미만.*받은 것: nan"),
        ("settings.max_length", 10**400, "settings.max_length에는.*…"),
        ("longest_source", [3], "longest_source에는 1 이상"),
        ("versions", {"keras": 3}, "versions에는"),
        ("data", 0, "data에는 파일의 경로가"),
        ("data", None, "함께 null"),
        ("recipe", "soup", "recipe에는 dates, pairs"),
        ("recipe", "dates", "recipe가 dates이면 data는 null"),
        ("recipe", "classification", "labels는 recipe가 classification일 때에만"),
        ("labels", ["1", "2"], "labels는 recipe가 classification일 때에만"),
        ("labels", ["1", "1"], "labels에는 서로 다른 이름이 둘 이상"),
        ("labels", [["1"], []], "labels에는 서로 다른 이름이 둘 이상"),
        ("settings.normalization", "nfd", "nfc나 korean이 필요합니다"),
        ("data_sha256", "0123", "data_sha256에는 16진수"),
        ("model", {"vocab_size": 10**9}, "settings의 모델과 model이 다릅니다"),
        ("model.d_ff", 10**9, "settings의 모델과 model이 다릅니다"),
        ("model.num_heads", 3, "num_heads"),
        ("model.depth", 3, "depth"),
        ("secret", 3, "있어야 할 이름"),
    ],
)
def test_a_damaged_value_is_named(copied, name, value, message):
    *way, last = name.split(".")

    def change(record):
        for key in way:
            record = record[key]
        record[last] = value

    edit(copied / "run.json", change)
    line = refuse("translate", copied, "둘", code=1)
    assert "run.json이(가) 망가졌습니다" in line and re.search(message, line)


def places(values, way=()):
    """사전 속의 이름을 모두, 바깥에서부터의 길로 늘어놓습니다."""
    for name, value in values.items():
        yield (*way, name)
        if isinstance(value, dict):
            yield from places(value, (*way, name))


odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.text(max_size=9)
    | st.integers()
    | st.sampled_from([0, 1, 2, 10**12, 10**400]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@contextlib.contextmanager
def one_model_and_no_training(folder):
    """모델을 한 번만 만들고 학습은 하지 않게 합니다. 바꾼 run.json은 되돌립니다."""
    path, whole = folder / "run.json", (folder / "run.json").read_bytes()
    _, model = opened_model(folder)
    build = run_folder.build

    def build_again(config, labels):
        return model if config == model.config else build(config, labels)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folder, "build", build_again)
        patch.setattr(training, "train", lambda *arguments, **options: [])
        try:
            yield json.loads(whole)
        finally:
            path.write_bytes(whole)


@given(
    value=odd_values,
    how=st.sampled_from(["replace", "remove", "add"]),
    command=st.sampled_from([["train"], ["translate", "둘"], ["evaluate"]]),
)
def test_no_damage_to_run_json_ends_in_a_traceback(finished, value, how, command):
    """이름마다 바꾸고, 빼고, 더합니다. 바르게 되거나 한 줄로 거절합니다."""
    path, folder = finished / "run.json", str(finished)
    with one_model_and_no_training(finished) as whole:
        for *way, last in places(whole):
            record = inside = copy.deepcopy(whole)
            for name in way:
                inside = inside[name]
            if how == "remove":
                del inside[last]
            else:
                inside[last if how == "replace" else f"{last}?"] = value
            path.write_text(json.dumps(record), encoding="utf-8")
            name, *texts = command
            result = CliRunner().invoke(cli.main, [name, folder, *texts])
            shown = command, way, last, value, result.output, result.exception
            assert type(result.exception) in (type(None), SystemExit), shown
            lines = result.stderr.splitlines()
            assert all(re.match("오류: |경고: ", line) for line in lines), shown
            assert result.exit_code in (0, 1, 2), shown
            assert not result.exit_code or lines[-1].startswith("오류: "), shown
            if how != "replace" and way in ([], ["settings"]):
                assert result.exit_code == 1, shown


def test_exchanged_numbers_in_the_tokenizer_are_noticed(copied):
    """파일은 온전한 토크나이저이므로 적어 둔 해시만이 알아봅니다."""

    def exchange(file):
        numbers = file["model"]["vocab"]
        *_, one, other = numbers
        numbers[one], numbers[other] = numbers[other], numbers[one]

    path = copied / "tokenizer.json"
    edit(path, exchange)
    Tokenizer.load(path)
    for command in (["train"], ["translate"], ["evaluate"]):
        line = refuse(*command, copied, code=1)
        assert f"{path}이(가) 망가졌습니다" in line and "해시" in line


def test_weights_of_another_model_are_refused(copied):
    def widen(record):
        record["settings"]["d_ff"] = record["model"]["d_ff"] = 8

    edit(copied / "run.json", widen)
    assert "체크포인트를 쓰지 못합니다" in refuse("translate", copied, "둘", code=1)


def test_a_model_too_large_for_the_memory_is_refused(tmp_path, pairs, monkeypatch):
    def too_large(*arguments):
        raise tf.errors.ResourceExhaustedError(None, None, "OOM")

    monkeypatch.setattr(Transformer, "build", too_large)
    line = refuse("train", tmp_path / "run", "--data", pairs, *SMALL, code=1)
    assert "메모리가 모자랍니다" in line
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_not_checkpoints_are_not_counted(copied):
    for name in ("step-abc.index", "step-.index", "step-9x.index"):
        (copied / "checkpoints" / name).write_bytes(b"")
    assert f"({newest(copied):,}스텝)" in run("train", copied).stdout
    assert run("translate", copied, "하나 둘 셋").stderr == ""


@pytest.mark.parametrize("content", ["null", "[3]", '[{"step": "3"}]'])
def test_a_damaged_history_does_not_stop_the_training(copied, content):
    path = copied / "checkpoints" / "history.json"
    path.write_text(content, encoding="utf-8")
    run("train", copied, "--epochs", 61)
    assert [r["step"] for r in json.loads(path.read_text())][-1] == newest(copied)


def test_a_folder_without_checkpoints_says_to_train(copied):
    shutil.rmtree(copied / "checkpoints")
    assert "체크포인트가 없습니다" in refuse("translate", copied, "둘", code=1)


def test_a_damaged_newest_checkpoint_is_reported_and_the_one_before_used(copied):
    for path in (copied / "checkpoints").glob(f"step-{newest(copied)}.data*"):
        path.write_bytes(path.read_bytes()[:-100])
    result = run("translate", copied, "둘 셋 넷")
    assert answers(result)[0].isdigit()
    (line,) = result.stderr.splitlines()
    assert line.startswith("경고: 체크포인트") and "망가져" in line


# --- 쓰지 못할 때 --------------------------------------------------------------------


def test_a_full_disk_while_training_says_where_it_stands(copied, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "디스크가 가득 차서 못 썼습니다", str(copied))

    monkeypatch.setattr(training, "train", full)
    result = run("train", copied, "--epochs", 61, code=1)
    assert result.stderr == f"오류: 디스크가 가득 차서 못 썼습니다 ({copied}).\n"


@pytest.mark.parametrize(
    "error, message",
    [
        (FloatingPointError("3번째 스텝에서 멈추었습니다"), "오류: 3번째 스텝에서"),
        (tf.errors.ResourceExhaustedError(None, None, "OOM"), "--tokens를 줄여"),
        (tf.errors.InternalError(None, None, "a\nb"), "TensorFlow가 멈추었습니다: a b"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "권한이 없습니다"),
    ],
)
def test_a_failed_training_ends_with_one_line(copied, monkeypatch, error, message):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(training, "train", fail)
    result = run("train", copied, "--epochs", 61, code=1)
    (line,) = result.stderr.splitlines()
    assert message in line


# --- translate -----------------------------------------------------------------------


def test_answers_equal_greedy_and_beam_search(opened):
    tokenizer, model = reload(opened)
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
    lines = run("translate", opened, stdin="\n".join(texts)).stdout.splitlines()
    assert len(lines) == len(texts)
    assert all(bool(text.strip()) == bool(line) for text, line in zip(texts, lines))
    alone = run("translate", opened, *texts[:1], *texts[2:3]).stdout.splitlines()
    assert [lines[0], lines[2]] == alone
    marked = "\ufeff" + unicodedata.normalize("NFD", "하나 둘 셋") + "\r\n"
    assert run("translate", opened, stdin=marked).stdout.splitlines() == alone[:1]


def test_bad_standard_input_is_refused(opened):
    assert "비어 있습니다" in refuse("translate", opened, stdin="")
    wrong = "하나\n".encode() + "둘\n".encode("cp949")
    assert "2번째 줄은 UTF-8이 아닙니다" in refuse("translate", opened, stdin=wrong)
    assert "UTF-8이 아닙니다" in refuse("translate", opened, "\udcff")


def test_unknown_characters_are_answered_with_a_warning(opened):
    result = run("translate", opened, "하나", "스물")
    assert len(result.stdout.splitlines()) == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("경고: 2번째 글") and "스 물" in line and "<unk>" in line


def test_long_input_is_warned_about_and_too_long_refused(opened):
    result = run("translate", opened, "하나 " * 10)
    assert "학습한 어떤 입력" in result.stderr
    line = refuse("translate", opened, "하나 " * 1000)
    assert "256토큰까지 받습니다" in line


@pytest.mark.parametrize("suffix, start", [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_attention_is_drawn(opened, tmp_path, suffix, start):
    path = tmp_path / f"map.{suffix}"
    result = run("translate", opened, "하나 둘 셋", "--attention", path)
    assert answers(result)[0].isdigit()
    assert result.stderr == f"그렸습니다: {path}\n"
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_that_cannot_be_written_leaves_nothing(opened, tmp_path):
    path = tmp_path / "none" / "map.png"
    result = run("translate", opened, "하나", "--attention", path, code=1)
    assert result.stderr.startswith("오류: ") and not path.parent.exists()


# --- evaluate ------------------------------------------------------------------------


def reload(folder):
    """명령줄을 거치지 않고 학습 폴더를 엽니다."""
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    model = Transformer(TransformerConfig(**record["model"]))
    model.build()
    model.set_weights(weights(folder))
    return Tokenizer.load(folder / "tokenizer.json"), model


def scores(text):
    match = re.fullmatch(
        r"짝 +([\d,]+)개\n완전 일치 +([\d.]+)% \(([\d,]+)개\)\n"
        r"손실 +([\d.]+) \(스무딩 없이\)\n정확도 +([\d.]+)%\n",
        text,
    )
    return [float(number.replace(",", "")) for number in match.groups()]


def test_scores_equal_a_plain_loop_that_never_pads(finished):
    count, percent, right, loss, accuracy = scores(run("evaluate", finished).stdout)
    tokenizer, model = reload(finished)
    lines = (finished / "held_out.tsv").read_text("utf-8").splitlines()
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
    assert "채점할 짝이 남지 않았습니다. 256토큰 이하" in result.stderr


def test_averaged_checkpoints_are_used_on_request(finished):
    count = len(list((finished / "checkpoints").glob("step-*.index")))
    average = training.average_checkpoints(finished / "checkpoints", count)
    assert any(np.any(a != b) for a, b in zip(average, weights(finished)))
    loss = scores(run("evaluate", finished).stdout)[3]
    same, other = (
        scores(run("evaluate", finished, "--checkpoint", which).stdout)[3]
        for which in ("newest", f"average:{count}")
    )
    assert same == loss != other
    for command in ["evaluate"], ["translate"]:
        line = refuse(*command, finished, "--checkpoint", f"average:{count + 1}")
        assert f"남아 있는 체크포인트의 수 {count} 이하" in line
        assert not re.search(r"\b(n|keep)\b", line)


def test_the_best_weights_can_be_chosen(copied):
    """가장 옛 체크포인트를 best에 두어, 가장 새것과 다르게 합니다."""
    folder = copied / "checkpoints"
    oldest = training.saved_steps(folder)[0]
    shutil.rmtree(folder / "best")
    (folder / "best").mkdir()
    for path in folder.glob(f"step-{oldest}.*"):
        shutil.copy(path, folder / "best")
    record = run_folder.read(copied)
    _, model = run_folder.open_model(copied, record, "best")
    best = training.best_checkpoint(folder)
    for a, b in zip(model.get_weights(), best, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(np.any(a != b) for a, b in zip(best, weights(copied)))
    losses = [
        scores(run("evaluate", copied, *options).stdout)[3]
        for options in ([], ["--checkpoint", "best"])
    ]
    assert losses[0] != losses[1]
    shutil.rmtree(folder / "best")
    assert "best가 없습니다" in refuse(
        "translate", copied, "둘", "--checkpoint", "best", code=1
    )


# --- 진짜 프로세스 --------------------------------------------------------------------


def test_ctrl_c_stops_cleanly_and_the_same_command_ends_with_the_same_bits(
    tmp_path, pairs, finished
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
        process.stdout.readline()  # 무엇을 학습하는지
        assert "두 수를 바로 견주지 마세요" in process.stdout.readline()
        assert "스텝" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 130, errors
    (line,) = errors.splitlines()
    assert re.match(r"멈추었습니다. [\d,]+스텝에서 이어 가려면: ", line)
    assert line.endswith(f"train {folder}")
    stopped = newest(folder)

    assert f"{stopped}스텝에서 이어 갑니다" in run("train", folder).stdout
    assert newest(folder) > stopped
    for a, b in zip(weights(folder), weights(finished), strict=True):
        np.testing.assert_array_equal(a, b)


def test_ctrl_c_before_the_first_checkpoint_says_so(
    tmp_path, pairs, finished, monkeypatch
):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "train", interrupt)
        result = run("train", tmp_path / "run", "--data", pairs, *SMALL, code=130)
    assert "처음부터 합니다" in result.stderr
    for module in (cli_train, run_folder):
        monkeypatch.setattr(module, "start_tensorflow", interrupt)
    result = run("train", tmp_path / "new", code=130)
    assert "같은 명령을 다시" in result.stderr
    stopped = run("translate", finished, "둘", code=130)
    assert stopped.stderr.strip() == "멈추었습니다."


def test_a_pipe_gets_answers_and_nothing_else(finished):
    """TensorFlow의 로그도, 먼저 닫힌 파이프의 추적 기록도 나오지 않습니다."""
    with subprocess.Popen(
        [*COMMAND, "translate", finished],
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
    assert first == run("translate", finished, "하나 둘 셋").stdout
    assert first == "123\n"
