"""명령 `translate`: 글을 옮기고, 어디를 보았는지 그립니다."""

import random

import click

from transformer_notes.cli import answers, pictures, trained
from transformer_notes.cli import texts as cli_texts
from transformer_notes.cli.korean import Command, put, require
from transformer_notes.cli.options import (
    CHANCE,
    MODEL,
    PICTURE,
    SEED,
    TEMPERATURE,
    TOP_K,
    TOP_P,
    beam_option,
    checkpoint_option,
    flag,
)


@click.command(cls=Command)
@click.argument("words", metavar="RUN_FOLDER [TEXT]...", nargs=-1)
@click.option(
    "--model",
    "name",
    type=MODEL,
    help="RUN_FOLDER 대신 쓸 함께 온 모델의 이름이나 모델 파일.",
)
@click.option("--attention", type=PICTURE, help="크로스 어텐션을 그릴 파일.")
@beam_option
@click.option("--temperature", type=TEMPERATURE, help="이 온도로 답을 뽑습니다.")
@click.option("--top-k", type=TOP_K, help="점수가 높은 토큰 N개에서만 뽑습니다.")
@click.option("--top-p", type=TOP_P, help="확률의 합이 P가 될 때까지만 남깁니다.")
@click.option("--seed", type=SEED, help="뽑을 때의 시드. [기본값: 그때마다 다름]")
@click.option(
    "--probability",
    is_flag=True,
    help="답<탭>확신<탭>가장 망설인 토큰<탭>그 확률로 적습니다.",
)
@click.option(
    "--least",
    type=CHANCE,
    help="답을 내놓을 가장 낮은 확신. [기본값: 모델마다 다름]",
)
@checkpoint_option
def translate(words, name, attention, probability, least, checkpoint, **how):
    """글을 옮겨 한 줄에 하나씩 적습니다.

    TEXT가 없으면 표준 입력을 한 줄씩 읽습니다. 빈 줄에는 빈 줄로
    답하므로 입력과 출력의 줄이 맞습니다.

    --model을 주면 학습하지 않고 함께 온 모델을 씁니다. 그때에는
    RUN_FOLDER를 적지 않습니다. 인자는 모두 TEXT입니다.

    --temperature를 주면 답을 찾지 않고 뽑습니다. --top-k, --top-p,
    --seed는 그때에만 씁니다.

    확신은 답의 토큰마다의 확률의 기하 평균입니다. --least보다 낮으면
    답의 자리를 비우고 표준 오류로 되묻습니다. 날짜를 배운 모델에서는
    달력에 없는 날도, 함께 온 모델에서는 배운 글과 너무 다른 글도
    그렇게 합니다. 함께 온 번역 모델은 괄호, 이름, 수, 부정하는 말이
    글보다 답에 적으면 답을 적고 되묻습니다.

    학습에서 보지 못한 글자는 전각 숫자처럼 뜻이 같은 아는 글자가 있으면
    그것으로 읽습니다.

    --attention은 TEXT 하나와 함께 씁니다. 마지막 층의 크로스 어텐션을
    헤드에 걸쳐 평균하여 PNG, SVG, PDF로 그립니다.

    예:
      transformer-notes translate --model dates "2026년 11월 21일"
      transformer-notes translate runs/dates "2026년 11월 21일"
      transformer-notes translate runs/dates < dates.txt > answers.txt
      transformer-notes translate runs/dates 26.11.21 --attention map.svg
    """
    folder, texts = trained.split(words, name)
    require(
        attention is None or len(texts) == 1,
        f"--attention에는 TEXT 하나가 필요합니다. 받은 것: {len(texts)}개.",
    )
    texts = cli_texts.stripped(texts)
    _require_one_way(how)
    if name is None:
        opened = trained.open_folder(folder, checkpoint)
    else:
        opened = trained.open_model(name, checkpoint)
    require(
        opened.task != "classify",
        "translate에는 글로 답하는 모델이 필요합니다. 받은 것: "
        f"{name or folder}, 글을 분류하는 모델. classify로 써 보세요.",
    )
    size = opened.tokenizer.vocab_size
    require(
        (how["top_k"] or 0) <= size,
        f"--top-k에는 어휘 집합의 크기 {size} 이하가 필요합니다. "
        f"받은 것: {how['top_k']}.",
    )
    draws = random.Random(how["seed"])  # 묶음마다 달리 뽑습니다
    for group in cli_texts.groups(opened, texts):
        if how["temperature"] is not None:
            how["seed"] = draws.getrandbits(63)
        last = _answer(opened, group, how, probability, least)
    if attention is not None and last:
        ((_, text),) = group
        model, tokenizer = opened.model, opened.tokenizer
        pictures.draw_attention(attention, model, tokenizer, text, last[0].ids)


def _require_one_way(how):
    """찾거나(빔) 뽑거나(온도) 하나입니다."""
    draws = how["temperature"] is not None
    for name in ("top_k", "top_p", "seed"):
        require(
            draws or how[name] is None, f"{flag(name)}는 --temperature와 함께 주세요."
        )
    require(
        not draws or how["beam_size"] is None,
        "--beam과 --temperature는 함께 쓰지 않습니다. 하나만 주세요.",
    )


def _answer(opened, group, how, probability, least):
    """글마다 답을 한 줄에 적습니다. 빈 글의 답은 빈 줄입니다."""
    real = [text for _, text in group if text]
    tokenizer = opened.tokenizer
    replies = answers.reply(opened.model, tokenizer, real, **how) if real else []
    in_order = iter(replies)
    for number, text in group:
        if not text:
            put("")
            continue
        answer, name = next(in_order), f"{number}번째 글"
        held, asked = answers.judged(
            opened.rules, answer.text, answer.certainty, name, least, source=text
        )
        fields = answers.measures(answer, tokenizer) if probability else ()
        put("" if held else answer.text, *fields)
        answers.ask_back(held, asked)
        answers.warn_cut(answer, name)
    return replies
