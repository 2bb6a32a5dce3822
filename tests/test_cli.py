"""명령줄이 지키는 약속."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner
from tensorflow.python.framework.config import disable_op_determinism

from transformer_notes import cli, decoding, multi_head_attention, training
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import Transformer, TransformerConfig

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "transformer_notes.cli"]
WORDS = "영 하나 둘 셋 넷 다섯".split()
SMALL = (
    "--d-model 16 --num-heads 2 --num-layers 1 --d-ff 32 --warmup-steps 100 "
    "--tokens 512 --held-out 0.2 --dropout 0 --epochs 60 --save-every 10"
).split()
OPENED = {}


def run(*arguments, stdin=None, code=0):
    """명령을 이 프로세스에서 실행합니다. 추적 기록은 어느 쪽으로도 나오지 않습니다."""
    result = CliRunner().invoke(cli.main, [str(a) for a in arguments], input=stdin)
    shown = f"{result.output}\n{result.exception!r}"
    assert result.exit_code == code, shown
    assert result.exception is None or isinstance(result.exception, SystemExit), shown
    return result


def refuse(*arguments, code=2, stdin=None):
    """거절하는 한 줄을 돌려줍니다. 표준 출력에는 아무것도 없습니다."""
    result = run(*arguments, code=code, stdin=stdin)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("오류: ")
    return line


def write_pairs(path):
    """낱말의 열을 숫자로 적는 짝 216개."""
    numbers = np.stack(np.meshgrid(*[range(6)] * 3), axis=-1).reshape(-1, 3)
    lines = (
        " ".join(WORDS[n] for n in row) + "\t" + "".join(map(str, row)) + "\n"
        for row in numbers
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path


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
    if finished not in OPENED:
        OPENED[finished] = cli._open_run(finished, cli._read_record(finished), 1)
    monkeypatch.setattr(cli, "_open_run", lambda *_: OPENED[finished])
    return finished


@pytest.fixture
def copied(tmp_path, finished):
    return Path(shutil.copytree(finished, tmp_path / "copied"))


@pytest.fixture(autouse=True)
def leave_no_determinism():
    yield
    disable_op_determinism()


def newest(folder):
    steps = (int(p.stem[5:]) for p in (folder / "checkpoints").glob("step-*.index"))
    return max(steps)


def weights(folder):
    return training.average_checkpoints(folder / "checkpoints", 1)


def edit(path, change):
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record)
    path.write_text(json.dumps(record), encoding="utf-8")


# --- 도움말 --------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], ["train"], ["translate"], ["evaluate"]])
def test_help_is_korean_has_examples_and_fits_the_terminal(command):
    text = run(*command, "--help").stdout
    assert text.startswith("사용법: ") and "예:\n" in text and "옵션:\n" in text
    assert not re.search("usage|options|commands|show this|default|exit", text, re.I)
    wide = {"W", "F"}
    for line in text.splitlines():
        columns = sum(1 + (unicodedata.east_asian_width(c) in wide) for c in line)
        assert columns <= 80, line


def test_every_example_of_the_help_is_understood():
    for command in ("train", "translate", "evaluate"):
        examples = re.findall(
            rf"^    transformer-notes {command} (.*)",
            run(command, "--help").stdout,
            re.M,
        )
        assert len(examples) >= 3
        for example in examples:
            words = example.replace('"', "").split(" <")[0].split()
            cli.main.commands[command].make_context(command, words).close()


@pytest.mark.parametrize("command", [[], ["train"], ["translate"], ["evaluate"]])
def test_help_does_not_wait_for_tensorflow(command):
    script = f"""
import sys
from transformer_notes.cli import main
try:
    main({[*command, "--help"]!r})
finally:
    assert "tensorflow" not in sys.modules
    assert "numpy" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("사용법: ")


def test_no_arguments_show_the_help_with_code_2():
    result = run(code=2)
    assert result.stdout == "" and result.stderr.startswith("사용법: ")


