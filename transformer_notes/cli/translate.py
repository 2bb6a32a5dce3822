"""명령 `translate`: 글을 옮기고, 어디를 보았는지 그립니다."""

import sys

import click

from transformer_notes.cli import pairs, run_folder
from transformer_notes.cli.korean import BadInput, Command, say, warn
from transformer_notes.cli.options import (
    PICTURE,
    average_option,
    beam_option,
    run_folder_argument,
)
from transformer_notes.files import replacing

BATCH = 64  # 한 번에 옮길 문장의 수
LARGEST_PICTURE = 64  # 그림에 그릴 토큰의 수


@click.command(cls=Command)
@run_folder_argument
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--attention", type=PICTURE, help="크로스 어텐션을 그릴 파일.")
@beam_option
@average_option
def translate(folder, texts, attention, beam, average):
    """글을 옮겨 한 줄에 하나씩 적습니다.

    TEXT가 없으면 표준 입력을 한 줄씩 읽습니다. 빈 줄에는 빈 줄로
    답하므로 입력과 출력의 줄이 맞습니다.

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
    texts = [text.strip() for text in texts]
    record = run_folder.read(folder)
    tokenizer, model = run_folder.open_model(folder, record, average)

    numbered = enumerate(texts or _standard_input(), start=1)
    number = 0
    for group in pairs.groups(numbered, 1 if sys.stdin.isatty() else BATCH):
        for number, text in group:
            _check_text(tokenizer, record, number, text)
        _answer(model, tokenizer, [text for _, text in group], beam)
    if not number:
        raise BadInput("표준 입력이 비어 있습니다. 한 줄에 글 하나씩 주세요.")
    if attention is not None:
        _draw_attention(attention, model, tokenizer, texts[0], beam)


def _standard_input():
    stream = click.get_binary_stream("stdin")
    if sys.stdin.isatty():
        say("글을 적고 Enter를 누르세요. 끝내려면 Ctrl-D.")
    for number, raw in enumerate(iter(stream.readline, b""), start=1):
        yield pairs.decode_line(raw, number, "표준 입력").lstrip("\ufeff").strip()


def _check_text(tokenizer, record, number, text):
    """너무 긴 글은 거절하고, 답을 믿기 어려운 글은 경고합니다."""
    try:
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


def _answer(model, tokenizer, texts, beam):
    """글마다 답을 한 줄에 적습니다. 빈 글의 답은 빈 줄입니다."""
    from transformer_notes import decoding

    real = [text for text in texts if text]
    answers = []
    if real:
        limit = run_folder.MAX_EXTRA
        answers = decoding.translate(model, tokenizer, real, limit, beam)
    in_order = iter(answers)
    for text in texts:
        click.echo(next(in_order).text if text else "")
    warn_unfinished(answers)


def warn_unfinished(answers):
    """길이의 한도에서 끊긴 답이 있으면 세어 알립니다."""
    count = sum(not answer.finished for answer in answers)
    if count:
        warn(
            f"답 {count:,}개가 길이의 한도(입력 + {run_folder.MAX_EXTRA}토큰)에서 "
            "끊겼습니다."
        )


def _draw_attention(path, model, tokenizer, text, beam):
    import matplotlib
    import numpy as np

    from transformer_notes import decoding, plotting

    source_ids = tokenizer.encode([text], eos=True)
    (answer,) = decoding.translate(model, tokenizer, [text], run_folder.MAX_EXTRA, beam)
    target_ids = answer.ids[np.newaxis]
    longest = max(source_ids.shape[1], target_ids.shape[1])
    if longest > LARGEST_PICTURE:
        raise BadInput(
            f"--attention에는 입력도 답도 {LARGEST_PICTURE}토큰 이하인 글이 "
            f"필요합니다. 받은 것: {longest}토큰."
        )
    shifted = np.concatenate([[[tokenizer.bos_id]], target_ids[:, :-1]], axis=1)
    _, layers = model.decode(shifted, model.encode(source_ids), return_weights=True)
    weights = layers[-1].cross_attention[0].numpy().mean(axis=0)
    vocabulary = tokenizer.vocabulary
    source, target = (
        [vocabulary[token].replace(" ", "␣") for token in ids[0]]
        for ids in (source_ids, target_ids)
    )
    drawn = plotting.attention_heatmap(weights, target, source, "크로스 어텐션")
    with replacing(path) as partial, matplotlib.rc_context(plotting.style()):
        drawn.savefig(partial)
    say(f"그렸습니다: {path}")
