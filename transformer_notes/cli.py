"""명령줄 `transformer-notes`: 학습하고, 옮기고, 채점합니다.

TensorFlow는 올라오는 데 몇 초가 걸립니다. 도움말과 잘못 쓴 명령은 기다리지 않도록,
정말 필요할 때 가져옵니다. 패키지를 설치하지 않았다면
`python -m transformer_notes.cli`가 같은 명령입니다.
"""

import contextlib
import dataclasses
import errno
import hashlib
import json
import os
import secrets
import shlex
import shutil
import sys
import unicodedata
import warnings
from importlib import metadata
from pathlib import Path

import click

#: 학습 폴더의 형식. 읽는 방법이 달라지면 올립니다.
FORMAT = 1
BATCH = 64  # 한 번에 옮길 문장의 수
MAX_EXTRA = 50  # 답은 입력보다 이만큼까지 깁니다 (6.1절)
LARGEST_PICTURE = 64  # 그림에 그릴 토큰의 수


class BadInput(click.ClickException):
    """받은 것이 잘못되었습니다. 끝내기 코드는 2입니다."""

    exit_code = 2


class Failed(click.ClickException):
    """받은 것은 맞지만 하지 못했습니다. 끝내기 코드는 1입니다."""


# ---------------------------------------------------------------- 한국어로 말하기


class Formatter(click.HelpFormatter):
    _TITLES = {"Options": "옵션", "Commands": "명령"}

    def write_usage(self, prog, args="", prefix=None):
        super().write_usage(prog, args, "사용법: ")

    def write_heading(self, heading):
        super().write_heading(self._TITLES.get(heading, heading))

    def write_text(self, text):
        # 손으로 나눈 줄을 그대로 둡니다. click은 한글의 너비를 하나로 셉니다.
        for line in text.splitlines():
            self.write(f"{'':{self.current_indent}}{line}".rstrip() + "\n")


class Context(click.Context):
    formatter_class = Formatter


class Command(click.Command):
    context_class = Context
    _METAVARS = {"[OPTIONS]": "[옵션]", "COMMAND [ARGS]...": "명령 [인자]..."}

    def collect_usage_pieces(self, ctx):
        pieces = super().collect_usage_pieces(ctx)
        return [self._METAVARS.get(piece, piece) for piece in pieces]

    def get_help_option(self, ctx):
        option = super().get_help_option(ctx)
        option.help = "이 도움말을 보입니다."
        return option

    def parse_args(self, ctx, args):
        ctx.allow_extra_args = True  # 남은 인자를 스스로 거절합니다
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # click이 적지 않는 예외도 있습니다
            raise
        if rest and not isinstance(self, click.Group):
            raise click.UsageError(f"남는 인자가 있습니다: {shlex.join(rest)}.", ctx)
        return rest


class Group(Command, click.Group):
    """하위 명령을 묶습니다. 오류를 한국어 한 줄로 알리고 코드로 끝냅니다."""

    command_class = Command

    def main(self, args=None, prog_name=None, standalone_mode=True, **extra):
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **extra)
        with _korean_output():
            try:
                code = super().main(args, prog_name, standalone_mode=False, **extra)
                sys.stdout.flush()
            except click.exceptions.NoArgsIsHelpError as error:
                error.show()
                code = error.exit_code
            except click.ClickException as error:
                code = error.exit_code
                _say(f"오류: {_explain(error)}")
            except click.Abort:
                code = 130
                _say("멈추었습니다.")
            except OSError as error:
                code = 1
                _say(f"오류: {_explain_os_error(error)}")
                _drop_unwritten()
        sys.exit(code or 0)


def _explain(error):
    """click의 예외를 한국어로 말합니다."""
    if not isinstance(error, click.UsageError):
        return " ".join(error.message.split())
    if isinstance(error, click.MissingParameter):
        message = f"{error.param.human_readable_name}이(가) 빠졌습니다."
    elif isinstance(error, click.BadParameter):
        message = f"{error.param.opts[-1]}에는 {error.message}"
    elif isinstance(error, click.NoSuchOption):
        message = f"없는 옵션입니다: {error.option_name}."
    elif isinstance(error, click.exceptions.NoSuchCommand):
        message = f"없는 명령입니다: {error.command_name}."
    elif isinstance(error, click.BadOptionUsage):
        option = next(
            param
            for param in error.ctx.command.params
            if error.option_name in param.opts
        )
        need = "값을 주지 않습니다" if option.is_flag else "값이 필요합니다"
        message = f"{error.option_name}에는 {need}."
    else:
        message = error.message
    alike = getattr(error, "possibilities", None)
    if alike:
        message += f" 혹시 {', '.join(alike)}입니까?"
    return f"{message} 도움말: {error.ctx.command_path} --help"