# --- 잘못 쓴 명령 ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["paint"], "없는 명령입니다: paint"),
        (["trian"], "혹시 train입니까?"),
        (["train"], "RUN_FOLDER이"),
        (["translate"], "RUN_FOLDER이"),
        (["train", "x", "y"], "남는 인자가 있습니다: y"),
        (["train", "x", "--epoch", "3"], "혹시 --epochs입니까?"),
        (["train", "x", "--epochs"], "--epochs에는 값이 필요합니다"),
        (["train", "x", "--tensorboard=1"], "--tensorboard에는 값을 주지 않습니다"),
        (["train", "x", "--epochs", "0"], "1 이상의 정수가 필요합니다. 받은 것: '0'"),
        (["train", "x", "--epochs", "many"], "--epochs에는 1 이상의 정수"),
        (["train", "x", "--dropout", "1"], "--dropout에는 0 이상 1 미만"),
        (["train", "x", "--dropout", "nan"], "--dropout에는 0 이상 1 미만"),
        (["train", "x", "--seed", "-1"], "--seed에는 0 이상"),
        (["train", "x", "--positions", "up"], "sinusoidal이나 learned가"),
        (["translate", "x", "a", "--beam", "0"], "--beam에는 1 이상"),
        (["translate", "x", "a", "--attention", "a.txt"], r".png, .svg, .pdf로 끝나는"),
        (["translate", "x", "a", "b", "--attention", "a.png"], "받은 것: 2개"),
        (["translate", "x", "--attention", "a.png"], "받은 것: 0개"),
        (["translate", "x", " "], "TEXT에는 글이 필요합니다"),
    ],
)
def test_wrong_use_is_refused_in_korean(arguments, message):
    line = refuse(*arguments)
    assert message in line
    assert not re.search("error|try|missing|invalid|no such|requires", line, re.I)


# --- 데이터 --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, message",
    [
        ("하나\t1\n둘 2\n", "2번째 줄에는 '입력<탭>답'이 필요합니다"),
        ("하나\t1\n둘\t2\t3\n", "2번째 줄.*탭 2개"),
        ("하나\t1\n\n둘\t\n", "3번째 줄"),
        ("\t1\n", "1번째 줄"),
        ("하나\t1\n둘\t2\n".encode("cp949"), "1번째 줄은 UTF-8이 아닙니다.*iconv"),
        ("하나\t1\n".encode() + b"\xff\t2\n", "2번째 줄은 UTF-8이 아닙니다"),
        ("하나\t1\n".encode("utf-16"), "1번째 줄은 UTF-8이 아닙니다"),
        ("", "줄이 하나도 없습니다"),
        (" \n\n", "줄이 하나도 없습니다"),
        ("하나\t1\n하나\t일\n", "서로 다른 입력이 둘 이상"),
    ],
)
def test_a_bad_file_is_refused_and_leaves_nothing(tmp_path, content, message):
    path = tmp_path / "data.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert re.search(message, refuse("train", tmp_path / "run", "--data", path))
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_missing_file_or_a_folder_is_refused(tmp_path):
    gone = tmp_path / "none.tsv"
    assert f"파일이 없습니다: {gone}" in refuse("train", tmp_path / "r", "--data", gone)
    assert "폴더" in refuse("train", tmp_path / "r", "--data", tmp_path)


def test_settings_the_package_refuses_are_explained(tmp_path, pairs):
    data = tmp_path / "run", "--data", pairs
    assert "num_heads" in refuse("train", *data, "--d-model", 9)
    assert "vocab_size" in refuse("train", *data, "--vocab-size", 5)
    assert "tokens" in refuse("train", *data, "--tokens", 2)
    assert "--count" in refuse("train", *data, "--count", 5)
    result = run("train", *data, "--max-length", 2, code=2)
    assert "--max-length" in result.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_blank_lines_marks_and_line_ends_do_not_matter(tmp_path):
    clean = "하나\t1\n둘\t2\n셋\t3\n"
    messy = "\ufeff" + clean.replace("\n", "\r\n\r\n").replace("\t", " \t ")
    messy = unicodedata.normalize("NFD", messy)
    found = []
    for name, text in (("clean", clean), ("messy", messy)):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        found.append(cli._read_pairs(path)[0])
    assert found[0] == found[1] == [("하나", "1"), ("둘", "2"), ("셋", "3")]


def test_blank_lines_are_counted(tmp_path):
    path = tmp_path / "data.tsv"
    path.write_text("하나\t1\n\n \n", encoding="utf-8")
    result = run("train", tmp_path / "run", "--data", path, code=2)
    assert "빈 줄 2개를 건너뜁니다" in result.stderr


# --- 학습 폴더 ------------------------------------------------------------------------


def test_a_run_folder_holds_all_it_takes_to_use_it(finished, pairs):
    record = json.loads((finished / "run.json").read_text(encoding="utf-8"))
    assert record["format"] == cli.FORMAT
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
    for seed in range(5):
        kept, out = cli._split(twice, {"held_out": 0.3, "seed": seed})
        assert sorted(kept + out) == sorted(twice)
        assert not {source for source, _ in kept} & {source for source, _ in out}


def test_dates_hold_out_whole_days():
    kept, out = cli._split(None, {"held_out": 0.1, "seed": 0, "count": 300})
    assert (len(kept), len(out)) == (300, 30)
    assert not {day for _, day in kept} & {day for _, day in out}


