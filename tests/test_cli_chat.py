"""`chat`이 지키는 약속: 터미널에서도 파이프에서도 답하고, 무엇을 받아도 죽지 않는다."""

import re

import pytest
from command_line import Terminal, refuse, run

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


def test_what_cannot_be_answered_is_told_in_a_sentence(opened):
    for line in ("hello, how are you?", "12345", "😀😀", "꿰뚫어", "하나 " * 2000):
        given, told = chat(opened, line, "하나 둘 셋")
        assert given == ["", "123"]
        assert len(told.splitlines()) == 1 and len(told) < 300


def test_a_question_with_unknown_characters_is_answered_with_a_warning(opened):
    given, told = chat(opened, "하나 꿰 셋")
    assert len(given) == 1 and given[0]
    assert told.startswith("경고: ") and "꿰" in told


def test_the_way_of_answering_can_be_changed(opened):
    lines = "/beam 4", "하나 둘 셋", "/temperature 0.01", "하나 둘 셋", "/beam 1"
    given, told = chat(opened, *lines)
    assert given == ["", "123", "", "123", ""] and len(told.splitlines()) == 3
    hot, _ = chat(opened, "/temperature 100", *["하나 둘 셋"] * 20)
    assert len(set(hot)) > 2
    cold, _ = chat(opened, "/temperature 100", "/beam 1", *["하나 둘 셋"] * 3)
    assert cold == ["", "", *["123"] * 3]


def test_a_wrong_command_is_told_and_changes_nothing(opened):
    for line in (
        *("/beam", "/beam 넷", "/beam 0", "/beam 65", "/temperature nan"),
        *("/temperature 0", "/attention a.txt", "/attention a\0b.png", "/노래", "/"),
        "/attention a.png",
    ):
        given, told = chat(opened, line, "하나 둘 셋")
        assert given == ["", "123"] and len(told.splitlines()) == 1
        if line != "/attention a.png":  # 아직 답한 것이 없습니다
            assert line.split()[0] in told


def test_help_names_every_command_and_bye_ends(opened):
    given, told = chat(opened, "/help", "/bye", "하나 둘 셋")
    assert given == ["", ""] and told.strip() == HELP.strip()
    unknown = "모르는 명령입니다: {}."
    assert unknown.format("/노래") in chat(opened, "/노래")[1]
    for command in re.findall(r"/[a-z]+", HELP):
        assert unknown.format(command) not in chat(opened, command)[1]


def test_the_last_answer_is_drawn(opened, tmp_path):
    first, last = tmp_path / "처음 것.png", tmp_path / "나중 것.png"
    lines = ["하나 둘 셋", f"/attention {first}", "넷 넷 영", "", f"/attention {last}"]
    _, told = chat(opened, *lines)
    assert str(first) in told and str(last) in told
    for path, question in ((first, "하나 둘 셋"), (last, "넷 넷 영")):
        wanted = tmp_path / "translate.png"
        run("translate", opened, question, "--attention", wanted)
        assert path.read_bytes() == wanted.read_bytes()
    assert first.read_bytes() != last.read_bytes()


def test_a_picture_that_cannot_be_written_is_told(opened, tmp_path):
    path = tmp_path / "없는 폴더" / "a.png"
    given, told = chat(opened, "하나 둘 셋", f"/attention {path}", "넷 넷 넷")
    assert given[0] == "123" and given[1] == "" and len(given) == 3
    assert str(path) in told and len(told.splitlines()) == 1


def test_the_model_that_comes_along_answers_without_a_name():
    said = run("chat", stdin="안녕하세요\n").stdout
    assert len(said.splitlines()) == 1 and said.strip()
    assert said == run("chat", "--model", "chatbot", stdin="안녕하세요\n").stdout


def test_what_is_no_model_that_answers_is_refused(words, tmp_path):
    assert "--model" in refuse("chat", words, "--model", "chatbot")
    assert "없는 모델" in refuse("chat", "--model", "없는 모델")
    assert str(tmp_path / "x") in refuse("chat", tmp_path / "x")
    tokenizer = Tokenizer.train(["좋다", "싫다"], 20)
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 8}
    model = Classifier(TransformerConfig(tokenizer.vocab_size, **sizes), 2)
    path = tmp_path / "reviews.safetensors"
    files.write(path, model, tokenizer, "classify", {"labels": ["부정", "긍정"]})
    assert "classify" in refuse("chat", "--model", path)


def test_a_model_file_answers_as_its_folder(opened, words_model, tmp_path):
    tokenizer, network = words_model
    files.write(tmp_path / "words.safetensors", network, tokenizer, "chat", {})
    asked = run("chat", "--model", tmp_path / "words.safetensors", stdin="하나 둘 셋\n")
    assert asked.stdout.splitlines() == chat(opened, "하나 둘 셋")[0]


# --- 터미널 --------------------------------------------------------------------------


@pytest.fixture
def terminal(words):
    opened = Terminal("chat", words)
    yield opened
    opened.kill()


CTRL_C, LEFT, UP, BACKSPACE = "\x03", "\x1b[D", "\x1b[A", "\x7f"


def test_a_conversation_on_a_terminal(terminal, tmp_path):
    path = tmp_path / "a.svg"
    terminal.wait_for("/bye")
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


def test_ctrl_c_on_an_empty_line_ends_it(terminal):
    terminal.wait_for(">")
    terminal.type(CTRL_C)
    assert terminal.end() == 0
    assert b"Traceback" not in terminal.shown


def test_answers_go_to_a_file_and_the_prompt_does_not(words, tmp_path, request):
    with open(tmp_path / "answers.txt", "wb") as file:
        terminal = Terminal("chat", words, stdout=file)
        request.addfinalizer(terminal.kill)
        terminal.wait_for(">")
        terminal.type("하나 둘 셋\r")
        terminal.type("/bye\r")  # 답하는 동안 친 것도 다음 줄이 됩니다
        assert terminal.end() == 0
    assert (tmp_path / "answers.txt").read_text() == "123\n"
