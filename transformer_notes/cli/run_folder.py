"""학습 폴더: 만들고, 읽고, 검사하고, 모델을 되살립니다.

폴더에는 설정을 적은 `run.json`, `tokenizer.json`, 떼어 둔 짝 `held_out.tsv`와
`checkpoints/`가 있습니다. 읽은 것은 모두 표 하나(`_RECORD`)로 검사합니다.
"""

import contextlib
import hashlib
import json
import re
import secrets
import shutil
import sys
from importlib import metadata

from transformer_notes._files import replacing, saved_steps
from transformer_notes.cli import pairs
from transformer_notes.cli.korean import BadInput, Failed, start_tensorflow, warn
from transformer_notes.cli.options import RECIPE, SETTINGS, WHOLE, Value
from transformer_notes.cli.recipes import BUNDLED, RECIPES

#: 학습 폴더의 형식. 읽는 방법이 달라지면 올립니다.
FORMAT = 4
#: 형식이 오를 때마다 더해진 설정과, 그 앞의 형식에서 쓰던 것
_ADDED = {
    3: {"schedule": "paper", "learning_rate": None},
    4: {"normalization": "nfc", "norm": "post"},
}
MAX_EXTRA = 50  # 답은 입력보다 이만큼까지 깁니다 (6.1절)

_DIGEST = Value(
    "SHA256", str, re.compile("[0-9a-f]{64}").fullmatch, "16진수 64자리의 해시가"
)
_LABELS = Value(
    "LABELS",
    list,
    lambda labels: (
        len(labels) >= 2
        and all(isinstance(label, str) and label for label in labels)
        and len(set(labels)) == len(labels)
    ),
    "서로 다른 이름이 둘 이상인 목록이",
)
_NAMED_TEXTS = Value(
    "VERSIONS",
    dict,
    lambda versions: all(isinstance(text, str) for text in versions.values()),
    "이름마다의 글이",
)

#: run.json의 이름마다 받아들일 값
_RECORD = {
    "format": Value("N", int, FORMAT.__eq__, f"{FORMAT}이"),
    "recipe": RECIPE,
    "settings": {name: setting.value for name, setting in SETTINGS.items()},
    "data": Value("FILE", str, bool, "파일의 경로가"),
    "data_sha256": _DIGEST,
    "tokenizer_sha256": _DIGEST,
    "longest_source": WHOLE,
    "labels": _LABELS,
    "model": Value("CONFIG", dict, bool, "모델의 설정이"),
    "versions": _NAMED_TEXTS,
}
_MAY_BE_NULL = {"data", "data_sha256", "labels"} | {
    name
    for recipe in RECIPES.values()
    for name, value in recipe.settings.items()
    if value is None
}


