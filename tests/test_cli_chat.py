"""`chat`이 지키는 약속: 터미널에서도 파이프에서도 답하고, 무엇을 받아도 죽지 않는다."""

import fcntl
import os
import pty
import re
import select
import subprocess
import termios
import time

import pytest
from command_line import COMMAND, ROOT, refuse, run

from transformer_notes.classification import Classifier
from transformer_notes.cli.chat import HELP
from transformer_notes.models import files
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import TransformerConfig


def chat(folder, *lines):
    """파이프로 물은 것의 (답의 줄, 그 밖에 한 말)."""
    result = run("chat", folder, stdin="".join(f"{line}\n" for line in lines))
    return result.stdout.splitlines(), result.stderr


def answer(folder, text):
    return run("translate", folder, text).stdout.rstrip("\n")


# --- 파이프 --------------------------------------------------------------------------


def test_every_line_is_answered_by_one_line(opened):
    questions = ["하나 둘 셋", "", "넷 넷 넷", "  둘   하나 영 "]
    given, said = chat(opened, *questions)
    assert given == [answer(opened, q) if q else "" for q in questions[:3]] + [
        answer(opened, "둘 하나 영")
    ]
    assert said == "" and given[0] == "123"


def test_each_question_is_answered_alone(opened):
    """앞에서 무엇을 물었든 같은 답입니다."""
    alone, _ = chat(opened, "둘 하나 영")
    after, _ = chat(opened, "다섯 다섯 다섯", "하나 둘 셋", "둘 하나 영")
    assert after[-1:] == alone


def test_no_input_is_no_answer(opened):
    assert chat(opened) == ([], "")


@pytest.mark.parametrize(
    "line, said",
    [
        ("hello, how are you?", "한국어로 물어 주세요"),
        ("12345", "한글이 없는 글"),
        ("😀😀", "한글이 없는 글"),
        ("꿰뚫어", "아는 글자가 하나도 없습니다"),
        ("하나 " * 2000, "물음이 너무 깁니다"),
    ],
)
def test_what_cannot_be_answered_is_told_in_a_sentence(opened, line, said):
    given, told = chat(opened, line, "하나 둘 셋")
    assert given == ["", "123"]
    assert said in told and len(told.splitlines()) == 1 and len(told) < 300


def test_a_question_with_unknown_characters_is_answered_with_a_warning(opened):
    given, told = chat(opened, "하나 꿰 셋")
    assert len(given) == 1 and given[0]
    assert "보지 못한 글자가 있습니다: 꿰" in told


def test_a_line_that_is_not_utf8_is_skipped(opened):
    from click.testing import CliRunner

    from transformer_notes import cli

    lines = "하나".encode("cp949") + b"\n" + "하나 둘 셋\n".encode()
    result = CliRunner().invoke(cli.main, ["chat", str(opened)], input=lines)
    assert result.exit_code == 0 and result.stdout == "\n123\n"
    assert "UTF-8이 아닙니다" in result.stderr


def test_the_way_of_answering_can_be_changed(opened):
    given, told = chat(
        opened,
        "/beam 4",
        "하나 둘 셋",
        "/temperature 0.01",
        "하나 둘 셋",
        "/beam 1",
    )
    assert given == ["123", "123"]
    assert told.splitlines() == [
        "빔 4개로 찾습니다.",
        "온도 0.01에서 뽑습니다.",
        "그리디로 답합니다.",
    ]
    hot, _ = chat(opened, "/temperature 100", *["하나 둘 셋"] * 20)
    assert len(set(hot)) > 1
    cold, _ = chat(opened, "/temperature 100", "/beam 1", *["하나 둘 셋"] * 3)
    assert set(cold) == {"123"}


