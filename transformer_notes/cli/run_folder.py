"""학습 폴더: 만들고, 읽고, 검사하고, 모델을 되살립니다.

폴더에는 설정을 적은 `run.json`, `tokenizer.json`, 떼어 둔 짝 `held_out.tsv`와
`checkpoints/`가 있습니다. 답에 쓰이는 것은 모두 `run.json`이 압니다. 두 파일은 해시로,
체크포인트는 학습한 데이터의 지문으로, `run.json`은 스스로의 해시로 확인합니다. 그래서
바뀌었거나 다른 자료로 학습한 것으로 답하는 일은 없습니다.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import json
import secrets
import shutil
import sys
from importlib import metadata

from transformer_notes._files import contents, replacing
from transformer_notes.cli import pairs
from transformer_notes.cli.korean import (
    Failed,
    require,
    start_tensorflow,
    warn,
)
from transformer_notes.corpora import tables

#: 학습 폴더의 형식. 읽는 방법이 달라지면 올립니다.
FORMAT = 1
MAX_EXTRA = 50  # 답은 입력보다 이만큼까지 깁니다 (6.1절)
LARGEST = 2**24  # run.json과 tokenizer.json의 가장 큰 크기, 바이트


@dataclasses.dataclass(frozen=True)
class Record:
    """`run.json`의 내용."""

    recipe: str
    settings: dict
    #: 학습한 파일의 경로와 해시. 패키지의 데이터이면 None입니다.
    data: str | None
    data_sha256: str | None
    #: 학습한 짝의 `Batches.fingerprint`. 체크포인트에도 적혀 있습니다.
    fingerprint: int
    #: 학습한 가장 긴 글, 토큰.
    longest_source: int
    #: 레이블의 이름. 글을 분류하는 모델에만 있습니다.
    labels: list | None
    #: 폴더의 파일마다의 해시.
    files: dict = dataclasses.field(default_factory=dict)
    #: 학습을 시작한 때의 라이브러리마다의 버전.
    versions: dict = dataclasses.field(default_factory=dict)


def is_new(folder):
    """아직 학습 폴더가 아닌지. 다른 것이 든 폴더는 거절합니다."""
    if (folder / "run.json").exists():
        return False
    require(
        not folder.exists() or folder.is_dir() and not any(folder.iterdir()),
        f"{folder}에는 run.json이 없습니다. train이 만들었거나, 비어 있거나, 아직 없는 "
        "폴더를 주세요.",
    )
    return True


def create(folder, record, tokenizer, held_out):
    """옆에 다 만든 다음 옮깁니다. 반쯤 만든 학습 폴더는 생기지 않습니다."""
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.mkdir()
        tokenizer.save(partial / "tokenizer.json")
        pairs.write(partial / "held_out.tsv", held_out)
        files = {path.name: _digest(path.read_bytes()) for path in partial.iterdir()}
        write(partial, dataclasses.replace(record, files=files, versions=_versions()))
        if folder.exists() and not any(folder.iterdir()):
            # 지우고 새로 만들면 그 안에서 부른 사람(train .)은 아무것도 쓰지 못합니다.
            for name in (*files, "run.json"):  # run.json이 있어야 학습 폴더입니다
                (partial / name).rename(folder / name)
        else:
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write(folder, record):
    """run.json을 통째로 바꿉니다."""
    values = dataclasses.asdict(record)
    values = {"format": FORMAT} | values | {"sha256": _seal(values)}
    text = json.dumps(values, ensure_ascii=False, indent=1)
    with replacing(folder / "run.json") as partial:
        partial.write_text(text + "\n", encoding="utf-8", newline="\n")


def read(folder):
    """run.json을 읽습니다. 없거나, 형식이 다르거나, 망가진 폴더를 거절합니다."""
    path = folder / "run.json"
    require(
        path.exists(),
        f"학습 폴더가 아닙니다: {folder}. train이 만든, run.json이 든 폴더를 주세요.",
    )
    with contextlib.suppress(
        AttributeError, KeyError, RecursionError, TypeError, ValueError
    ):
        values = json.loads(contents(path, LARGEST).decode("utf-8"))
        number, seal = values.pop("format"), values.pop("sha256")
        require(
            type(number) is not int or number == FORMAT,
            f"{folder}는 다른 판이 만든 폴더입니다. 형식: {number} (이 판은 {FORMAT}). "
            "그 판을 설치해서 쓰거나 다른 RUN_FOLDER에 다시 학습하세요.",
        )
        if type(number) is int and seal == _seal(values):
            return Record(**values)
    raise damaged(path)


def _seal(values):
    return _digest(json.dumps(values, sort_keys=True).encode())


def _digest(content):
    return hashlib.sha256(content).hexdigest()


def damaged(path, reason="없거나 학습할 때의 것이 아닙니다"):
    """망가진 파일을 말하고 무엇을 할지 알리는 예외를 만듭니다."""
    return Failed(
        f"{path}이(가) 망가졌습니다({reason}). 사본에서 되살리거나 다른 RUN_FOLDER에 "
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
    now, then = _versions(), record.versions
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


def sweep(folder):
    """갑자기 꺼진 학습이 쓰다 만 것을 지웁니다."""
    checkpoints = folder / "checkpoints"
    for path in (*folder.glob(".run.*"), *checkpoints.glob(".history.*")):
        path.unlink()
    for path in checkpoints.glob("**/step-*_temp"):
        shutil.rmtree(path)


def whole(folder, record, name):
    """학습할 때 쓴 그대로인 파일의 경로. 바뀌었으면 거절합니다."""
    path = folder / name
    with contextlib.suppress(FileNotFoundError, ValueError):
        if _digest(contents(path, tables.LARGEST)) == record.files[name]:
            return path
    raise damaged(path)


def read_tokenizer(folder, record):
    """토크나이저. 번호 둘만 바뀌어도 다른 글이 되므로 적어 둔 해시와 견줍니다."""
    from transformer_notes.tokenization import Tokenizer

    return Tokenizer.load(whole(folder, record, "tokenizer.json"))


def newest_step(folder, record):
    """읽을 수 있는 체크포인트 가운데 가장 새것의 스텝. 없으면 0입니다."""
    from transformer_notes import training

    place = folder / "checkpoints"
    found = next(training.readable_checkpoints(place), None)
    if found is None:
        return 0
    _refuse_foreign(place, record, [found])
    return found[0]


def _refuse_foreign(place, record, found):
    if any(fingerprint != record.fingerprint for _, fingerprint in found):
        raise damaged(place, "다른 학습의 체크포인트가 있습니다")


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
    start_tensorflow()
    tokenizer = read_tokenizer(folder, record)
    weights = _weights(folder / "checkpoints", record, checkpoint)
    config = model_config(tokenizer, record.settings, record.labels)
    model = build(config, record.labels)
    try:
        model.set_weights(weights)
    except ValueError as error:
        raise Failed(f"{folder}의 체크포인트를 쓰지 못합니다. {error}") from error
    return tokenizer, model


def _weights(folder, record, checkpoint):
    """고른 체크포인트의 가중치. 망가진 것은 경고하고 그 앞의 것을 봅니다."""
    from transformer_notes import training

    best = checkpoint == "best"
    place, count = (folder / "best", 1) if best else (folder, checkpoint)
    found = list(itertools.islice(training.readable_checkpoints(place), count))
    if not found:
        raise Failed(
            f"{place}에는 읽을 수 있는 체크포인트가 없습니다. train을 다시 실행해 이어 "
            "가세요."
        )
    require(
        len(found) == count,
        f"--checkpoint average:N의 N에는 읽을 수 있는 체크포인트의 수 {len(found)} "
        f"이하가 필요합니다. 받은 것: {checkpoint}.",
    )
    _refuse_foreign(place, record, found)
    if best:
        return training.best_checkpoint(folder)
    return training.average_checkpoints(folder, count)