def _explain_os_error(error):
    own_words = {
        errno.ENOSPC: "디스크가 가득 찼습니다",
        errno.EACCES: "권한이 없습니다",
        errno.EPERM: "권한이 없습니다",
        errno.EROFS: "읽기만 하는 자리입니다",
        errno.ENOENT: "없는 자리입니다",
        errno.EEXIST: "같은 이름의 파일이 있습니다",
        errno.ENOTDIR: "길 가운데에 폴더가 아닌 것이 있습니다",
        errno.ENAMETOOLONG: "이름이 너무 깁니다",
    }
    message = error.strerror or str(error)
    if error.errno is not None and message == os.strerror(error.errno):
        message = own_words.get(error.errno, message)
    where = f" ({error.filename})" if error.filename else ""
    return f"{message}{where}."


def _drop_unwritten():
    """쓰지 못한 것이 남아 있으면 파이썬이 끝나며 다시 쓰려 합니다. 버립니다."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message):
    click.echo(message, err=True)


def _warn(message):
    _say(f"경고: {message}")


@contextlib.contextmanager
def _korean_output():
    """한글을 적지 못하는 터미널에서도 죽지 않게 하고, 경고는 우리 것만 보입니다."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    seen = set()

    def show(message, *_):
        if str(message) not in seen:
            seen.add(str(message))
            _warn(" ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", "체크포인트", RuntimeWarning)
        warnings.showwarning = show
        yield


def _start_tensorflow():
    """TensorFlow를 올립니다. 그때 파일 기술자 2에 바로 쓰는 로그는 버립니다."""
    if "tensorflow" in sys.modules:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if sys.stderr.isatty():
        _say("TensorFlow를 올리고 있습니다. 몇 초 걸립니다.")
    nowhere, stderr = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(nowhere, 2)
    try:
        import tensorflow as tf

        tf.config.list_logical_devices()  # 장치를 찾으며 적는 로그까지 버립니다
    finally:
        os.dup2(stderr, 2)
        os.close(nowhere)
        os.close(stderr)


# ---------------------------------------------------------------- 옵션


class Value(click.ParamType):
    """읽는 함수와 받아들일 조건. 아니면 무엇이 필요한지 말합니다."""

    def __init__(self, name, read, accepts, expected):
        self.name, self.read = name, read
        self.accepts, self.expected = accepts, expected

    def convert(self, value, param, ctx):
        with contextlib.suppress(ValueError):
            read = self.read(value)
            if self.accepts(read):
                return read
        self.fail(f"{self.expected} 필요합니다. 받은 것: {value!r}.", param, ctx)


WHOLE = Value("N", int, lambda n: n >= 1, "1 이상의 정수가")
SEED = Value("N", int, lambda n: 0 <= n < 2**32, "0 이상 2^32 미만의 정수가")
RATE = Value("RATE", float, lambda rate: 0 <= rate < 1, "0 이상 1 미만의 수가")
POSITIONS = Value(
    "NAME", str, ("sinusoidal", "learned").__contains__, "sinusoidal이나 learned가"
)
PICTURE = Value(
    "PICTURE",
    Path,
    lambda path: path.suffix.lower() in (".png", ".svg", ".pdf"),
    "이름이 .png, .svg, .pdf로 끝나는 파일이",
)
FILE = Value("FILE", Path, lambda path: path.name, "파일의 경로가")
FOLDER = Value("FOLDER", Path, lambda path: True, "폴더의 경로가")

