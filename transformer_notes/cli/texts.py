"""글을 받는 길: 인자, 표준 입력, 터미널. 글에 답하는 명령들이 함께 씁니다."""

import sys

import click

from transformer_notes.cli import answers, pairs
from transformer_notes.cli.korean import BadInput, require, say, warn

ASK = "글을 적고 Enter를 누르세요. 끝내려면 Ctrl-D."


def stripped(texts):
    """인자로 받은 글. 빈 글은 거절합니다."""
    texts = [text.strip() for text in texts]
    require(all(texts), answers.remark("empty"))
    return texts


def groups(trained, texts):
    """`(번호, 글)`을 한 번에 읽을 만큼씩 묶습니다. 빈 줄은 빈 글입니다.

    texts가 비었으면 표준 입력을 읽습니다. 터미널에서는 한 줄씩 답합니다.
    """
    number = 0
    numbered = enumerate(texts or lines(ASK), start=1)
    for group in pairs.groups(numbered, 1 if sys.stdin.isatty() else answers.BATCH):
        number, _ = group[-1]
        yield [(n, readable(trained, text, f"{n}번째 글")) for n, text in group]
    require(number, "표준 입력이 비어 있습니다. 한 줄에 글 하나씩 주세요.")


def lines(ask):
    """표준 입력을 한 줄씩, 양 끝의 공백을 떼고 내놓습니다. 빈 줄은 빈 글입니다.

    터미널에서는 ask라고 말하고 `>`로 묻습니다. 그때 빈 줄은 내놓지 않습니다.
    """
    if sys.stdin.isatty():
        yield from _typed(ask)
        return
    stream = click.get_binary_stream("stdin")
    for number, raw in enumerate(iter(stream.readline, b""), start=1):
        yield _decoded(raw, number).lstrip("\ufeff").strip()


def _decoded(raw, number):
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(
            f"표준 입력의 {number}번째 줄은 UTF-8이 아닙니다. UTF-8로 바꾸어 주세요 "
            "(예: iconv -f cp949 -t utf-8)."
        ) from None


def _typed(ask):
    """화살표로 줄을 고치고 지난 줄을 부릅니다. 빈 줄의 Ctrl-C와 Ctrl-D로 끝납니다."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import create_output

    keys = KeyBindings()

    @keys.add("c-c")
    def _(event):
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=EOFError)

    # 답을 파일로 보낼 때에는 프롬프트가 그 파일에 섞이지 않게 합니다.
    output = create_output(always_prefer_tty=True)
    session = PromptSession(
        "> ", key_bindings=keys, output=output, reserve_space_for_menu=0
    )
    say(ask)
    while True:
        try:
            line = session.prompt().strip()
        except KeyboardInterrupt:  # 글을 받을 채비를 하던 때의 Ctrl-C
            continue
        except EOFError:
            return
        if line:
            yield line
        else:
            say(ask)


def readable(opened, text, name="글"):
    """모델이 읽을 글. 답하지 않을 글이면 되묻고 빈 글을 냅니다. 경고도 합니다."""
    if not text:
        return ""
    text, refusal, warning = answers.reading(opened, text, name)
    answers.ask_back(refusal)
    if refusal:
        return ""
    if warning:
        warn(warning)
    return text
