"""명령줄이 지키는 약속: 도움말, 잘못 쓴 명령, 잘못된 데이터."""

import errno
import os
import re
import subprocess
import sys
import unicodedata

import pytest
from command_line import COMMAND, ROOT, SMALL, refuse, run, write_pairs

from transformer_notes import cli
from transformer_notes.cli import options
from transformer_notes.cli import pairs as cli_pairs
from transformer_notes.positional_encoding import SCHEMES


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv")


every_command = pytest.mark.parametrize(
    "command", [[], *([name] for name in cli.main.commands)]
)


def test_the_command_line_knows_every_positional_scheme():
    known = {name for name in SCHEMES if options.POSITIONS.accepts(name)}
    assert known == set(SCHEMES)
    assert all(name in options.SETTINGS["positions"].help for name in SCHEMES)


# --- 도움말 --------------------------------------------------------------------------


@every_command
def test_help_is_korean_has_examples_and_fits_the_terminal(command):
    text = run(*command, "--help").stdout
    assert text.startswith("사용법: ") and "예:\n" in text and "옵션:\n" in text
    assert not re.search("usage|options|commands|show this|default|exit", text, re.I)
    wide = {"W", "F"}
    for line in text.splitlines():
        columns = sum(1 + (unicodedata.east_asian_width(c) in wide) for c in line)
        assert columns <= 80, line


def test_every_example_of_the_help_is_understood():
    for command in cli.main.commands:
        examples = re.findall(
            rf"^    transformer-notes {command} (.*)",
            run(command, "--help").stdout,
            re.M,
        )
        assert examples, command
        for example in examples:
            words = example.replace('"', "").split(" <")[0].split()
            cli.main.commands[command].make_context(command, words).close()


@every_command
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
        (
            ["train", "x", "--epochs", "0"],
            "1 이상 2^31 미만의 정수가 필요합니다. 받은 것: '0'",
        ),
        (["train", "x", "--epochs", "many"], "--epochs에는 1 이상"),
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
        found.append(cli_pairs.read(path)[0])
    assert found[0] == found[1] == [("하나", "1"), ("둘", "2"), ("셋", "3")]


def test_blank_lines_are_counted(tmp_path):
    path = tmp_path / "data.tsv"
    path.write_text("하나\t1\n\n \n", encoding="utf-8")
    result = run("train", tmp_path / "run", "--data", path, code=2)
    assert "빈 줄 2개를 건너뜁니다" in result.stderr


# --- 쓰지 못할 때 --------------------------------------------------------------------


def test_a_full_disk_at_the_start_leaves_nothing(tmp_path, pairs, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    line = refuse("train", tmp_path / "run", "--data", pairs, *SMALL, code=1)
    assert "디스크가 가득 찼습니다" in line
    assert list(tmp_path.iterdir()) == []


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