def is_new(folder):
    """아직 학습 폴더가 아닌지. 다른 것이 든 폴더는 거절합니다."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"RUN_FOLDER에는 폴더가 필요합니다. 받은 것: 파일 {folder}.")
    if (folder / "run.json").exists():
        return False
    if folder.exists() and any(folder.iterdir()):
        raise BadInput(
            f"{folder}에는 다른 것이 들어 있고 run.json이 없습니다. 비어 있거나 아직 "
            "없는 폴더를 주세요."
        )
    return True


def create(folder, tokenizer, held_out, **record):
    """옆에 다 만든 다음 이름을 바꿉니다. 반쯤 만든 학습 폴더는 생기지 않습니다."""
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.mkdir()
        tokenizer.save(partial / "tokenizer.json")
        pairs.write(partial / "held_out.tsv", held_out)
        record["format"] = FORMAT
        record["tokenizer_sha256"] = _digest(partial / "tokenizer.json")
        record["versions"] = _versions()
        write(partial, {name: record[name] for name in _RECORD})
        if folder.exists():
            folder.rmdir()  # 비어 있는 폴더입니다
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write(folder, record):
    """run.json을 통째로 바꿉니다."""
    text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
    with replacing(folder / "run.json") as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def read(folder):
    """run.json을 읽습니다. 없거나, 형식이 다르거나, 망가진 폴더를 거절합니다."""
    if folder.is_file():
        raise BadInput(f"RUN_FOLDER에는 폴더가 필요합니다. 받은 것: 파일 {folder}.")
    if not folder.is_dir():
        raise BadInput(f"학습 폴더가 없습니다: {folder}. 먼저 train으로 학습하세요.")
    path = folder / "run.json"
    if not path.exists():
        raise BadInput(f"{folder}에는 run.json이 없습니다. train이 만든 폴더를 주세요.")
    try:
        record = json.loads(pairs.read_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError):
        raise damaged(path) from None
    record = _upgraded(record)
    _refuse_other_formats(folder, record)
    if problem := _problem(record, _RECORD):
        raise damaged(path, problem)
    if (record["data"] is None) != (record["data_sha256"] is None):
        raise damaged(path, "data와 data_sha256은 함께 있거나 함께 null입니다")
    if record["data"] is None and record["recipe"] not in BUNDLED:
        raise damaged(path, f"{record['recipe']}에는 data가 있어야 합니다")
    if record["data"] is not None and record["recipe"] == "dates":
        raise damaged(path, "recipe가 dates이면 data는 null입니다")
    if (record["labels"] is None) == (RECIPES[record["recipe"]].task == "classify"):
        raise damaged(path, "labels는 recipe가 classification일 때에만 있습니다")
    settings = record["settings"]
    if (settings["learning_rate"] is None) != (settings["schedule"] == "paper"):
        raise damaged(path, "learning_rate는 schedule이 paper일 때에만 null입니다")
    return record


def _upgraded(record):
    """형식 2와 3의 기록을 지금의 꼴로 바꿉니다. 다른 것은 그대로 둡니다."""
    number = record.get("format") if isinstance(record, dict) else None
    if type(number) is not int or not 2 <= number < FORMAT:
        return record
    settings = record.get("settings")
    for since, added in _ADDED.items():
        if number < since and isinstance(settings, dict):
            # 있어서는 안 될 이름이 이미 있으면 망가진 것입니다.
            settings = None if settings.keys() & added.keys() else settings | added
    recipe = "pairs" if record.get("data") else "dates"
    new = {"recipe": recipe, "labels": None}
    return new | record | {"format": FORMAT, "settings": settings}


def _refuse_other_formats(folder, record):
    number = record.get("format") if isinstance(record, dict) else None
    if type(number) is not int or number == FORMAT:
        return
    versions = record.get("versions")
    made_by = versions.get("transformer-notes") if isinstance(versions, dict) else None
    raise BadInput(
        f"{folder}는 다른 판이 만든 폴더입니다. 형식: {number} (이 판은 {FORMAT}), "
        f"만든 transformer-notes: {made_by or '알 수 없음'}. 그 판을 설치해서 쓰거나 "
        "다른 RUN_FOLDER에 다시 학습하세요."
    )


def _problem(values, table, place=""):
    """표와 다른 첫 값을 말합니다. 모두 맞으면 None입니다."""
    if not isinstance(values, dict) or values.keys() != table.keys():
        return f"{place or 'run.json'}에 있어야 할 이름은 {', '.join(table)}입니다"
    for name, value in values.items():
        expected, where = table[name], f"{place}.{name}".strip(".")
        if isinstance(expected, dict):
            if problem := _problem(value, expected, where):
                return problem
        elif not (value is None and name in _MAY_BE_NULL or expected.holds(value)):
            given = pairs.shortened(repr(value))
            return f"{where}에는 {expected.expected} 필요합니다. 받은 것: {given}"
    return None


def damaged(path, reason=""):
    """망가진 파일을 말하고 무엇을 할지 알리는 예외를 만듭니다."""
    because = f" ({reason})" if reason else ""
    return Failed(
        f"{path}이(가) 망가졌습니다{because}. 사본에서 되살리거나 다른 RUN_FOLDER에 "
        "다시 학습하세요."
    )


def _versions():
    names = "transformer-notes", "tensorflow", "keras", "numpy", "tokenizers"
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def warn_other_versions(record):
    """학습을 시작한 때와 라이브러리의 버전이 다르면 알립니다."""
    now, then = _versions(), record["versions"]
    changed = [
        f"{name} {then[name]} → {now[name]}"
        for name in then
        if name in now and now[name] != then[name]
    ]
    if changed:
        warn(
            f"학습을 시작한 때와 버전이 다릅니다 ({', '.join(changed)}). 이어 갈 수 "
            "있지만 비트까지 같은 결과는 아닐 수 있습니다."
        )


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_tokenizer(folder, record):
    """토크나이저. 번호 둘만 바뀌어도 다른 글이 되므로 적어 둔 해시와 견줍니다."""
    from transformer_notes.tokenization import Tokenizer

    path = folder / "tokenizer.json"
    try:
        if _digest(path) != record["tokenizer_sha256"]:
            raise damaged(path, "run.json에 적힌 해시와 다릅니다")
        return Tokenizer.load(path)
    except (OSError, ValueError):
        raise damaged(path) from None


def newest_step(folder):
    """다 쓴 체크포인트 가운데 가장 새것의 스텝. 없으면 0입니다."""
    return max(saved_steps(folder / "checkpoints"), default=0)


def model_config(tokenizer, settings, labels):
    """설정에서 나오는 모델."""
    from transformer_notes.transformer import TransformerConfig

    names = "d_model", "num_heads", "num_layers", "d_ff", "dropout", "positions"
    return TransformerConfig(
        tokenizer.vocab_size,
        # 답은 입력보다 길 수 있습니다. 위치 표를 그만큼 더 둡니다.
        max_length=settings["max_length"] + (0 if labels else MAX_EXTRA),
        norm_first=settings["norm"] == "pre",
        **{name: settings[name] for name in names},
    )


def recorded_config(folder, record, tokenizer):
    """적어 둔 모델. 지금의 코드가 같은 설정에서 다른 모델을 만들면 거절합니다."""
    from transformer_notes.transformer import TransformerConfig

    try:
        config = TransformerConfig(**record["model"])
        if config == model_config(tokenizer, record["settings"], record["labels"]):
            return config
    except (TypeError, ValueError) as error:
        raise damaged(folder / "run.json", error) from error
    raise damaged(folder / "run.json", "settings의 모델과 model이 다릅니다")


def build(config, labels):
    """가중치를 갖춘, 아직 배우지 않은 모델. 레이블이 있으면 분류하는 모델입니다."""
    import tensorflow as tf

    from transformer_notes.classification import Classifier
    from transformer_notes.transformer import Transformer

    model = Classifier(config, len(labels)) if labels else Transformer(config)
    try:
        model.build()
    except tf.errors.ResourceExhaustedError as error:
        raise Failed("모델이 너무 커서 메모리가 모자랍니다.") from error
    return model


def open_model(folder, record, checkpoint=1):
    """학습 폴더의 토크나이저와, 가중치를 채운 모델.

    checkpoint는 "best"이거나, 평균할 새 체크포인트의 수입니다.
    """
    saved = len(saved_steps(folder / "checkpoints"))
    if not saved:
        raise Failed(
            f"{folder}에는 아직 체크포인트가 없습니다. train을 다시 실행해 이어 가세요."
        )
    best = checkpoint == "best"
    if not best and checkpoint > saved:
        raise BadInput(
            f"--checkpoint average:N의 N에는 남아 있는 체크포인트의 수 {saved} 이하가 "
            f"필요합니다. 받은 것: {checkpoint}. 학습할 때 --save-every를 줄이면 자주 "
            "남깁니다."
        )
    start_tensorflow()
    from transformer_notes import training

    tokenizer = read_tokenizer(folder, record)
    model = build(recorded_config(folder, record, tokenizer), record["labels"])
    checkpoints = folder / "checkpoints"
    try:
        if best:
            weights = training.best_checkpoint(checkpoints)
        else:
            weights = training.average_checkpoints(checkpoints, checkpoint)
    except ValueError:  # 망가진 것이 어느 것인지는 경고가 말했습니다
        wanted = "best" if best else f"온전한 체크포인트 {checkpoint}개"
        raise Failed(
            f"{folder}에는 {wanted}가 없습니다. 사본에서 되살리거나 다른 RUN_FOLDER에 "
            "다시 학습하세요."
        ) from None
    try:
        model.set_weights(weights)
    except ValueError as error:
        raise Failed(f"{folder}의 체크포인트를 쓰지 못합니다. {error}") from error
    return tokenizer, model