def test_dates_are_learned_without_a_file(tmp_path):
    folder = tmp_path / "dates"
    run("train", folder, "--count", 60, *SMALL, "--epochs", 1)
    assert "이미 끝난" in run("train", folder).stdout
    assert re.fullmatch(r".*\n", run("translate", folder, "26. 11. 21(토)").stdout)
    assert "날짜를 학습하던" in refuse("train", folder, "--data", folder / "x.tsv")


def test_a_finished_run_says_so_and_changes_nothing(finished, pairs):
    before = (finished / "run.json").read_bytes(), newest(finished)
    for options in ([], ["--data", pairs, "--d-model", 16]):
        result = run("train", finished, *options)
        assert "이미 끝난 학습입니다" in result.stdout and result.stderr == ""
    assert before == ((finished / "run.json").read_bytes(), newest(finished))


def test_more_epochs_continue_a_finished_run(copied):
    before = newest(copied)
    result = run("train", copied, "--epochs", 61)
    assert f"{before:,}걸음에서 이어 갑니다" in result.stdout
    assert newest(copied) == before // 60 * 61
    assert json.loads((copied / "run.json").read_text())["settings"]["epochs"] == 61


def test_other_settings_or_other_data_are_refused(copied, pairs, tmp_path):
    assert "--d-model 16" in refuse("train", copied, "--d-model", 32)
    other = tmp_path / "other.tsv"
    other.write_text(pairs.read_text("utf-8") + "하나\t1\n", encoding="utf-8")
    assert "내용이" in refuse("train", copied, "--data", other)
    edit(copied / "run.json", lambda record: record.update(data="/no/such/file"))
    assert "--data로 알려 주세요" in refuse("train", copied)
    assert "이미 끝난" in run("train", copied, "--data", pairs).stdout


@pytest.mark.parametrize("command", ["train", "translate", "evaluate"])
def test_a_folder_of_another_version_says_what_to_do(copied, command):
    def change(record):
        record["format"] = cli.FORMAT + 1
        record["versions"]["transformer-notes"] = "9.9"

    edit(copied / "run.json", change)
    line = refuse(command, copied)
    assert "9.9" in line and "다시 학습하세요" in line


def test_other_library_versions_are_noted(copied):
    edit(copied / "run.json", lambda r: r["versions"].update(tensorflow="1.0.0"))
    assert "tensorflow 1.0.0 → " in run("train", copied).stderr


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_what_is_not_a_run_folder_is_refused(tmp_path, command):
    assert "학습 폴더가 없습니다" in refuse(command, tmp_path / "none")
    assert "run.json이 없습니다" in refuse(command, tmp_path)


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
        ("run.json", b'{"format": 1}'),
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


def test_a_model_that_does_not_fit_its_weights_is_damaged(copied):
    edit(copied / "run.json", lambda record: record["model"].update(d_ff=8))
    assert "체크포인트를 쓰지 못합니다" in refuse("translate", copied, "둘", code=1)
    edit(copied / "run.json", lambda record: record["model"].update(num_heads=3))
    assert "run.json" in refuse("translate", copied, "둘", code=1)


def test_a_folder_without_checkpoints_says_to_train(copied):
    shutil.rmtree(copied / "checkpoints")
    assert "체크포인트가 없습니다" in refuse("translate", copied, "둘", code=1)


def test_a_damaged_newest_checkpoint_is_reported_and_the_one_before_used(copied):
    for path in (copied / "checkpoints").glob(f"step-{newest(copied)}.data*"):
        path.write_bytes(path.read_bytes()[:-100])
    result = run("translate", copied, "둘 셋 넷")
    assert result.stdout.strip().isdigit()
    (line,) = result.stderr.splitlines()
    assert line.startswith("경고: 체크포인트") and "망가져" in line


# --- 쓰지 못할 때 --------------------------------------------------------------------


