"""명령 `train`: 학습하고 학습 폴더에 남깁니다."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import click

from transformer_notes.cli import pairs, run_folder
from transformer_notes.cli.korean import (
    Command,
    Failed,
    as_bad_input,
    put,
    require,
    say,
    start_tensorflow,
)
from transformer_notes.cli.options import (
    DATA,
    RECIPE,
    flag,
    recipes_table,
    run_folder_argument,
    setting_options,
)
from transformer_notes.cli.recipes import BUNDLED, RECIPES

LARGEST = 500_000_000  # 가중치의 수. 논문의 big이 2억 1300만 개입니다
#: 이어 갈 때 바꾸어도 되는 설정
FREE = {"epochs", "save_every"}
#: 모델이 하는 일마다, 학습한 폴더를 쓰는 명령
USE = {
    "dates": "translate",
    "translate": "translate",
    "classify": "classify --model",
    "chat": "chat",
}


@click.command(cls=Command, epilog=recipes_table())
@run_folder_argument
@click.option("--recipe", type=RECIPE, help="기본값의 묶음. 아래의 표에 있습니다.")
@click.option("--data", type=DATA, help="학습할 파일. 없으면 날짜를 만듭니다.")
@setting_options
@click.option("--tensorboard", is_flag=True, help="TensorBoard 기록도 남깁니다.")
@click.pass_context
def train(ctx, folder, recipe, data, tensorboard, **given):
    """학습하고 RUN_FOLDER에 남깁니다.

    --data가 없으면 한국어 날짜 표현을 ISO 8601로 옮기는 일을 배웁니다.
    --data에는 한 줄에 "입력<탭>답"인 UTF-8 파일을 줍니다. 이름이 .csv이면
    쉼표로 나눕니다. gzip으로 줄인 것도 됩니다. 빈 줄은 건너뜁니다.
    명령 data로 받은 chatbot, nsmc, python_docs의 파일도 읽습니다.

    --recipe는 하려는 일에 맞는 기본값을 고릅니다. 주지 않으면 --data가
    없을 때 dates, 있을 때 pairs입니다. classification은 답을 레이블로
    보고 글을 분류하는 모델을 학습합니다. chatbot은 --data가 없으면
    패키지에 든 대화를 배웁니다.

    --schedule은 학습률의 스케줄입니다. cosine은 웜업 뒤에 마지막
    스텝까지 0으로 내리고, paper는 논문의 식을 따르고, constant는 그대로
    둡니다. cosine의 웜업은 많아야 전체의 절반이고, 이어 갈 때 --epochs를
    늘리면 내려가는 길도 늘어납니다.

    Ctrl-C나 정전으로 멈추어도 같은 명령이 이어 갑니다. 이어 갈 때에는
    옵션을 생략해도 됩니다. 폴더에 적힌 것을 씁니다.

    예:
      transformer-notes train runs/dates
      transformer-notes train runs/dates --epochs 10
      transformer-notes train runs/my --data pairs.tsv --d-model 128
      transformer-notes train runs/chat --recipe chatbot --data chat.csv

    RUN_FOLDER에 생기는 것:
      run.json        설정과 라이브러리의 버전
      tokenizer.json  토크나이저
      held_out.tsv    학습에서 떼어 둔 짝
      checkpoints/    체크포인트와 그때마다의 손실(history.json)
    """
    given = {name: value for name, value in given.items() if value is not None}
    try:
        trained = _train(folder, recipe, data, given, tensorboard)
    except KeyboardInterrupt:
        if sys.stdout.isatty():
            click.echo()  # 그리던 진행 막대의 줄을 끝냅니다
        say(f"멈추었습니다. {_how_to_continue(ctx.command_path, folder)}")
        ctx.exit(130)
    if trained:
        task = RECIPES[run_folder.read(folder).recipe].task
        put(
            f"끝났습니다. 써 보려면: {ctx.parent.command_path} {USE[task]} "
            f"{shlex.quote(str(folder))}"
        )


def _how_to_continue(command, folder):
    command = f"{command} {shlex.quote(str(folder))}"
    if (folder / "run.json").exists():
        return f"이어 가려면: {command}"
    return "아직 쓴 것이 없습니다. 같은 명령을 다시 실행하세요"


class _Run(NamedTuple):
    """새로 하거나 이어 갈 학습."""

    record: run_folder.Record
    tokenizer: object
    #: 떼어 둔 짝의 글.
    held_out: list
    #: 학습할 짝과 검증할 짝의 토큰 번호, 그리고 그 `Batches`.
    ids: list
    batches: list


def _train(folder, recipe, data, given, tensorboard):
    """새로 하거나 이어 갑니다. 이미 끝난 학습이면 그렇다고 적고 False를 냅니다."""
    new = run_folder.is_new(folder)
    with as_bad_input():
        if new:
            run = _new(recipe, data, given)
        else:
            run = _resumed(folder, recipe, data, given)
        model = _model(run)
    if new:
        run_folder.create(folder, run.record, run.tokenizer, run.held_out)
    else:
        run_folder.write(folder, run.record)
        run_folder.sweep(folder)
    an_epoch = len(run.batches[0])
    total = run.record.settings["epochs"] * an_epoch
    done = run_folder.newest_step(folder, run.record)
    if done >= total:
        put(
            f"이미 끝난 학습입니다 ({done:,}스텝). 더 학습하려면 --epochs를 "
            f"{done // an_epoch}보다 크게 주세요."
        )
        return False
    _announce(run, model, done)
    _fit(folder, run, model, make_optimizer(run.record.settings, total), tensorboard)
    return True


def _new(recipe, data, given):
    """처음 하는 학습. 아직 아무것도 쓰지 않습니다."""
    recipe = recipe or ("dates" if data is None else "pairs")
    settings = _new_settings(recipe, data, given)
    rows, digest = pairs.bundled(recipe) if data is None else pairs.read(data)
    start_tensorflow()
    sides = pairs.split(rows, recipe, settings)
    classifies = RECIPES[recipe].task == "classify"
    labels = pairs.labels_of(sides[0]) if classifies else None
    tokenizer = pairs.train_tokenizer(sides[0], settings, labels)
    ids, batches = _batches(sides, tokenizer, settings, labels)
    record = run_folder.Record(
        recipe,
        settings,
        None if data is None else str(data.resolve()),
        digest,
        fingerprint=batches[0].fingerprint(),
        longest_source=max(len(source) for source, _ in ids[0]),
        labels=labels,
    )
    return _Run(record, tokenizer, sides[1], ids, batches)


def _resumed(folder, recipe, data, given):
    """폴더에 적힌 대로 이어 갈 학습."""
    record = run_folder.read(folder)
    _refuse_changes(folder, record, recipe, given)
    data = _same_data(folder, record, data)
    rows, digest = pairs.bundled(record.recipe) if data is None else pairs.read(data)
    require(
        digest == record.data_sha256,
        f"{data}의 내용이 {folder}를 학습하던 때와 다릅니다. 그때의 파일을 --data로 "
        "주거나 다른 RUN_FOLDER를 쓰세요.",
    )
    start_tensorflow()
    tokenizer = run_folder.read_tokenizer(folder, record)
    sides = pairs.split(rows, record.recipe, record.settings)
    ids, batches = _batches(sides, tokenizer, record.settings, record.labels)
    run_folder.warn_other_versions(record)
    record = dataclasses.replace(record, settings=record.settings | given)
    return _Run(record, tokenizer, sides[1], ids, batches)


def _batches(sides, tokenizer, settings, labels):
    """학습할 쪽과 검증할 쪽의 토큰 번호와 `Batches`."""
    from transformer_notes import training

    longest = settings["max_length"]
    ids = [pairs.encode(tokenizer, side, longest, labels)[1] for side in sides]
    require(
        all(ids),
        f"{longest}토큰 이하인 짝이 학습에도 검증에도 하나 이상 필요합니다. "
        "--max-length를 늘리거나 데이터를 더 모으세요.",
    )
    tokens, seed = settings["tokens"], settings["seed"]
    return ids, [training.Batches(some, tokens, seed) for some in ids]


def _model(run):
    import keras

    record = run.record
    config = run_folder.model_config(run.tokenizer, record.settings, record.labels)
    _require_room(config)
    keras.utils.set_random_seed(record.settings["seed"])
    return run_folder.build(config, record.labels)


def _require_room(config):
    """만들다가 기계의 메모리를 다 쓸 모델을 거절합니다."""
    d_model, layers = config.d_model, config.num_layers
    weights = d_model * (config.vocab_size + layers * (12 * d_model + 4 * config.d_ff))
    require(
        weights <= LARGEST,
        f"가중치가 {LARGEST:,}개를 넘지 않는 모델이 필요합니다. 받은 것: 약 "
        f"{weights:,}개. --d-model, --d-ff, --num-layers를 줄여 주세요.",
    )


def _announce(run, model, done):
    settings = run.record.settings
    put(
        f"짝 {len(run.ids[0]):,}개로 학습하고 {len(run.ids[1]):,}개로 검증합니다. "
        f"파라미터 {model.count_params():,}개, "
        f"어휘 집합 {run.tokenizer.vocab_size:,}개."
    )
    if settings["label_smoothing"]:
        put(
            f"손실에는 레이블 스무딩 {settings['label_smoothing']}이 들어 있고 검증 "
            "손실에는 없습니다. 두 수를 바로 견주지 마세요."
        )
    if done:
        put(f"{done:,}스텝에서 이어 갑니다.")


def _new_settings(recipe, data, given):
    settings = RECIPES[recipe].settings | given
    paper = settings["schedule"] == "paper"
    require(
        recipe != "dates" or data is None,
        "--recipe dates는 데이터를 스스로 만듭니다. --data를 빼거나 다른 --recipe를 "
        "주세요.",
    )
    require(
        recipe in BUNDLED or data is not None,
        f"--recipe {recipe}에는 학습할 파일이 필요합니다. --data로 주세요.",
    )
    require(
        recipe == "dates" or "count" not in given,
        "--count는 날짜를 만들 때만 씁니다. --data와 함께 주지 마세요.",
    )
    require(
        not paper or "learning_rate" not in given,
        "--learning-rate는 --schedule cosine이나 constant와 함께 주세요. paper의 "
        "높이는 --d-model과 --warmup-steps가 정합니다.",
    )
    if paper:
        settings["learning_rate"] = None
    elif settings["learning_rate"] is None:
        settings["learning_rate"] = RECIPES["dates"].settings["learning_rate"]
    return settings


def make_optimizer(settings, total):
    """설정의 스케줄을 따르는, 논문의 Adam."""
    import keras

    from transformer_notes import training

    peak, warmup = settings["learning_rate"], settings["warmup_steps"]
    optimizer = training.adam(settings["d_model"], warmup)
    if settings["schedule"] == "paper":
        return optimizer
    if settings["schedule"] == "cosine":
        warmup = min(warmup, total // 2)
        peak = keras.optimizers.schedules.CosineDecay(
            0.0 if warmup else peak,
            total - warmup,
            warmup_target=peak if warmup else None,
            warmup_steps=warmup,
        )
    return keras.optimizers.Adam.from_config(
        optimizer.get_config() | {"learning_rate": peak}
    )


def _refuse_changes(folder, record, recipe, given):
    """학습하던 것과 다르게 준 것이 있으면 거절합니다."""
    then = record.settings | {"recipe": record.recipe}
    for name, value in (given | {"recipe": recipe or record.recipe}).items():
        require(
            name in FREE or value == then[name],
            f"{folder}를 학습하던 설정은 {flag(name)} {then[name]}입니다. 받은 것: "
            f"{value}. 그 옵션을 빼거나 다른 RUN_FOLDER를 쓰세요.",
        )


def _same_data(folder, record, data):
    """이어서 배울 파일."""
    if record.data is None:
        require(
            data is None,
            f"{folder}는 패키지의 데이터로 학습하던 폴더입니다. --data를 빼거나 다른 "
            "RUN_FOLDER를 쓰세요.",
        )
        return None
    data = data or Path(record.data)
    require(
        data.exists(),
        f"학습하던 파일이 없습니다: {data}. 옮긴 자리를 --data로 알려 주세요.",
    )
    return data


def _fit(folder, run, model, optimizer, tensorboard):
    """같은 명령이 같은 비트로 끝나게 학습합니다. 못 하면 까닭을 한 줄로 말합니다."""
    import tensorflow as tf

    from transformer_notes import training

    settings = run.record.settings
    tf.config.experimental.enable_op_determinism()
    try:
        training.train(
            model,
            run.batches[0],
            settings["epochs"],
            folder / "checkpoints",
            validation=run.batches[1],
            optimizer=optimizer,
            label_smoothing=settings["label_smoothing"],
            save_every=settings["save_every"],
            tensorboard=tensorboard,
        )
    except tf.errors.ResourceExhaustedError as error:
        raise Failed(
            "메모리가 모자랍니다. 다른 RUN_FOLDER에 --tokens를 줄여 학습하세요."
        ) from error
    except (FloatingPointError, ValueError, tf.errors.OpError) as error:
        raise Failed(f"학습을 멈추었습니다. {error}") from error
