"""명령 `classify`: 글마다 레이블을 답니다."""

import click

from transformer_notes.cli import answers, texts, trained
from transformer_notes.cli.korean import Command, put, require
from transformer_notes.cli.options import MODEL, checkpoint_option


@click.command(cls=Command)
@click.argument("given", metavar="[TEXT]...", nargs=-1)
@click.option(
    "--model",
    "name",
    type=MODEL,
    default="reviews",
    help="모델의 이름이나 파일, 또는 학습 폴더. [기본값: reviews]",
)
@checkpoint_option
def classify(given, name, checkpoint):
    """글을 읽고 한 줄에 하나씩, 레이블<탭>확률로 적습니다.

    레이블은 확률이 가장 높은 것입니다.

    TEXT가 없으면 표준 입력을 한 줄씩 읽습니다. 빈 줄에는 빈 줄로
    답하므로 입력과 출력의 줄이 맞습니다.

    예:
      transformer-notes classify "두 번 봐도 좋은 영화"
      transformer-notes classify < reviews.txt > labels.txt
      transformer-notes classify --model runs/reviews "지루했다"
    """
    given = texts.stripped(given)
    opened = trained.open_model(name, checkpoint)
    require(
        opened.task == "classify",
        f"classify에는 글을 분류하는 모델이 필요합니다. 받은 것: {name}, 글로 답하는 "
        "모델. translate나 chat으로 써 보세요.",
    )

    from transformer_notes import classification

    for group in texts.groups(opened, given):
        real = [text for _, text in group if text]
        found = real and classification.classify(opened.model, opened.tokenizer, real)
        in_order = iter(found)
        for number, text in group:
            if not text:
                put("")
                continue
            chances = next(in_order)
            best = chances.argmax()
            label, certainty = opened.labels[best], chances[best]
            put(label, answers.written(certainty))
            answers.ask_back(
                *answers.judged(opened.rules, label, certainty, f"{number}번째 글")
            )