@pytest.mark.parametrize(
    "line, said",
    [
        ("/beam", "/beam에는 1 이상 64 이하의 정수가 필요합니다. 받은 것: ''"),
        ("/beam 넷", "/beam에는 1 이상 64 이하의 정수가 필요합니다. 받은 것: '넷'"),
        ("/beam 0", "1 이상 64 이하"),
        ("/beam 65", "1 이상 64 이하"),
        ("/temperature nan", "/temperature에는 0보다 크고"),
        ("/temperature 0", "/temperature에는 0보다 크고"),
        ("/attention a.txt", "/attention에는 이름이 .png"),
        ("/attention a.png", "아직 답한 것이 없습니다"),
        ("/노래", "모르는 명령입니다: /노래"),
        ("/", "모르는 명령입니다: /"),
    ],
)
def test_a_wrong_command_is_told_and_changes_nothing(opened, line, said):
    given, told = chat(opened, line, "하나 둘 셋")
    assert given == ["123"] and said in told


def test_help_names_every_command_and_bye_ends(opened):
    given, told = chat(opened, "/help", "/bye", "하나 둘 셋")
    assert given == [] and told.strip() == HELP.strip()
    assert set(re.findall(r"/[a-z]+", HELP)) == {
        "/attention",
        "/beam",
        "/bye",
        "/help",
        "/temperature",
    }


def test_the_last_answer_is_drawn(opened, tmp_path):
    first, last = tmp_path / "처음 것.png", tmp_path / "나중 것.png"
    lines = ["하나 둘 셋", f"/attention {first}", "넷 넷 영", "", f"/attention {last}"]
    _, told = chat(opened, *lines)
    assert told.splitlines() == [f"그렸습니다: {path}" for path in (first, last)]
    for path, question in ((first, "하나 둘 셋"), (last, "넷 넷 영")):
        wanted = tmp_path / "translate.png"
        run("translate", opened, question, "--attention", wanted)
        assert path.read_bytes() == wanted.read_bytes()
    assert first.read_bytes() != last.read_bytes()


def test_a_picture_that_cannot_be_written_is_told(opened, tmp_path):
    path = tmp_path / "없는 폴더" / "a.png"
    given, told = chat(opened, "하나 둘 셋", f"/attention {path}", "넷 넷 넷")
    assert given[0] == "123" and len(given) == 2
    assert told == f"그림을 쓰지 못했습니다: {path}. 없는 자리입니다.\n"


def test_the_model_that_comes_along_answers_without_a_name():
    said = run("chat", stdin="안녕하세요\n").stdout
    assert len(said.splitlines()) == 1 and said.strip()
    assert said == run("chat", "--model", "chatbot", stdin="안녕하세요\n").stdout


def test_a_folder_and_a_model_are_two_things(words):
    line = refuse("chat", words, "--model", "chatbot")
    assert "RUN_FOLDER와 --model" in line


def test_a_model_file_answers_as_its_folder(opened, words_model, tmp_path):
    tokenizer, network = words_model
    files.write(tmp_path / "words.safetensors", network, tokenizer, "chat", {})
    asked = run("chat", "--model", tmp_path / "words.safetensors", stdin="하나 둘 셋\n")
    assert asked.stdout.splitlines() == chat(opened, "하나 둘 셋")[0]


def test_a_model_that_classifies_is_refused(tmp_path):
    tokenizer = Tokenizer.train(["좋다", "싫다"], 20)
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 8}
    model = Classifier(TransformerConfig(tokenizer.vocab_size, **sizes), 2)
    path = tmp_path / "reviews.safetensors"
    files.write(path, model, tokenizer, "classify", {"labels": ["부정", "긍정"]})
    assert "classify로 써 보세요" in refuse("chat", "--model", path)


def test_a_model_that_is_none_is_refused():
    assert "받은 것: '없는 모델'" in refuse("chat", "--model", "없는 모델")


def test_a_folder_that_is_none_is_refused(tmp_path):
    assert "학습 폴더가 없습니다" in refuse("chat", tmp_path / "x")


# --- 터미널 --------------------------------------------------------------------------


