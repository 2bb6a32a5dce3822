"""명령 `translate`: 글을 옮기고, 어디를 보았는지 그립니다."""

import contextlib
import sys

import click

from transformer_notes.cli import answers, pairs, pictures, run_folder
from transformer_notes.cli.korean import BadInput, Command, say, warn
from transformer_notes.cli.options import (
    CHANCE,
    PICTURE,
    SEED,
    TEMPERATURE,
    average_option,
    beam_option,
    best_option,
    run_folder_argument,
)

LEAST = 0.9  # 날짜의 답을 내놓을 가장 낮은 확률 (「날짜 읽기」)


@click.command(cls=Command)
@run_folder_argument
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--attention", type=PICTURE, help="크로스 어텐션을 그릴 파일.")
@beam_option
@click.option("--temperature", type=TEMPERATURE, help="이 온도로 답을 뽑습니다.")
@click.option("--seed", type=SEED, help="뽑을 때의 시드. [기본값: 그때마다 다름]")
@click.option(
    "--least",
    type=CHANCE,
    help=f"답을 내놓을 가장 낮은 확률. [기본값: 날짜 {LEAST}, 파일 0]",
)
@average_option
@best_option
def translate(folder, texts, attention, beam, temperature, seed, least, average, best):
    """글을 옮겨 한 줄에 하나씩, 답<탭>확률로 적습니다.

    TEXT가 없으면 표준 입력을 한 줄씩 읽습니다. 빈 줄에는 빈 줄로
    답하므로 입력과 출력의 줄이 맞습니다.

    확률이 --least보다 낮으면 답의 자리를 비우고 표준 오류로 되묻습니다.
    날짜를 배운 폴더에서는 달력에 없는 날도 그렇게 합니다.

    학습에서 보지 못한 글자는 전각 숫자처럼 뜻이 같은 아는 글자가 있으면
    그것으로 읽습니다.

    --attention은 TEXT 하나와 함께 씁니다. 마지막 층의 크로스 어텐션을
    헤드에 걸쳐 평균하여 PNG, SVG, PDF로 그립니다.

    예:
      transformer-notes translate runs/dates "2026년 11월 21일"
      transformer-notes translate runs/dates < dates.txt > answers.txt
      transformer-notes translate runs/dates 26.11.21 --attention map.svg
    """
    if attention is not None and len(texts) != 1:
        raise BadInput(
            f"--attention에는 TEXT 하나가 필요합니다. 받은 것: {len(texts)}개."
        )
    if any(not text.strip() for text in texts):
        raise BadInput("TEXT에는 글이 필요합니다. 받은 것: 빈 글.")
    if beam is not None and temperature is not None:
        raise BadInput("--beam과 --temperature는 함께 쓰지 않습니다. 하나만 주세요.")
    if seed is not None and temperature is None:
        raise BadInput("--seed는 --temperature와 함께 주세요.")
    texts = [text.strip() for text in texts]
    record = run_folder.read(folder)
    tokenizer, model = run_folder.open_model(folder, record, average, best)
    dates = record["data"] is None
    if least is None:
        least = LEAST if dates else 0.0
    how = {"beam_size": beam, "temperature": temperature, "seed": seed}

    numbered = enumerate(texts or _standard_input(), start=1)
    number, last = 0, []
    for group in pairs.groups(numbered, 1 if sys.stdin.isatty() else answers.BATCH):
        group = [(n, _checked(tokenizer, record, n, text)) for n, text in group]
        number, _ = group[-1]
        last = _answer(model, tokenizer, group, how, least, dates)
    if not number:
        raise BadInput("표준 입력이 비어 있습니다. 한 줄에 글 하나씩 주세요.")
    if attention is not None:
        ((_, text),) = group
        pictures.draw_attention(attention, model, tokenizer, text, last[0].ids)


def _standard_input():
    if sys.stdin.isatty():
        yield from _typed()
        return
    stream = click.get_binary_stream("stdin")
    for number, raw in enumerate(iter(stream.readline, b""), start=1):
        yield pairs.decode_line(raw, number, "표준 입력").lstrip("\ufeff").strip()


def _typed():
    """터미널에서 한 줄씩 받습니다. 화살표로 줄을 고치고 지난 줄을 부릅니다."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  input이 줄을 고칠 수 있게 됩니다

    say("글을 적고 Enter를 누르세요. 끝내려면 Ctrl-D.")
    # 답을 파일로 보낼 때에는 프롬프트가 그 파일에 섞이지 않게 합니다.
    prompt = "> " if sys.stdout.isatty() else ""
    while True:
        try:
            yield input(prompt).strip()
        except EOFError:
            say("")
            return
        except UnicodeDecodeError:
            warn("UTF-8이 아닌 줄을 건너뜁니다.")


def _checked(tokenizer, record, number, text):
    """읽을 글. 너무 긴 글은 거절하고, 답을 믿기 어려운 글은 경고합니다."""
    try:
        text = pairs.readable(tokenizer, text)
        length = len(tokenizer.encode(text, eos=True))
    except ValueError:
        raise BadInput(f"{number}번째 글은 UTF-8이 아닙니다.") from None
    longest = record["settings"]["max_length"]
    if length > longest:
        raise BadInput(
            f"{number}번째 글이 너무 깁니다. 이 모델은 {longest}토큰까지 받습니다. "
            f"받은 것: {length}토큰. 나누어 주세요."
        )
    unknown = tokenizer.unknown_characters(text)
    if unknown:
        warn(
            f"{number}번째 글에 학습에서 보지 못한 글자가 있습니다: "
            f"{pairs.shortened(' '.join(unknown))}. <unk>로 읽으므로 답을 믿기 "
            "어렵습니다."
        )
    elif length > record["longest_source"]:
        warn(
            f"{number}번째 글({length}토큰)이 학습한 어떤 입력"
            f"({record['longest_source']}토큰)보다 깁니다. 답을 믿기 어렵습니다."
        )
    return text


def _answer(model, tokenizer, group, how, least, dates):
    """글마다 답과 확률을 한 줄에 적습니다. 빈 글의 답은 빈 줄입니다."""
    real = [text for _, text in group if text]
    replies = answers.reply(model, tokenizer, real, **how) if real else []
    in_order = iter(replies)
    for number, text in group:
        if not text:
            click.echo("")
            continue
        answer = next(in_order)
        reason = answers.doubt(answer, least, dates)
        click.echo(f"{'' if reason else answer.text}\t{answer.probability:.2f}")
        if reason:
            say(
                f"되묻습니다: {number}번째 글의 답 "
                f"{pairs.shortened(answer.text)!r}은(는) {reason}. 글을 살펴봐 주세요."
            )
    answers.warn_unfinished(replies)
    return replies
