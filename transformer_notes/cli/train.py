"""명령 `train`: 학습하고 학습 폴더에 남깁니다."""

import contextlib
import dataclasses
import shlex
import sys
from pathlib import Path

import click

from transformer_notes.cli import pairs, run_folder
from transformer_notes.cli.korean import (
    BadInput,
    Command,
    Failed,
    say,
    start_tensorflow,
)
from transformer_notes.cli.options import (
    FILE,
    RECIPE,
    flag,
    recipes_table,
    run_folder_argument,
    setting_options,
)
from transformer_notes.cli.recipes import BUNDLED, RECIPES

#: 이어 갈 때 바꾸어도 되는 설정
FREE = {"epochs", "save_every"}


@click.command(cls=Command, epilog=recipes_table())
@run_folder_argument
@click.option("--recipe", type=RECIPE, help="기본값의 묶음. 아래의 표에 있습니다.")
@click.option("--data", type=FILE, help="학습할 파일. 없으면 날짜를 만듭니다.")
@setting_options
@click.option("--tensorboard", is_flag=True, help="TensorBoard 기록도 남깁니다.")
@click.pass_context
def train(ctx, folder, recipe, data, tensorboard, **given):
    """학습하고 RUN_FOLDER에 남깁니다.

    --data가 없으면 한국어 날짜 표현을 ISO 8601로 옮기는 일을 배웁니다.
    --data에는 한 줄에 "입력<탭>답"인 UTF-8 파일을 줍니다. 이름이 .csv이면
    쉼표로 나눕니다. gzip으로 줄인 것도 됩니다. 빈 줄은 건너뜁니다.
    명령 data로 받은 말뭉치는 그대로 읽습니다.

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
      checkpoints/    체크포인트와 스텝마다의 손실(history.json)
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
        task = RECIPES[run_folder.read(folder)["recipe"]].task
        use = "classify --model" if task == "classify" else "translate"
        click.echo(
            f"끝났습니다. 써 보려면: {ctx.parent.command_path} {use} "
            f"{shlex.quote(str(folder))}"
        )


def _how_to_continue(command, folder):
    command = f"{command} {shlex.quote(str(folder))}"
    if not (folder / "run.json").exists():
        return "아직 쓴 것이 없습니다. 같은 명령을 다시 실행하세요"
    if step := run_folder.newest_step(folder):
        return f"{step:,}스텝에서 이어 가려면: {command}"
    return f"체크포인트를 쓰기 전이므로 처음부터 합니다: {command}"


def _train(folder, recipe, data, given, tensorboard):
    """새로 하거나 이어 갑니다. 이미 끝난 학습이면 그렇다고 적고 False를 냅니다."""
    record = None if run_folder.is_new(folder) else run_folder.read(folder)
    if record is None:
        recipe = recipe or ("dates" if data is None else "pairs")
        settings = _new_settings(recipe, data, given)
    else:
        settings, data = _resumed_settings(folder, record, recipe, data, given)
        recipe = record["recipe"]
    rows, digest = pairs.bundled(recipe) if data is None else pairs.read(data)
    if record is not None and digest != record["data_sha256"]:
        raise BadInput(
            f"{data}의 내용이 {folder}를 학습하던 때와 다릅니다. 그때의 파일을 "
            "--data로 주거나 다른 RUN_FOLDER를 쓰세요."
        )

    start_tensorflow()
    import keras

    from transformer_notes import training

    with _as_bad_input():
        training_pairs, held_out = pairs.split(rows, recipe, settings)
        if record is None:
            classifies = RECIPES[recipe].task == "classify"
            labels = pairs.labels_of(training_pairs) if classifies else None
            tokenizer = pairs.train_tokenizer(training_pairs, settings, labels)
            config = run_folder.model_config(tokenizer, settings, labels)
        else:
            labels = record["labels"]
            tokenizer = run_folder.read_tokenizer(folder, record)
            config = run_folder.recorded_config(folder, record, tokenizer)
        training_ids, held_out_ids = (
            pairs.encode(tokenizer, some, settings["max_length"], labels)[1]
            for some in (training_pairs, held_out)
        )
        _require_pairs(training_ids, held_out_ids, settings)
        training_data, validation = (
            training.Batches(ids, settings["tokens"], settings["seed"])
            for ids in (training_ids, held_out_ids)
        )
        keras.utils.set_random_seed(settings["seed"])
        model = run_folder.build(config, labels)

    if record is None:
        run_folder.create(
            folder,
            tokenizer,
            held_out,
            recipe=recipe,
            settings=settings,
            data=None if data is None else str(data.resolve()),
            data_sha256=digest,
            longest_source=max(len(source_ids) for source_ids, _ in training_ids),
            labels=labels,
            model=dataclasses.asdict(config),
        )
    else:
        run_folder.warn_other_versions(record)
        if settings != record["settings"]:
            run_folder.write(folder, record | {"settings": settings})

    total = settings["epochs"] * len(training_data)
    optimizer = make_optimizer(settings, total)
    done = run_folder.newest_step(folder)
    if done >= total:
        click.echo(
            f"이미 끝난 학습입니다 ({done:,}스텝). 더 학습하려면 --epochs를 "
            f"{settings['epochs']}보다 크게 주세요."
        )
        return False
    click.echo(
        f"짝 {len(training_ids):,}개로 학습하고 {len(held_out_ids):,}개로 검증합니다. "
        f"파라미터 {model.count_params():,}개, 어휘 집합 {tokenizer.vocab_size:,}개."
    )
    if settings["label_smoothing"]:
        click.echo(
            f"손실에는 레이블 스무딩 {settings['label_smoothing']}이 들어 있고 검증 "
            "손실에는 없습니다. 두 수를 바로 견주지 마세요."
        )
    if done:
        click.echo(f"{done:,}스텝에서 이어 갑니다.")
    _fit(folder, model, training_data, validation, optimizer, settings, tensorboard)
    return True


def _new_settings(recipe, data, given):
    if recipe == "dates" and data is not None:
        raise BadInput(
            "--recipe dates는 데이터를 스스로 만듭니다. --data를 빼거나 다른 "
            "--recipe를 주세요."
        )
    if recipe not in BUNDLED and data is None:
        raise BadInput(
            f"--recipe {recipe}에는 학습할 파일이 필요합니다. --data로 주세요."
        )
    if recipe != "dates" and "count" in given:
        raise BadInput("--count는 날짜를 만들 때만 씁니다. --data와 함께 주지 마세요.")
    settings = RECIPES[recipe].settings | given
    if settings["schedule"] == "paper":
        if "learning_rate" in given:
            raise BadInput(
                "--learning-rate는 --schedule cosine이나 constant와 함께 주세요. "
                "paper의 높이는 --d-model과 --warmup-steps가 정합니다."
            )
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


def _resumed_settings(folder, record, recipe, data, given):
    """이어 갈 설정과 데이터. 다르게 준 것이 있으면 거절합니다."""
    if recipe not in (None, record["recipe"]):
        raise BadInput(
            f"{folder}를 학습하던 것은 --recipe {record['recipe']}입니다. 받은 것: "
            f"{recipe}. 그 옵션을 빼거나 다른 RUN_FOLDER를 쓰세요."
        )
    for name, value in given.items():
        if name not in FREE and value != record["settings"][name]:
            raise BadInput(
                f"{folder}를 학습하던 설정은 {flag(name)} {record['settings'][name]}"
                f"입니다. 받은 것: {value}. 그 옵션을 빼거나 다른 RUN_FOLDER를 쓰세요."
            )
    if record["data"] is None:
        if data is not None:
            raise BadInput(
                f"{folder}는 패키지의 데이터로 학습하던 폴더입니다. --data를 빼거나 "
                "다른 RUN_FOLDER를 쓰세요."
            )
    elif data is None:
        data = Path(record["data"])
        if not data.exists():
            raise BadInput(
                f"학습하던 파일이 없습니다: {data}. 옮긴 자리를 --data로 알려 주세요."
            )
    return record["settings"] | given, data


def _require_pairs(training_ids, held_out_ids, settings):
    if not training_ids or not held_out_ids:
        raise BadInput(
            f"{settings['max_length']}토큰 이하인 짝이 학습에도 검증에도 하나 이상 "
            "필요합니다. --max-length를 늘리거나 데이터를 더 모으세요."
        )


@contextlib.contextmanager
def _as_bad_input():
    """설정이나 데이터를 패키지가 거절하면 그 말을 그대로 전합니다."""
    try:
        yield
    except ValueError as error:
        raise BadInput(str(error)) from error


def _fit(folder, model, training_data, validation, optimizer, settings, tensorboard):
    """같은 명령이 같은 비트로 끝나게 학습합니다. 못 하면 까닭을 한 줄로 말합니다."""
    import tensorflow as tf

    from transformer_notes import training

    tf.config.experimental.enable_op_determinism()
    try:
        training.train(
            model,
            training_data,
            settings["epochs"],
            folder / "checkpoints",
            validation=validation,
            optimizer=optimizer,
            label_smoothing=settings["label_smoothing"],
            save_every=settings["save_every"],
            tensorboard=tensorboard,
        )
    except (FloatingPointError, ValueError) as error:
        raise Failed(str(error)) from error
    except tf.errors.ResourceExhaustedError as error:
        raise Failed(
            "메모리가 모자랍니다. 다른 RUN_FOLDER에 --tokens를 줄여 학습하세요."
        ) from error
    except tf.errors.OpError as error:
        raise Failed(f"TensorFlow가 멈추었습니다: {error.message}") from error
