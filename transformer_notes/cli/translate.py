"""명령 `translate`: 글을 옮기고, 어디를 보았는지 그립니다."""

import contextlib
import sys

import click

from transformer_notes.cli import answers, pairs, run_folder
from transformer_notes.cli.korean import BadInput, Command, say, warn
from transformer_notes.cli.options import (
    CHANCE,
    PICTURE,
    SEED,
    TEMPERATURE,
    TOP_P,
    WHOLE,
    beam_option,
    checkpoint_option,
    flag,
    run_folder_argument,
)
from transformer_notes.files import replacing

LEAST = 0.9  # 날짜의 답을 내놓을 가장 낮은 확률 (「날짜 읽기」)
LARGEST_PICTURE = 64  # 그림에 그릴 토큰의 수


@click.command(cls=Command)
@run_folder_argument
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--attention", type=PICTURE, help="크로스 어텐션을 그릴 파일.")
@beam_option
@click.option("--temperature", type=TEMPERATURE, help="이 온도로 답을 뽑습니다.")
@click.option("--top-k", type=WHOLE, help="점수가 높은 토큰 N개에서만 뽑습니다.")
@click.option("--top-p", type=TOP_P, help="확률의 합이 P가 될 때까지만 남깁니다.")
@click.option("--seed", type=SEED, help="뽑을 때의 시드. [기본값: 그때마다 다름]")
@click.option("--probability", is_flag=True, help="답<탭>확률로 적습니다.")
@click.option(
    "--least",
    type=CHANCE,
    help=f"답을 내놓을 가장 낮은 확률. [기본값: dates {LEAST}, 나머지 0]",
)
@checkpoint_option
def translate(folder, texts, attention, probability, least, checkpoint, **how):
    """글을 옮겨 한 줄에 하나씩 적습니다.

    TEXT가 없으면 표준 입력을 한 줄씩 읽습니다. 빈 줄에는 빈 줄로
    답하므로 입력과 출력의 줄이 맞습니다.

    --temperature를 주면 답을 찾지 않고 뽑습니다. --top-k, --top-p,
    --seed는 그때에만 씁니다.

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
    _require_one_way(how)
    texts = [text.strip() for text in texts]
    record = run_folder.read(folder)
    tokenizer, model = run_folder.open_model(folder, record, checkpoint)
    if how["top_k"] is not None and how["top_k"] > tokenizer.vocab_size:
        raise BadInput(
            f"--top-k에는 어휘 집합의 크기 {tokenizer.vocab_size} 이하가 필요합니다. "
            f"받은 것: {how['top_k']}."
        )
    dates = record["recipe"] == "dates"
    if least is None:
        least = LEAST if dates else 0.0

    numbered = enumerate(texts or _standard_input(), start=1)
    number, last = 0, []
    for group in pairs.groups(numbered, 1 if sys.stdin.isatty() else answers.BATCH):
        group = [(n, _checked(tokenizer, record, n, text)) for n, text in group]
        number, _ = group[-1]
        last = _answer(model, tokenizer, group, how, probability, least, dates)
    if not number:
        raise BadInput("표준 입력이 비어 있습니다. 한 줄에 글 하나씩 주세요.")
    if attention is not None:
        ((_, text),) = group
        _draw_attention(attention, model, tokenizer, text, last[0].ids)


def _require_one_way(how):
    """찾거나(빔) 뽑거나(온도) 하나입니다."""
    if how["temperature"] is None:
        for name in ("top_k", "top_p", "seed"):
            if how[name] is not None:
                raise BadInput(f"{flag(name)}는 --temperature와 함께 주세요.")
    elif how["beam_size"] is not None:
        raise BadInput("--beam과 --temperature는 함께 쓰지 않습니다. 하나만 주세요.")


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


def _answer(model, tokenizer, group, how, probability, least, dates):
    """글마다 답을 한 줄에 적습니다. 빈 글의 답은 빈 줄입니다."""
    real = [text for _, text in group if text]
    replies = answers.reply(model, tokenizer, real, **how) if real else []
    in_order = iter(replies)
    for number, text in group:
        if not text:
            click.echo("")
            continue
        answer = next(in_order)
        reason = answers.doubt(answer, least, dates)
        line = "" if reason else answer.text
        click.echo(f"{line}\t{answer.probability:.2f}" if probability else line)
        if reason:
            say(
                f"되묻습니다: {number}번째 글의 답 "
                f"{pairs.shortened(answer.text)!r}은(는) {reason}. 글을 살펴봐 주세요."
            )
    answers.warn_unfinished(replies)
    return replies


def _draw_attention(path, model, tokenizer, text, answer_ids):
    import matplotlib
    import numpy as np

    from transformer_notes import plotting

    source_ids = tokenizer.encode([text], eos=True)
    target_ids = answer_ids[np.newaxis]
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
