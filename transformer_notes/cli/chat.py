"""명령 `chat`: 터미널에서 묻고 답합니다."""

import sys
from pathlib import Path

import click

from transformer_notes.cli import answers, pictures, texts, trained
from transformer_notes.cli.korean import (
    BadInput,
    Command,
    os_error_reason,
    put,
    require,
    say,
)
from transformer_notes.cli.options import BEAM, MODEL, PICTURE, TEMPERATURE

ASK = "물을 것을 적고 Enter를 누르세요. 도움말은 /help, 끝내려면 /bye."
HELP = """\
  /beam 4             빔 탐색으로 답합니다. /beam 1이면 처음의 그리디입니다.
  /temperature 0.7    그 온도로 답을 뽑습니다. 물을 때마다 답이 다를 수 있습니다.
  /attention 이름.svg  방금 한 답이 물음의 어디를 보았는지 그립니다. PNG, PDF도 됩니다.
  /help               이 도움말을 보입니다.
  /bye                끝냅니다. Ctrl-D도, 빈 줄에서 누른 Ctrl-C도 끝냅니다."""


@click.command(cls=Command)
@click.argument("folder", metavar="[RUN_FOLDER]", required=False, type=Path)
@click.option(
    "--model", "name", type=MODEL, help="모델의 이름이나 파일. [기본값: chatbot]"
)
def chat(folder, name):
    """터미널에서 묻고 답합니다.

    RUN_FOLDER를 주면 train이 남긴 그 폴더의 모델이, 주지 않으면 함께
    온 모델이 답합니다. 물음 하나에 답 하나씩이고, 앞에서 한 말은
    기억하지 않습니다.

    터미널이 아니면 표준 입력을 한 줄씩 읽고 답을 한 줄씩 적습니다. 명령이나
    답이 없는 줄에는 빈 줄을 적으므로 물음과 답의 줄이 맞습니다.

    /로 시작하는 줄은 명령입니다. /help를 쳐 보세요.

    예:
      transformer-notes chat
      transformer-notes chat runs/my
      transformer-notes chat runs/my < questions.txt > answers.txt
    """
    require(
        folder is None or name is None,
        "RUN_FOLDER와 --model은 함께 쓰지 않습니다. 하나만 주세요.",
    )
    conversation = _Conversation(_open(folder, name))
    typed = sys.stdin.isatty()
    if typed:
        say("물음 하나에 답 하나씩 합니다. 앞에서 한 말은 기억하지 않습니다.")
    for line in texts.lines(ASK):
        answer, more = "", True
        try:
            if line.startswith("/"):
                more = conversation.obey(line)
            else:
                answer = conversation.answer(" ".join(line.split()))
        except KeyboardInterrupt:
            if not typed:
                raise
            say("답을 멈추었습니다.")
        if answer or not typed:
            put(answer)
        if not more:
            break


def _open(folder, name):
    """글로 답하는 모델."""
    if folder is not None:
        opened = trained.open_folder(folder)
    else:
        opened = trained.open_model(name or "chatbot")
    require(
        opened.task != "classify",
        "chat에는 글로 답하는 모델이 필요합니다. 받은 것: "
        f"{folder or name}, 글을 분류하는 모델. classify로 써 보세요.",
    )
    rules = opened.rules or trained.rules_of("chat", opened.tokenizer)
    return opened._replace(rules=rules)


class _Conversation:
    """답하는 방법과, 방금 한 물음과 답."""

    def __init__(self, opened):
        self.opened = opened
        self.how = {}
        self.last = None

    def answer(self, question):
        """답의 글. 답하지 못하면 까닭을 말하고 빈 글을 냅니다."""
        try:
            text = texts.readable(self.opened, question)
        except BadInput as error:
            say(error.message)
            text = ""
        if not text:
            return ""
        model, tokenizer = self.opened.model, self.opened.tokenizer
        (reply,) = answers.reply(model, tokenizer, [text], **self.how)
        self.last = text, reply
        held, asked = answers.judged(
            self.opened.rules, reply.text, reply.certainty, source=text
        )
        answers.ask_back(held, asked)
        answers.warn_cut(reply)
        return "" if held else reply.text

    def obey(self, line):
        """명령을 따릅니다. 끝내라는 것이면 False를 냅니다."""
        name, _, value = line.partition(" ")
        value = value.strip()
        try:
            if name == "/bye":
                return False
            if name == "/help":
                say(HELP)
            elif name == "/beam":
                size = BEAM.convert(value, None, None)
                self.how = {"beam_size": size} if size > 1 else {}
                say(f"빔 {size}개로 찾습니다." if size > 1 else "그리디로 답합니다.")
            elif name == "/temperature":
                self.how = {"temperature": TEMPERATURE.convert(value, None, None)}
                say(f"온도 {self.how['temperature']}에서 뽑습니다.")
            elif name == "/attention":
                self._draw(PICTURE.convert(value, None, None))
            else:
                say(f"모르는 명령입니다: {name}. 도움말은 /help.")
        except click.BadParameter as error:
            say(f"{name}에는 {error.message}")
        except BadInput as error:
            say(error.message)
        except OSError as error:
            say(f"그림을 쓰지 못했습니다: {value}. {os_error_reason(error)}.")
        return True

    def _draw(self, path):
        require(self.last, "아직 답한 것이 없습니다. 먼저 물어 주세요.")
        text, reply = self.last
        model, tokenizer = self.opened.model, self.opened.tokenizer
        pictures.draw_attention(path, model, tokenizer, text, reply.ids)