#: 커서를 옮기고 색을 바꾸는 제어 문자
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


class Terminal:
    """진짜 터미널에서 도는 `chat`."""

    def __init__(self, *arguments, **streams):
        self.inside, outside = pty.openpty()
        streams = {"stdin": outside, "stdout": outside, "stderr": outside} | streams
        self.process = subprocess.Popen(
            [*COMMAND, "chat", *map(str, arguments)],
            cwd=ROOT,
            env=os.environ | {"TERM": "xterm", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            **streams,
        )
        os.close(outside)
        self.shown = b""

    def wait_for(self, text, timeout=600):
        """`text`가 화면에 나올 때까지 읽고, 거기까지를 지웁니다."""
        end = time.monotonic() + timeout
        while text not in (seen := CONTROL.sub("", self.shown.decode("utf-8"))):
            left = max(0, end - time.monotonic())
            ready, _, _ = select.select([self.inside], [], [], left)
            assert ready, f"{text!r}이(가) 나오지 않습니다:\n{seen}"
            self.shown += self._read()
        before, _, after = seen.partition(text)
        self.shown = after.encode()
        return before

    def _read(self):
        try:
            chunk = os.read(self.inside, 65536)
        except OSError:
            chunk = b""
        assert chunk, f"끝나 버렸습니다:\n{self.shown.decode('utf-8', 'replace')}"
        if b"\x1b[6n" in chunk:  # 커서가 어디 있는지 묻습니다
            os.write(self.inside, b"\x1b[1;1R")
        return chunk

    def type(self, text):
        os.write(self.inside, text.encode())

    def end(self):
        code = self.process.wait(timeout=600)
        os.close(self.inside)
        return code

    def kill(self):
        """시험이 실패해도 남지 않게 합니다."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def terminal(words):
    opened = Terminal(words)
    yield opened
    opened.kill()


CTRL_C, CTRL_D, LEFT, UP, BACKSPACE = "\x03", "\x04", "\x1b[D", "\x1b[A", "\x7f"


def test_a_conversation_on_a_terminal(terminal, tmp_path):
    path = tmp_path / "a.svg"
    assert "앞에서 한 말은 기억하지 않습니다" in terminal.wait_for("/bye")
    for typed, said in {
        f"하나 둘 넷{BACKSPACE}셋\r": "123\r\n",  # 한글 한 글자를 지우고 고칩니다
        f"셋 둘 하나{LEFT * 3}{BACKSPACE}넷\r": "341\r\n",  # 둘을 넷으로
        f"{UP}{UP}\r": "123\r\n",  # 두 번 앞의 것을 다시 묻습니다
        f"다섯 다섯{CTRL_C}영 영 영\r": "000\r\n",  # Ctrl-C는 줄을 지웁니다
        "\r": "Enter를 누르세요",
        "/help\r": "/attention 이름.svg",
        f"/attention {path}\r": "그렸습니다",
    }.items():
        terminal.wait_for(">")
        terminal.type(typed)
        terminal.wait_for(said)
    assert path.exists()
    terminal.wait_for(">")
    terminal.type("/bye\r")
    assert terminal.end() == 0


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["ctrl-c", "ctrl-d"])
def test_an_empty_line_and_a_key_end_it(terminal, key):
    terminal.wait_for(">")
    terminal.type(key)
    assert terminal.end() == 0
    assert b"Traceback" not in terminal.shown


def test_answers_go_to_a_file_and_the_prompt_does_not(words, tmp_path, request):
    with open(tmp_path / "answers.txt", "wb") as file:
        terminal = Terminal(words, stdout=file)
        request.addfinalizer(terminal.kill)
        terminal.wait_for(">")
        terminal.type("하나 둘 셋\r")
        terminal.type("/bye\r")  # 답하는 동안 친 것도 다음 줄이 됩니다
        assert terminal.end() == 0
    assert (tmp_path / "answers.txt").read_text() == "123\n"