#: 학습의 설정: 기본값, 받을 값, 설명. 학습 폴더의 run.json에 모두 적힙니다.
SETTINGS = {
    "epochs": (6, WHOLE, "에폭 수. 이어 갈 때 늘려도 됩니다."),
    "count": (20_000, WHOLE, "만들 날짜의 수 (--data가 없을 때)."),
    "held_out": (0.1, RATE, "학습에서 떼어 둘 비율. 적어도 하나."),
    "vocab_size": (
        None,
        WHOLE,
        "어휘 집합의 크기. [기본값: 날짜 글자마다, 파일 8000]",
    ),
    "max_length": (256, WHOLE, "입력과 답의 가장 긴 토큰 수."),
    "d_model": (64, WHOLE, "모델의 차원."),
    "num_heads": (4, WHOLE, "헤드의 수."),
    "num_layers": (2, WHOLE, "인코더와 디코더의 층 수."),
    "d_ff": (256, WHOLE, "피드포워드 안쪽의 차원."),
    "dropout": (0.1, RATE, "드롭아웃."),
    "positions": ("sinusoidal", POSITIONS, "sinusoidal 또는 learned."),
    "label_smoothing": (0.1, RATE, "레이블 스무딩."),
    "warmup_steps": (300, WHOLE, "웜업의 걸음 수."),
    "tokens": (1024, WHOLE, "배치 하나의 토큰 수."),
    "save_every": (None, WHOLE, "체크포인트를 쓸 간격(걸음). [기본값: 에폭마다]"),
    "seed": (0, SEED, "난수의 씨앗."),
}
#: 이어 갈 때 바꾸어도 되는 설정
FREE = {"epochs", "save_every"}


def _setting_options(command):
    for name, (default, kind, text) in reversed(SETTINGS.items()):
        text += "" if default is None else f" [기본값: {default}]"
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, type=kind, help=text)(command)
    return command


_beam_option = click.option(
    "--beam", type=WHOLE, help="빔 탐색의 크기. [기본값: 쓰지 않음(그리디)]"
)
_average_option = click.option(
    "--average",
    type=WHOLE,
    default=1,
    help="평균할 새 체크포인트의 수. [기본값: 1]",
)


@click.group(cls=Group, name="transformer-notes")
def main():
    """작은 트랜스포머를 학습하고 써 봅니다.

    예:
      transformer-notes train runs/dates
      transformer-notes translate runs/dates "2026년 11월 21일 토요일"
      transformer-notes evaluate runs/dates

    끝내기 코드: 0 됨, 1 하지 못함, 2 받은 것이 잘못됨,
    130 Ctrl-C로 멈춤.
    """


# ---------------------------------------------------------------- train


@main.command()
@click.argument("folder", metavar="RUN_FOLDER", type=FOLDER)
@click.option("--data", type=FILE, help="학습할 TSV 파일. 없으면 날짜를 만듭니다.")
@_setting_options
@click.option("--tensorboard", is_flag=True, help="TensorBoard 기록도 남깁니다.")
@click.pass_context
def train(ctx, folder, data, tensorboard, **given):
    """학습하고 RUN_FOLDER에 남깁니다.

    --data가 없으면 한국어 날짜 표현을 ISO 8601로 옮기는 일을 배웁니다.
    --data에는 한 줄에 "입력<탭>답"인 UTF-8 파일을 줍니다. 빈 줄은
    건너뜁니다.

    Ctrl-C나 정전으로 멈추어도 같은 명령이 이어 갑니다. 이어 갈 때에는
    옵션을 생략해도 됩니다. 폴더에 적힌 것을 씁니다.

    예:
      transformer-notes train runs/dates
      transformer-notes train runs/dates --epochs 10
      transformer-notes train runs/my --data pairs.tsv --d-model 128

    RUN_FOLDER에 생기는 것:
      run.json        설정과 라이브러리의 버전
      tokenizer.json  토크나이저
      held_out.tsv    학습에서 떼어 둔 짝
      checkpoints/    체크포인트와 걸음마다의 손실(history.json)
    """
    given = {name: value for name, value in given.items() if value is not None}
    try:
        _train(folder, data, given, tensorboard)
    except KeyboardInterrupt:
        command = f"{ctx.command_path} {shlex.quote(str(folder))}"
        if not (folder / "run.json").exists():
            where = "아직 쓴 것이 없습니다. 같은 명령을 다시 실행하세요"
        elif step := _newest_step(folder):
            where = f"{step:,}걸음에서 이어 가려면: {command}"
        else:
            where = f"체크포인트를 쓰기 전이므로 처음부터 합니다: {command}"
        if sys.stdout.isatty():
            click.echo()  # 그리던 진행 막대의 줄을 끝냅니다
        _say(f"멈추었습니다. {where}")
        ctx.exit(130)


