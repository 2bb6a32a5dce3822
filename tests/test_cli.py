"""명령줄이 지키는 약속: 도움말, 잘못 쓴 명령, 잘못된 데이터."""

import csv
import errno
import gzip
import hashlib
import os
import re
import shlex
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from command_line import COMMAND, ROOT, SMALL, refuse, run, write_pairs
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes import cli
from transformer_notes.cli import options
from transformer_notes.cli import pairs as cli_pairs
from transformer_notes.cli.korean import BadInput
from transformer_notes.cli.recipes import RECIPES
from transformer_notes.corpora import tables
from transformer_notes.positional_encoding import SCHEMES
from transformer_notes.tokenization import NORMALIZATIONS


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv")


COMMANDS = [[], *([name] for name in cli.main.commands)]


def test_the_command_line_knows_every_name_of_the_package():
    assert all(map(options.POSITIONS.accepts, SCHEMES))
    assert all(map(options.NORMALIZATION.accepts, NORMALIZATIONS))


def test_a_recipe_has_a_good_value_for_every_setting():
    for name, recipe in RECIPES.items():
        assert list(recipe.settings) == list(options.SETTINGS)
        for setting, value in recipe.settings.items():
            accepts = options.SETTINGS[setting].value.accepts
            assert value is None or accepts(value), (name, setting)
        paper = recipe.settings["schedule"] == "paper"
        assert (recipe.settings["learning_rate"] is None) == paper


def test_the_help_shows_every_value_of_every_recipe():
    lines = run("train", "--help").stdout.splitlines()
    heading = next(line for line in lines if line.split() == list(RECIPES))
    table = {line.split()[0]: line for line in lines[lines.index(heading) + 1 :]}
    for setting in options.SETTINGS:
        values = [recipe.settings[setting] for recipe in RECIPES.values()]
        flag = options.flag(setting)
        if flag in table:
            shown = ["-" if value is None else str(value) for value in values]
            assert table[flag].split()[1:] == shown
        else:
            (line,) = (x for x in lines if x.split()[:1] == [flag])
            assert line.endswith(f"[기본값: {values[0]}]") and len(set(values)) == 1


# --- 도움말 --------------------------------------------------------------------------


def test_help_is_korean_has_examples_and_fits_the_terminal():
    for command in COMMANDS:
        text = run(*command, "--help").stdout
        assert text.startswith("사용법: ") and "예:\n" in text and "옵션:\n" in text
        assert not re.search(
            "usage|options|commands|show this|default|exit", text, re.I
        )
        wide = {"W", "F"}
        for line in text.splitlines():
            columns = sum(1 + (unicodedata.east_asian_width(c) in wide) for c in line)
            assert columns <= 80, line


