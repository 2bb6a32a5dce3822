"""명령줄이 지키는 약속: 도움말, 잘못 쓴 명령, 잘못된 데이터."""

import csv
import errno
import gzip
import hashlib
import os
import re
import subprocess
import sys
import unicodedata

import pytest
from command_line import COMMAND, ROOT, SMALL, refuse, run, write_pairs
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes import cli
from transformer_notes.cli import options
from transformer_notes.cli import pairs as cli_pairs
from transformer_notes.cli.korean import BadInput
from transformer_notes.cli.recipes import RECIPES
from transformer_notes.positional_encoding import SCHEMES
from transformer_notes.tokenization import NORMALIZATIONS


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv")


every_command = pytest.mark.parametrize(
    "command", [[], *([name] for name in cli.main.commands)]
)


def test_the_command_line_knows_every_positional_scheme():
    assert all(map(options.POSITIONS.accepts, SCHEMES))


def test_the_command_line_knows_every_normalization():
    known = {name for name in NORMALIZATIONS if options.NORMALIZATION.accepts(name)}
    assert known == set(NORMALIZATIONS)
    assert all(name in options.SETTINGS["normalization"].help for name in known)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_a_good_value_for_every_setting(name):
    settings = RECIPES[name].settings
    assert list(settings) == list(options.SETTINGS)
    for setting, value in settings.items():
        assert value is None or options.SETTINGS[setting].value.holds(value), setting
    assert (settings["learning_rate"] is None) == (settings["schedule"] == "paper")


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
        (["train", "x", "--positions", "up"], "--positions에는"),
        (["train", "x", "--recipe", "soup"], "dates, pairs, translation"),
        (["train", "x", "--recipe", "translation"], "에는 학습할 파일이 필요합니다"),
        (["train", "x", "--recipe", "dates", "--data", "y"], "스스로 만듭니다"),
        (["translate", "x", "a", "--checkpoint", "worst"], "best, newest, average:N"),
        (["translate", "x", "a", "--checkpoint", "average:0"], "1 이상의 정수"),
        (["translate", "x", "a", "--checkpoint", "average"], "받은 것: 'average'"),
        (["translate", "x", "a", "--beam", "0"], "--beam에는 1 이상"),
        (["translate", "x", "a", "--top-p", "0"], "--top-p에는 0보다 크고 1 이하"),
        (["translate", "x", "a", "--top-k", "3"], "--top-k는 --temperature와 함께"),
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
        ("하나\t1\n둘 2\n", "2번째 줄에는 '입력<탭>답'이 필요합니다.*칸 1개: 둘 2"),
        ("하나\t1\n둘\t2\t3\n", "2번째 줄.*칸 3개"),
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


@pytest.mark.parametrize(
    "content, message",
    [
        ("하나,1\n둘\n", "2번째 줄에는 '입력,답'이 필요합니다. 받은 것: '칸 1개: 둘'"),
        ("하나,1\n둘,\n", "2번째 줄"),
        ("하나,1,0\n", "1번째 줄.*칸 3개"),
        ("Q,A,label\n하나,1\n", "2번째 줄"),
        ("Q,A,label\n하나,1,7\n", "2번째 줄.*label"),
        ('하나,1\n"둘\n셋",2\n"넷"4,5\n', "4번째 줄.*따옴표"),
        ('하나,1\n"둘,2\n셋,3\n', "2번째 줄.*따옴표"),
        ("하나,1\n".encode() + b"\xff,2\n", "2번째 줄은 UTF-8이 아닙니다"),
        ("Q,A,label\n", "줄이 하나도 없습니다"),
    ],
)
def test_a_bad_csv_is_refused_with_its_line(tmp_path, content, message):
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert re.search(message, refuse("train", tmp_path / "run", "--data", path))


PLAIN = [("하나", "1", None), ('"둘", 셋', "2 3", None), ("넷", "4", None)]


@pytest.mark.parametrize(
    "name, content",
    [
        ("x.csv", '하나,1\n"""둘"", 셋","2\n3"\n넷,4\n'),
        ("x.CSV", 'Q,A,label\r\n하나,1,0\r\n"""둘"", 셋",2 3 ,1\r\n\r\n넷,4,2'),
        ("x.csv", '\ufeff하나,1\n"""둘"", 셋", 2\t3\n,\n\n넷 ,4\n'),
        ("x", '하나\t1\n"둘", 셋\t2 3\n넷\t4\n'),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_two_columns_are_read_from_tsv_csv_and_gz(tmp_path, name, content, packed):
    path, content = tmp_path / name, content.encode()
    if packed:
        path, content = tmp_path / f"{name}.gz", gzip.compress(content)
    path.write_bytes(content)
    rows, digest = cli_pairs.read(path)
    assert rows == PLAIN
    assert digest == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    "content, rows",
    [
        ("id\tdocument\tlabel\n7\t좋다\t1\n8\t\t0\n", [("좋다", "1", None)]),
        (
            "movie_id\treview_id\trating\tdocument\n5\t6\t2\t별로\n",
            [("별로", "0", "5")],
        ),
        ("document\ten\tko\nmath\tThe mean.\t평균\n", [("The mean.", "평균", "math")]),
    ],
)
def test_public_corpora_are_read_with_their_films_and_documents(
    tmp_path, content, rows
):
    path = tmp_path / "corpus.txt"
    path.write_text(content, encoding="utf-8")
    assert cli_pairs.read(path)[0] == rows


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
        with pytest.raises(BadInput):
            cli_pairs.read(path)


@pytest.mark.parametrize("cut", [5, 30, -1])
def test_a_damaged_gz_is_refused(tmp_path, cut):
    path = tmp_path / "x.tsv.gz"
    path.write_bytes(gzip.compress("하나\t1\n둘\t2\n".encode())[:cut])
    assert "온전한 gzip" in refuse("train", tmp_path / "run", "--data", path)


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
    assert (
        found[0]
        == found[1]
        == [
            ("하나", "1", None),
            ("둘", "2", None),
            ("셋", "3", None),
        ]
    )


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
