"""명령줄 `transformer-notes`: 학습하고, 써 보고, 채점하고, 독자의 코드를 확인합니다.

명령마다 모듈이 하나 있습니다. 새 명령은 모듈을 쓰고 아래에 한 줄을 더하면 됩니다.

TensorFlow는 올라오는 데 몇 초가 걸립니다. 도움말과 잘못 쓴 명령은 기다리지 않도록,
정말 필요할 때 함수 안에서 가져옵니다. 패키지를 설치하지 않았다면
`python -m transformer_notes.cli`가 같은 명령입니다.
"""

from importlib import metadata

import click

from transformer_notes.cli import (
    chat,
    check,
    classify,
    data,
    evaluate,
    exercise,
    train,
    translate,
)
from transformer_notes.cli.korean import Group


def _show_version(ctx, _, asked):
    if asked and not ctx.resilient_parsing:
        try:
            version = metadata.version("transformer-notes")
        except metadata.PackageNotFoundError:
            version = "(설치하지 않은 사본)"
        click.echo(f"transformer-notes {version}")
        ctx.exit()


@click.group(cls=Group, name="transformer-notes", subcommand_metavar="명령 [인자]...")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="버전을 보입니다.",
)
def main():
    """작은 트랜스포머를 학습하고 써 봅니다.

    예:
      transformer-notes translate --model dates "2026년 11월 21일 토요일"
      transformer-notes train runs/dates
      transformer-notes translate runs/dates "2026년 11월 21일 토요일"
      transformer-notes evaluate runs/dates
      transformer-notes exercise attention

    끝내기 코드: 0 됨, 1 하지 못함(check에서는 틀린 코드), 2 받은 것이
    잘못됨, 3 맞는지 모름(check), 130 Ctrl-C로 멈춤.
    """


main.add_command(train.train)
main.add_command(translate.translate)
main.add_command(classify.classify)
main.add_command(evaluate.evaluate)
main.add_command(chat.chat)
main.add_command(data.data)
main.add_command(exercise.exercise)
main.add_command(check.check)