def test_every_example_of_the_help_is_understood(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in cli.main.commands:
        examples = re.findall(
            rf"^    transformer-notes {command} (.*)",
            run(command, "--help").stdout,
            re.M,
        )
        assert examples, command
        for example in examples:
            words = example.replace('"', "").split(" <")[0].split()
            if "--data" in words:
                data = Path(words[words.index("--data") + 1])
                data.parent.mkdir(parents=True, exist_ok=True)
                data.touch()
            cli.main.commands[command].make_context(command, words).close()


def test_help_does_not_wait_for_tensorflow():
    script = """
import sys
from transformer_notes.cli import main
for command in ["--help"], *([name, "--help"] for name in main.commands):
    try:
        main(command)
    except SystemExit as end:
        assert end.code == 0
assert not {"tensorflow", "numpy"} & set(sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("사용법: ") == len(COMMANDS)


def test_no_arguments_show_the_help_with_code_2():
    result = run(code=2)
    assert result.stdout == "" and result.stderr.startswith("사용법: ")


# --- 잘못 쓴 명령 ---------------------------------------------------------------------


def test_wrong_use_is_refused_in_korean_and_names_what_is_wrong():
    train, translate = ["train", "x"], ["translate", "x", "a"]
    for arguments, named in (
        (["paint"], "paint"),
        (["trian"], "train"),
        (["train"], "RUN_FOLDER"),
        (["translate"], "RUN_FOLDER"),
        ([*train, "y"], "y"),
        ([*train, "--epoch", "3"], "--epochs"),
        ([*train, "--epochs"], "--epochs"),
        ([*train, "--tensorboard=1"], "--tensorboard"),
        (["--help=1"], "--help에는"),
        (["train", "--help=1"], "--help에는"),
        ([*train, "--epochs", "0"], "--epochs"),
        ([*train, "--epochs", "many"], "--epochs"),
        ([*train, "--vocab-size", "2000000000"], "--vocab-size"),
        ([*train, "--num-layers", "1000000"], "--num-layers"),
        ([*train, "--dropout", "1"], "--dropout"),
        ([*train, "--dropout", "nan"], "--dropout"),
        ([*train, "--held-out", "0.999"], "--held-out"),
        ([*train, "--seed", "-1"], "--seed"),
        ([*train, "--positions", "up"], "--positions"),
        ([*train, "--recipe", "soup"], "--recipe"),
        ([*train, "--recipe", "translation"], "--data"),
        ([*train, "--data", "y"], "--data"),
        ([*train, "--recipe", "dates", "--data", __file__], "--recipe dates"),
        ([*translate, "--checkpoint", "worst"], "--checkpoint"),
        ([*translate, "--checkpoint", "average:0"], "--checkpoint"),
        ([*translate, "--checkpoint", "average"], "--checkpoint"),
        ([*translate, "--beam", "0"], "--beam"),
        ([*translate, "--top-p", "0"], "--top-p"),
        ([*translate, "--top-k", "3"], "--temperature"),
        ([*translate, "--attention", "a.txt"], "--attention"),
        ([*translate, "--attention", "a\0.png"], "--attention"),
        ([*translate, "b", "--attention", "a.png"], "--attention"),
        (["translate", "x", "--attention", "a.png"], "--attention"),
        (["translate", "x", " "], "빈 글"),
        (["exercise", "attention", "a\0"], "FILE"),
    ):
        line = refuse(*arguments)
        assert named in line, arguments
        assert not re.search("error|try|missing|invalid|no such|requires", line, re.I)


# --- 데이터 --------------------------------------------------------------------------


def test_a_bad_file_is_refused_with_its_line_and_leaves_nothing(tmp_path):
    for name, content, line in (
        ("x.tsv", "하나\t1\n둘 2\n", 2),
        ("x.tsv", "하나\t1\n둘\t2\t3\n", 2),
        ("x.tsv", "하나\t1\n\n둘\t\n", 3),
        ("x.tsv", "\t1\n", 1),
        ("x.tsv", "하나\t1\n둘\t2\n".encode("cp949"), 1),
        ("x.tsv", "하나\t1\n".encode() + b"\xff\t2\n", 2),
        ("x.tsv", "하나\t1\n".encode("utf-16"), 1),
        ("x.tsv", f"하나\t1\n{'둘' * 10**6}\t2\n", None),
        ("x.csv", f"Q,A,label\n하나,1,0\n{'둘' * 10**4},2,0\n", None),
        ("x.tsv", "", None),
        ("x.tsv", " \n\n", None),
        ("x.tsv", "하나\t1\n하나\t일\n", None),
        ("x.csv", "하나,1\n둘\n", 2),
        ("x.csv", "하나,1\n둘,\n", 2),
        ("x.csv", "하나,1,0\n", 1),
        ("x.csv", "Q,A,label\n하나,1\n", 2),
        ("x.csv", "Q,A,label\n하나,1,7\n", 2),
        ("x.csv", '하나,1\n"둘\n셋",2\n"넷"4,5\n', 4),
        ("x.csv", '하나,1\n"둘,2\n셋,3\n', 2),
        ("x.csv", f"하나,1\n{'둘' * 10**6},2\n", 2),
        ("x.csv", "하나,1\n".encode() + b"\xff,2\n", 2),
        ("x.csv", "Q,A,label\n", None),
    ):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        said = refuse("train", tmp_path / "run", "--data", path)
        assert f"{line}번째 줄" in said if line else "데이터" in said or name in said
        assert len(said) < 500 and list(tmp_path.iterdir()) == [path]
        path.unlink()


def test_what_is_no_file_or_too_large_a_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LARGEST", 10**6)
    packed = gzip.compress(bytes(10**6 + 1))
    os.mkfifo(tmp_path / "pipe.tsv")
    (tmp_path / "bomb.tsv.gz").write_bytes(packed)
    (tmp_path / "cut.tsv.gz").write_bytes(packed[:-1])
    (tmp_path / "start.tsv.gz").write_bytes(packed[:5])
    (tmp_path / "large.tsv").touch()
    os.truncate(tmp_path / "large.tsv", 10**11)
    (tmp_path / "folder.tsv").mkdir()
    for path in [*tmp_path.iterdir(), tmp_path / "none.tsv"]:
        assert str(path) in refuse("train", tmp_path / "run", "--data", path)


PLAIN = [("하나", "1", None), ('"둘", 셋', "2 3", None), ("넷", "4", None)]


def test_two_columns_are_read_from_tsv_csv_and_gz(tmp_path):
    for name, text in (
        ("x.csv", '하나,1\n"""둘"", 셋","2\n3"\n넷,4\n'),
        ("x.CSV", 'Q,A,label\r\n하나,1,0\r\n"""둘"", 셋",2 3 ,1\r\n\r\n넷,4,2'),
        ("x.csv", '\ufeff하나,1\n"""둘"", 셋", 2\t3\n,\n\n넷 ,4\n'),
        ("x", '하나\t1\n"둘", 셋\t2 3\n넷\t4\n'),
        ("x", '\ufeff하나 \t 1\r\n\r\n"둘", 셋\t2 3\r\n넷\t4'),
    ):
        text = unicodedata.normalize("NFD", text)
        plain, packed = tmp_path / name, tmp_path / f"{name}.gz"
        plain.write_bytes(text.encode())
        packed.write_bytes(gzip.compress(text.encode()))
        for path in (plain, packed):
            rows, digest = cli_pairs.read(path)
            assert rows == PLAIN, text
            assert digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_public_corpora_are_read_with_their_films_and_documents(tmp_path):
    path = tmp_path / "corpus.txt"
    for content, row in (
        ("id\tdocument\tlabel\n7\t좋다\t1\n8\t\t0\n", ("좋다", "1", None)),
        ("movie_id\treview_id\trating\tdocument\n5\t6\t2\t별로\n", ("별로", "0", "5")),
        ("document\ten\tko\nmath\tThe mean.\t평균\n", ("The mean.", "평균", "math")),
    ):
        path.write_text(content, encoding="utf-8")
        assert cli_pairs.read(path)[0] == [row]