def test_a_full_disk_at_the_start_leaves_nothing(tmp_path, pairs, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    line = refuse("train", tmp_path / "run", "--data", pairs, *SMALL, code=1)
    assert "디스크가 가득 찼습니다" in line
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_while_training_says_where_it_stands(copied, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "디스크가 가득 차서 못 썼습니다", str(copied))

    monkeypatch.setattr(training, "train", full)
    result = run("train", copied, "--epochs", 61, code=1)
    assert result.stderr == f"오류: 디스크가 가득 차서 못 썼습니다 ({copied}).\n"


@pytest.mark.parametrize(
    "error, message",
    [
        (FloatingPointError("3번째 걸음에서 멈추었습니다"), "오류: 3번째 걸음에서"),
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


def test_an_unwritable_place_is_explained(tmp_path, pairs):
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "run"
    assert "파일" in refuse("train", below, "--data", pairs, *SMALL, code=1)


def test_output_that_cannot_be_written_is_an_error():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "--help"], cwd=ROOT, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert done.stderr.decode() == "오류: 디스크가 가득 찼습니다.\n"


# --- translate -----------------------------------------------------------------------


def test_answers_equal_greedy_and_beam_search(opened):
    tokenizer, model = reload(opened)
    texts = ["셋", "하나 둘 셋", "넷 영"]
    ids = tokenizer.encode(texts, eos=True)
    special = tokenizer.bos_id, tokenizer.eos_id
    greedy = tokenizer.decode(decoding.greedy(model, ids, *special).numpy())
    assert run("translate", opened, *texts).stdout.splitlines() == greedy
    beams, _ = decoding.beam_search(model, ids, *special, beam_size=3)
    answers = run("translate", opened, *texts, "--beam", 3).stdout.splitlines()
    assert answers == tokenizer.decode(beams.numpy())


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
    assert result.stdout.strip().isdigit()
    assert result.stderr == f"그렸습니다: {path}\n"
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_that_cannot_be_written_leaves_nothing(opened, tmp_path):
    path = tmp_path / "none" / "map.png"
    result = run("translate", opened, "하나", "--attention", path, code=1)
    assert result.stderr.startswith("오류: ") and not path.parent.exists()


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_drawn_attention_is_the_attention_of_the_model(norm_first, monkeypatch):
    config = TransformerConfig(
        20, d_model=16, num_heads=2, num_layers=2, d_ff=32, norm_first=norm_first
    )
    model = Transformer(config)
    model.build()
    source, target = tf.constant([[5, 6, 7, 3]]), tf.constant([[2, 8, 9]])
    found = cli._cross_attention(model, source, target)
    assert [weights.shape for weights in found] == [(1, 2, 3, 4)] * 2
    seen, attend = [], multi_head_attention.scaled_dot_product_attention

    def spy(query, key, value, mask):
        output, weights = attend(query, key, value, mask)
        if query.shape[2] != key.shape[2]:  # 길이가 다르면 크로스 어텐션입니다
            seen.append(weights.numpy())
        return output, weights

    monkeypatch.setattr(multi_head_attention, "scaled_dot_product_attention", spy)
    model((source, target))
    np.testing.assert_allclose(found, seen, atol=1e-6)


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
        r"짝 +([\d,]+)개\n완전 일치 +([\d.]+)% \(([\d,]+)개\)\n손실 +([\d.]+)\n"
        r"정확도 +([\d.]+)%\n",
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
    assert "너무 깁니다" in result.stderr


def test_averaged_checkpoints_are_used_on_request(finished):
    count = len(list((finished / "checkpoints").glob("step-*.index")))
    average = training.average_checkpoints(finished / "checkpoints", count)
    assert any(np.any(a != b) for a, b in zip(average, weights(finished)))
    loss = scores(run("evaluate", finished).stdout)[3]
    assert loss != scores(run("evaluate", finished, "--average", count).stdout)[3]
    line = refuse("evaluate", finished, "--average", count + 1, code=1)
    assert f"받은 것: {count}개" in line


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
    ) as process:
        process.stdout.readline()  # 무엇을 학습하는지
        assert "걸음" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    (line,) = errors.splitlines()
    assert re.match(r"멈추었습니다. [\d,]+걸음에서 이어 가려면: ", line)
    assert line.endswith(f"train {folder}")
    stopped = newest(folder)

    assert f"{stopped}걸음에서 이어 갑니다" in run("train", folder).stdout
    assert newest(folder) > stopped
    for a, b in zip(weights(folder), weights(finished), strict=True):
        np.testing.assert_array_equal(a, b)


def test_ctrl_c_before_the_first_checkpoint_says_so(tmp_path, pairs, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "train", interrupt)
        result = run("train", tmp_path / "run", "--data", pairs, *SMALL, code=130)
    assert "처음부터 합니다" in result.stderr
    monkeypatch.setattr(cli, "_start_tensorflow", interrupt)
    result = run("train", tmp_path / "new", code=130)
    assert "같은 명령을 다시" in result.stderr
    assert run("translate", tmp_path / "run", "둘", code=130).stderr.strip() == (
        "멈추었습니다."
    )


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
        process.stdin.write("하나 둘 셋\n".encode() * cli.BATCH)
        process.stdin.flush()
        first = process.stdout.readline().decode()  # 입력이 끝나기 전에 답합니다
        process.stdout.close()
        process.stdin.write("하나 둘 셋\n".encode() * cli.BATCH * 20)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1
    assert first == run("translate", finished, "하나 둘 셋").stdout == "123\n"