def _train(folder, data, given, tensorboard):
    new = _is_new(folder)
    if new:
        settings, source = _new_settings(given, data), data
    else:
        record = _read_record(folder)
        settings, source = _resumed_settings(folder, record, given, data)
    lines = digest = None
    if source is not None:
        lines, digest = _read_pairs(source)
    if not new and digest != record["data_sha256"]:
        raise BadInput(
            f"{source}의 내용이 {folder}를 학습하던 때와 다릅니다. 그때의 파일을 "
            "--data로 주거나 다른 RUN_FOLDER를 쓰세요."
        )

    _start_tensorflow()
    import keras
    import tensorflow as tf

    from transformer_notes import training

    with _as_bad_input():
        training_pairs, held_out = _split(lines, settings)
        if new:
            tokenizer = _train_tokenizer(training_pairs, settings)
        else:
            tokenizer = _read_tokenizer(folder)
        training_ids = _encode_pairs(tokenizer, training_pairs, settings["max_length"])
        held_out_ids = _encode_pairs(tokenizer, held_out, settings["max_length"])
        _require_pairs(training_ids, held_out_ids, settings)
        training_data, validation = (
            training.Batches(ids, settings["tokens"], settings["seed"])
            for ids in (training_ids, held_out_ids)
        )
        config = _model_config(tokenizer, settings)
        keras.utils.set_random_seed(settings["seed"])
        model = _build(config)

    if new:
        record = {
            "format": FORMAT,
            "settings": settings,
            "data": None if source is None else str(source.resolve()),
            "data_sha256": digest,
            "longest_source": max(len(source_ids) for source_ids, _ in training_ids),
            "model": dataclasses.asdict(config),
            "versions": _versions(),
        }
        _create(folder, record, tokenizer, held_out)
    else:
        _note_versions(record)
        if settings != record["settings"]:
            record["settings"] = settings
            _write_json(folder / "run.json", record)

    total = settings["epochs"] * len(training_data)
    done = _newest_step(folder)
    if done >= total:
        click.echo(
            f"이미 끝난 학습입니다 ({done:,}걸음). 더 학습하려면 --epochs를 "
            f"{settings['epochs']}보다 크게 주세요."
        )
        return
    click.echo(
        f"짝 {len(training_ids):,}개로 학습하고 {len(held_out_ids):,}개로 검증합니다. "
        f"파라미터 {model.count_params():,}개, 어휘 집합 {tokenizer.vocab_size:,}개."
    )
    if done:
        click.echo(f"{done:,}걸음에서 이어 갑니다.")
    optimizer = training.adam(config.d_model, settings["warmup_steps"])
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
    program = click.get_current_context().parent.command_path
    click.echo(f"끝났습니다. 써 보려면: {program} translate {shlex.quote(str(folder))}")


def _is_new(folder):
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


def _new_settings(given, data):
    if data is not None and "count" in given:
        raise BadInput("--count는 날짜를 만들 때만 씁니다. --data와 함께 주지 마세요.")
    settings = {name: default for name, (default, *_) in SETTINGS.items()} | given
    if settings["vocab_size"] is None:
        # 날짜는 글자마다 토큰 하나입니다. 숫자를 자리마다 따로 읽고 씁니다.
        settings["vocab_size"] = None if data is None else 8000
    return settings


def _resumed_settings(folder, record, given, data):
    """이어 갈 설정과 데이터. 다르게 준 것이 있으면 거절합니다."""
    for name, value in given.items():
        if name not in FREE and value != record["settings"][name]:
            raise BadInput(
                f"{folder}를 학습하던 설정은 --{name.replace('_', '-')} "
                f"{record['settings'][name]}입니다. 받은 것: {value}. 그 옵션을 빼거나 "
                "다른 RUN_FOLDER를 쓰세요."
            )
    if record["data"] is None:
        if data is not None:
            raise BadInput(
                f"{folder}는 날짜를 학습하던 폴더입니다. --data를 빼거나 다른 "
                "RUN_FOLDER를 쓰세요."
            )
    elif data is None:
        data = Path(record["data"])
        if not data.exists():
            raise BadInput(
                f"학습하던 파일이 없습니다: {data}. 옮긴 자리를 --data로 알려 주세요."
            )
    return record["settings"] | given, data


# ---------------------------------------------------------------- 데이터


def _read_pairs(path):
    """TSV의 짝과 내용의 해시. 빈 줄은 세어 알리고 건너뜁니다."""
    content = _read_bytes(path)
    pairs, empty = [], 0
    for number, line in enumerate(_lines(content, path), start=1):
        if not line.strip():
            empty += 1
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 2 or not all(fields):
            raise BadInput(
                f"{path}의 {number}번째 줄에는 '입력<탭>답'이 필요합니다. "
                f"받은 것: 탭 {len(fields) - 1}개, {_shortened(line)!r}."
            )
        pairs.append(tuple(unicodedata.normalize("NFC", field) for field in fields))
    if not pairs:
        raise BadInput(f"{path}에는 '입력<탭>답'인 줄이 하나도 없습니다.")
    if empty:
        _warn(f"{path}의 빈 줄 {empty:,}개를 건너뜁니다.")
    return pairs, hashlib.sha256(content).hexdigest()