@given(st.lists(st.tuples(*[st.text(max_size=9)] * 2), min_size=1, max_size=5))
def test_every_csv_that_python_writes_is_read_as_it_was_meant(tmp_path_factory, rows):
    def kept(text):
        text = unicodedata.normalize("NFC", text.replace("\r\n", "\n")).strip()
        return re.sub(r"[\t\n]+", " ", text)

    path = tmp_path_factory.mktemp("csv") / "x.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    wanted = [(*map(kept, row), None) for row in rows]
    wanted = [row for row in wanted if any(row)]
    if wanted and all(source and target for source, target, _ in wanted):
        assert cli_pairs.read(path)[0] == wanted
    else:
        with pytest.raises((BadInput, ValueError)):
            cli_pairs.read(path)


def test_settings_the_package_refuses_are_explained(tmp_path, pairs):
    data = tmp_path / "run", "--data", pairs
    assert "num_heads" in refuse("train", *data, "--d-model", 9)
    assert "vocab_size" in refuse("train", *data, "--vocab-size", 5)
    assert "tokens" in refuse("train", *data, "--tokens", 2)
    large = "--d-model", 4096, "--d-ff", 16384, "--num-layers", 100
    assert "--num-layers" in refuse("train", *data, *large)
    result = run("train", *data, "--max-length", 2, code=2)
    assert "--max-length" in result.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_blank_lines_are_counted(tmp_path):
    path = tmp_path / "data.tsv"
    path.write_text("하나\t1\n\n \n", encoding="utf-8")
    result = run("train", tmp_path / "run", "--data", path, code=2)
    assert result.stderr.startswith("경고: ") and "2개" in result.stderr


# --- 쓰지 못할 때 --------------------------------------------------------------------


def test_a_full_disk_at_the_start_leaves_nothing(tmp_path, pairs, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    line = refuse("train", tmp_path / "run", "--data", pairs, *SMALL, code=1)
    assert "디스크" in line and list(tmp_path.iterdir()) == []
    line = refuse("exercise", "attention", tmp_path / "a.py", code=1)
    assert "디스크" in line and list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_explained(tmp_path, pairs):
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "run"
    assert "파일" in refuse("train", below, "--data", pairs, *SMALL, code=1)


def test_output_that_cannot_be_written_is_an_error():
    for redirected, fails in (
        (">/dev/full", True),
        (">&-", True),
        ("<&- 2>&-", False),
    ):
        command = f"{shlex.join(COMMAND)} --help {redirected}"
        done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True)
        assert done.returncode == fails, redirected
        assert len(done.stderr.splitlines()) == fails, done.stderr