def _read_bytes(path):
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"파일이 없습니다: {path}.") from None
    except IsADirectoryError:
        raise BadInput(f"파일이 필요합니다. 받은 것: 폴더 {path}.") from None
    except PermissionError:
        raise BadInput(f"파일을 읽을 권한이 없습니다: {path}.") from None


def _lines(content, name):
    raw_lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, raw in enumerate(raw_lines[: len(raw_lines) - (not raw_lines[-1])], 1):
        yield _decode_line(raw, number, name)


def _decode_line(raw, number, name):
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise BadInput(
            f"{name}의 {number}번째 줄은 UTF-8이 아닙니다. 파일을 UTF-8로 바꾸어 "
            "주세요 (예: iconv -f cp949 -t utf-8)."
        ) from None


def _shortened(text):
    return text if len(text) <= 40 else f"{text[:39]}…"


def _split(pairs, settings):
    """학습할 짝과 떼어 둘 짝. 같은 날이나 같은 입력은 한쪽에만 있습니다."""
    import numpy as np

    from transformer_notes import corpora

    rate, seed = settings["held_out"], settings["seed"]
    if pairs is None:
        days, held_out_days = corpora.split_days(rate, seed)
        count = settings["count"]
        held_out_count = max(1, round(count * rate))
        return (
            corpora.dates(count, seed, days),
            corpora.dates(held_out_count, seed + 1, held_out_days),
        )
    sources = sorted({source for source, _ in pairs})
    if len(sources) < 2:
        raise BadInput(
            "데이터에는 서로 다른 입력이 둘 이상 필요합니다. 하나는 채점하려고 떼어 "
            f"둡니다. 받은 것: {len(sources)}개."
        )
    order = np.random.default_rng(seed).permutation(len(sources))
    held_out = {sources[place] for place in order[: max(1, round(rate * len(order)))]}
    return (
        [pair for pair in pairs if pair[0] not in held_out],
        [pair for pair in pairs if pair[0] in held_out],
    )


def _train_tokenizer(pairs, settings):
    from transformer_notes.tokenization import SPECIAL_TOKENS, Tokenizer

    texts = [text for pair in pairs for text in pair]
    size = settings["vocab_size"]
    if size is None:
        size = len(SPECIAL_TOKENS) + len({" "}.union(*texts))
    return Tokenizer.train(texts, size)


def _encode_pairs(tokenizer, pairs, max_length):
    """토큰 번호의 짝. 너무 긴 것은 세어 알리고 뺍니다."""
    sources, targets = (
        tokenizer.encode(list(texts), bos=bos, eos=True)
        for texts, bos in zip(zip(*pairs), (False, True))
    )
    ids = [
        tuple(row[row != tokenizer.pad_id] for row in pair)
        for pair in zip(sources, targets)
    ]
    kept = [pair for pair in ids if max(map(len, pair)) <= max_length]
    if len(kept) < len(ids):
        _warn(
            f"{max_length}토큰보다 긴 짝 {len(ids) - len(kept):,}개를 뺍니다. "
            "넣으려면 --max-length를 늘리세요."
        )
    return kept


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


# ---------------------------------------------------------------- 학습 폴더


def _versions():
    names = "transformer-notes", "tensorflow", "keras", "numpy", "tokenizers"
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _note_versions(record):
    now, then = _versions(), record["versions"]
    changed = [
        f"{name} {then[name]} → {now[name]}"
        for name in then
        if name in now and now[name] != then[name]
    ]
    if changed:
        _warn(
            f"학습을 시작한 때와 버전이 다릅니다 ({', '.join(changed)}). 이어 갈 수 "
            "있지만 비트까지 같은 결과는 아닐 수 있습니다."
        )


def _create(folder, record, tokenizer, held_out):
    """옆에 다 만든 다음 이름을 바꿉니다. 반쯤 만든 학습 폴더는 생기지 않습니다."""
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.mkdir()
        tokenizer.save(partial / "tokenizer.json")
        lines = "".join(f"{source}\t{target}\n" for source, target in held_out)
        (partial / "held_out.tsv").write_text(lines, encoding="utf-8", newline="\n")
        _write_json(partial / "run.json", record)
        if folder.exists():
            folder.rmdir()  # 비어 있는 폴더입니다
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_json(path, value):
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    with _atomically(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def _atomically(path):
    """다른 이름으로 다 쓴 다음 이름을 바꿉니다."""
    partial = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _read_record(folder):
    """run.json을 읽습니다. 없거나, 형식이 다르거나, 망가진 폴더를 거절합니다."""
    if not folder.is_dir():
        raise BadInput(f"학습 폴더가 없습니다: {folder}. 먼저 train으로 학습하세요.")
    path = folder / "run.json"
    if not path.exists():
        raise BadInput(f"{folder}에는 run.json이 없습니다. train이 만든 폴더를 주세요.")
    try:
        record = json.loads(_read_bytes(path).decode("utf-8"))
        number = record["format"]
    except (ValueError, KeyError, TypeError):
        raise _damaged(path) from None
    if number != FORMAT:
        made_by = record.get("versions", {}).get("transformer-notes", "알 수 없음")
        raise BadInput(
            f"{folder}는 다른 판이 만든 폴더입니다. 형식: {number} (이 판은 {FORMAT}), "
            f"만든 transformer-notes: {made_by}. 그 판을 설치해서 쓰거나 다른 "
            "RUN_FOLDER에 다시 학습하세요."
        )
    needed = {"settings", "data", "data_sha256", "longest_source", "model", "versions"}
    if not needed <= set(record) or set(record["settings"]) != set(SETTINGS):
        raise _damaged(path)
    return record


def _damaged(path, reason=""):
    because = f" ({reason})" if reason else ""
    return Failed(
        f"{path}이(가) 망가졌습니다{because}. 사본에서 되살리거나 다른 RUN_FOLDER에 "
        "다시 학습하세요."
    )


def _read_tokenizer(folder):
    from transformer_notes.tokenization import Tokenizer

    path = folder / "tokenizer.json"
    try:
        return Tokenizer.load(path)
    except (OSError, ValueError):
        raise _damaged(path) from None


def _newest_step(folder):
    """다 쓴 체크포인트 가운데 가장 새것의 걸음. 없으면 0입니다."""
    names = (path.stem for path in (folder / "checkpoints").glob("step-*.index"))
    return max((int(name.removeprefix("step-")) for name in names), default=0)


def _model_config(tokenizer, settings):
    from transformer_notes.transformer import TransformerConfig

    names = "d_model", "num_heads", "num_layers", "d_ff", "dropout", "positions"
    return TransformerConfig(
        tokenizer.vocab_size,
        # 답은 입력보다 길 수 있습니다. 위치 표를 그만큼 더 둡니다.
        max_length=settings["max_length"] + MAX_EXTRA,
        **{name: settings[name] for name in names},
    )


def _build(config):
    from transformer_notes.transformer import Transformer

    model = Transformer(config)
    model.build()
    return model


def _open_run(folder, record, average):
    """학습 폴더의 토크나이저와, 가중치를 채운 모델."""
    _start_tensorflow()
    from transformer_notes.training import average_checkpoints
    from transformer_notes.transformer import TransformerConfig

    tokenizer = _read_tokenizer(folder)
    try:
        model = _build(TransformerConfig(**record["model"]))
    except (TypeError, ValueError) as error:
        raise _damaged(folder / "run.json", error) from error
    if not _newest_step(folder):
        raise Failed(
            f"{folder}에는 아직 체크포인트가 없습니다. train을 다시 실행해 이어 가세요."
        )
    try:
        model.set_weights(average_checkpoints(folder / "checkpoints", average))
    except ValueError as error:
        raise Failed(f"{folder}의 체크포인트를 쓰지 못합니다. {error}") from error
    if tokenizer.vocab_size != model.config.vocab_size:
        raise _damaged(folder / "tokenizer.json", "모델과 어휘 집합이 다릅니다")
    return tokenizer, model


# ---------------------------------------------------------------- translate


@main.command()
@click.argument("folder", metavar="RUN_FOLDER", type=FOLDER)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--attention", type=PICTURE, help="크로스 어텐션을 그릴 파일.")
@_beam_option
@_average_option
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
    record = _read_record(folder)
    tokenizer, model = _open_run(folder, record, average)

    numbered = list(enumerate(texts, start=1)) if texts else _standard_input()
    count = 0
    for group in _groups(numbered, 1 if sys.stdin.isatty() else BATCH):
        count += len(group)
        ids = [_source_ids(tokenizer, record, *line) for line in group]
        answers, unfinished = _answers(model, tokenizer, ids, beam)
        for answer in answers:
            click.echo(answer)
        _warn_unfinished(unfinished)
    if not count:
        raise BadInput("표준 입력이 비어 있습니다. 한 줄에 글 하나씩 주세요.")
    if attention is not None:
        _draw_attention(attention, model, tokenizer, texts[0], beam)


def _standard_input():
    stream = click.get_binary_stream("stdin")
    if sys.stdin.isatty():
        _say("글을 적고 Enter를 누르세요. 끝내려면 Ctrl-D.")
    for number, raw in enumerate(iter(stream.readline, b""), start=1):
        yield number, _decode_line(raw, number, "표준 입력").lstrip("\ufeff")


def _groups(items, size):
    group = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _source_ids(tokenizer, record, number, text):
    """글 하나의 토큰 번호. 빈 글이면 None입니다."""
    text = text.strip()
    if not text:
        return None
    try:
        ids = tokenizer.encode(text, eos=True)
    except ValueError:
        raise BadInput(f"{number}번째 글은 UTF-8이 아닙니다.") from None
    longest = record["settings"]["max_length"]
    if len(ids) > longest:
        raise BadInput(
            f"{number}번째 글이 너무 깁니다. 이 모델은 {longest}토큰까지 받습니다. "
            f"받은 것: {len(ids)}토큰. 나누어 주세요."
        )
    unknown = tokenizer.unknown_characters(text)
    if unknown:
        letters = " ".join(unknown)
        _warn(
            f"{number}번째 글에 학습에서 보지 못한 글자가 있습니다: "
            f"{_shortened(letters)}. <unk>로 읽으므로 답을 믿기 어렵습니다."
        )
    elif len(ids) > record["longest_source"]:
        _warn(
            f"{number}번째 글({len(ids)}토큰)이 학습한 어떤 입력"
            f"({record['longest_source']}토큰)보다 깁니다. 답을 믿기 어렵습니다."
        )
    return ids


def _answers(model, tokenizer, rows, beam):
    """입력마다의 답과, 길이의 한도에서 끊긴 답의 수. None의 답은 빈 글입니다."""
    import numpy as np

    real = [row for row in rows if row is not None]
    if not real:
        return [""] * len(rows), 0
    source_ids = np.full((len(real), max(map(len, real))), tokenizer.pad_id, np.int32)
    for line, row in zip(source_ids, real):
        line[: len(row)] = row
    target_ids = _decode_ids(model, tokenizer, source_ids, beam)
    unfinished = sum(tokenizer.eos_id not in row for row in target_ids)
    answers = iter(tokenizer.decode(target_ids))
    return ["" if row is None else next(answers) for row in rows], unfinished


def _warn_unfinished(count):
    if count:
        _warn(f"답 {count:,}개가 길이의 한도(입력 + {MAX_EXTRA}토큰)에서 끊겼습니다.")


def _decode_ids(model, tokenizer, source_ids, beam):
    from transformer_notes import decoding

    inputs = model, source_ids, tokenizer.bos_id, tokenizer.eos_id, MAX_EXTRA
    if beam is None:
        return decoding.greedy(*inputs).numpy()
    return decoding.beam_search(*inputs, beam_size=beam)[0].numpy()


def _draw_attention(path, model, tokenizer, text, beam):
    import matplotlib
    import numpy as np

    from transformer_notes import plotting

    source_ids = tokenizer.encode([text.strip()], eos=True)
    target_ids = _decode_ids(model, tokenizer, source_ids, beam)
    longest = max(source_ids.shape[1], target_ids.shape[1])
    if longest > LARGEST_PICTURE:
        raise BadInput(
            f"--attention에는 입력도 답도 {LARGEST_PICTURE}토큰 이하인 글이 "
            f"필요합니다. 받은 것: {longest}토큰."
        )
    start = np.full((1, 1), tokenizer.bos_id)
    inputs = np.concatenate([start, target_ids[:, :-1]], axis=1)
    weights = _cross_attention(model, source_ids, inputs)[-1][0].mean(axis=0)
    vocabulary = tokenizer.vocabulary
    source, target = (
        [vocabulary[token].replace(" ", "␣") for token in ids[0]]
        for ids in (source_ids, target_ids)
    )
    drawn = plotting.attention_heatmap(weights, target, source, "크로스 어텐션")
    with _atomically(path) as partial, matplotlib.rc_context(plotting.style()):
        drawn.savefig(partial)
    _say(f"그렸습니다: {path}")


def _cross_attention(model, source_ids, target_ids):
    """층마다의 크로스 어텐션, (batch, num_heads, length_t, length_s)의 목록."""
    from transformer_notes.masking import look_ahead_mask, padding_mask

    pad_id = model.config.pad_id
    memory, seen = model.encode(source_ids), padding_mask(source_ids, pad_id)
    x = model.positions(model.target_embedding(target_ids))
    mask = padding_mask(target_ids, pad_id) & look_ahead_mask(target_ids.shape[1])
    found = []
    for layer in model.decoder.layers:

        def attend_to_self(x, layer=layer):
            return layer.self_attention(x, x, x, mask)

        def attend_to_memory(x, layer=layer):
            output, weights = layer.cross_attention(
                x, memory, memory, seen, return_weights=True
            )
            found.append(weights.numpy())
            return output

        x = layer.self_attention_norm(x, attend_to_self)
        x = layer.cross_attention_norm(x, attend_to_memory)
        x = layer.feed_forward_norm(x, layer.feed_forward)
    return found


# ---------------------------------------------------------------- evaluate


@main.command()
@click.argument("folder", metavar="RUN_FOLDER", type=FOLDER)
@click.option("--data", type=FILE, help="채점할 TSV 파일. [기본값: 떼어 둔 짝]")
@_beam_option
@_average_option
def evaluate(folder, data, beam, average):
    """학습에서 떼어 둔 짝으로 채점합니다.

    완전 일치는 답이 한 글자도 다르지 않은 비율입니다. 손실과 정확도는
    정답의 토큰마다 재어 평균합니다. 패딩은 어디에도 세지 않습니다.

    예:
      transformer-notes evaluate runs/dates
      transformer-notes evaluate runs/dates --beam 4 --average 5
      transformer-notes evaluate runs/my --data test.tsv
    """
    record = _read_record(folder)
    path = folder / "held_out.tsv" if data is None else data
    if data is None and not path.exists():
        raise _damaged(path, "파일이 없습니다")
    pairs, _ = _read_pairs(path)
    tokenizer, model = _open_run(folder, record, average)
    ids = _encode_pairs(tokenizer, pairs, record["settings"]["max_length"])
    if not ids:
        raise BadInput(f"{path}의 짝이 모두 너무 깁니다. 더 짧은 짝을 주세요.")
    unknown = tokenizer.unknown_characters([source for source, _ in pairs])
    if unknown:
        _warn(
            "학습에서 보지 못한 글자가 있습니다: "
            f"{_shortened(' '.join(unknown))}. <unk>로 읽습니다."
        )

    loss, accuracy = _score_tokens(model, ids)
    right = cut = 0
    ids.sort(key=lambda pair: len(pair[0]))  # 비슷한 길이끼리 옮깁니다
    for group in _groups(ids, BATCH):
        sources = [source for source, _ in group]
        answers, unfinished = _answers(model, tokenizer, sources, beam)
        cut += unfinished
        # 모르는 글자가 든 정답은 <unk>를 맞혀도 맞힌 것이 아닙니다.
        right += sum(
            tokenizer.unk_id not in target and answer == tokenizer.decode(target)
            for answer, (_, target) in zip(answers, group)
        )
    _warn_unfinished(cut)
    click.echo(f"짝         {len(ids):,}개")
    click.echo(f"완전 일치  {100 * right / len(ids):.2f}% ({right:,}개)")
    click.echo(f"손실       {loss:.4f}")
    click.echo(f"정확도     {100 * accuracy:.2f}%")


def _score_tokens(model, ids):
    """진짜 토큰으로 평균한 크로스 엔트로피와 정확도."""
    import tensorflow as tf

    from transformer_notes import training

    longest = max(len(row) for pair in ids for row in pair)
    data = training.Batches(ids, tokens=BATCH * longest)
    accuracy, loss, tokens = training.MaskedAccuracy(), 0.0, 0
    ids_spec = tf.TensorSpec((None, None), tf.int32)
    call = tf.function(model, input_signature=[(ids_spec, ids_spec)])
    for inputs, labels in data.epoch():
        logits = call(inputs)
        accuracy.update_state(labels, logits)
        real = int((labels != data.pad_id).sum())
        loss += float(training.masked_cross_entropy(labels, logits)) * real
        tokens += real
    return loss / tokens, float(accuracy.result())


if __name__ == "__main__":
    main()
