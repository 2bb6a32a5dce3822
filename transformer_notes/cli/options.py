"""옵션: 이름, 기본값, 받아들일 값."""

import contextlib
from pathlib import Path
from typing import NamedTuple

import click

from transformer_notes import exercises
from transformer_notes.cli.korean import start_tensorflow
from transformer_notes.cli.recipes import RECIPES


class Value(click.ParamType):
    """타입과 받아들일 조건. 아니면 무엇이 필요한지 말합니다.

    click의 `FloatRange`는 NaN을 받아들이고 메시지가 영어여서 이것을 씁니다.
    """

    def __init__(self, name, kind, accepts, expected):
        self.name, self.kind = name, kind
        self.accepts, self.expected = accepts, expected

    def convert(self, value, param, ctx):
        """명령줄에 적힌 글을 읽습니다."""
        with contextlib.suppress(ValueError):
            read = self.kind(value)
            if self.accepts(read):
                return read
        self.fail(f"{self.expected} 필요합니다. 받은 것: {value!r}.", param, ctx)


def _checkpoint(text):
    """best는 그대로, 나머지는 평균할 새 체크포인트의 수로 읽습니다."""
    if text == "best":
        return text
    if text == "newest":
        return 1
    name, _, number = text.partition(":")
    return int(number) if name == "average" else 0


def _target(text):
    """`파일:이름`을 나눕니다. 파일의 경로에도 쌍점이 있을 수 있습니다."""
    file, _, name = text.rpartition(":")
    return Path(file), name


def _is_scheme(name):
    """표는 TensorFlow와 함께 올라오므로, 이름을 받았을 때에만 봅니다."""
    start_tensorflow()
    from transformer_notes.positional_encoding import SCHEMES

    return name in SCHEMES


def whole(most):
    """1에서 most까지의 정수. 넘는 것은 학습을 시작하기도 전에 메모리를 다 씁니다."""
    return Value("N", int, lambda n: 1 <= n <= most, f"1 이상 {most:,} 이하의 정수가")


def one_of(*choices, name="NAME"):
    """이름 가운데 하나."""
    expected = f"{', '.join(choices)} 가운데 하나가"
    return Value(name, str, choices.__contains__, expected)


BEAM = whole(64)
TOP_K = whole(10**6)
SEED = Value("N", int, lambda n: 0 <= n < 2**32, "0 이상 2^32 미만의 정수가")
HELD_OUT = Value("RATE", float, lambda r: 0 <= r <= 0.5, "0 이상 0.5 이하의 수가")
RATE = Value("RATE", float, lambda rate: 0 <= rate < 1, "0 이상 1 미만의 수가")
CHANCE = Value("P", float, lambda p: 0 <= p <= 1, "0과 1 사이의 수가")
PEAK = Value("RATE", float, lambda rate: 0 < rate < 1, "0보다 크고 1보다 작은 수가")
TOP_P = Value("P", float, lambda p: 0 < p <= 1, "0보다 크고 1 이하인 수가")
TEMPERATURE = Value("T", float, lambda t: 0 < t <= 100, "0보다 크고 100 이하인 수가")
RECIPE = one_of(*RECIPES)
CHECKPOINT = Value(
    "WHICH",
    _checkpoint,
    lambda which: which == "best" or which >= 1,
    "best, newest, average:N(N은 1 이상의 정수) 가운데 하나가",
)
NORM = one_of("post", "pre")
NORMALIZATION = one_of("nfc", "korean")
POSITIONS = Value("NAME", str, _is_scheme, "위치 인코딩의 표 SCHEMES에 있는 이름이")
SCHEDULE = one_of("cosine", "paper", "constant")
MODEL = Value("NAME", str, bool, "모델의 이름이나 파일이")
KIND = one_of(*exercises.kinds(), name="KIND")
TARGET = Value(
    "FILE:NAME",
    _target,
    lambda target: target[0].name and target[1].isidentifier(),
    "my_file.py:my_function처럼 적은 이름이",
)
NAME = Value("NAME", str, str.isidentifier, "FILE에 있는 이름이")
MASK_TRUE = one_of("attend", "hide", name="WHAT")
AMOUNT = Value("N", float, lambda n: 0 < n < 2**31, "0보다 크고 2^31보다 작은 수가")
FILE = Value(
    "FILE", Path, lambda path: path.name and "\0" not in str(path), "파일의 경로가"
)
DATA = Value("FILE", Path, Path.is_file, "있는 파일의 경로가")
PICTURE = Value(
    "PICTURE",
    Path,
    lambda path: (
        "\0" not in str(path) and path.suffix.lower() in (".png", ".svg", ".pdf")
    ),
    "이름이 .png, .svg, .pdf로 끝나는 파일이",
)


class Setting(NamedTuple):
    """학습의 설정 하나. 기본값은 레시피에 있습니다."""

    value: Value
    help: str


#: 학습의 설정. run.json에 모두 적힙니다.
SETTINGS = {
    "epochs": Setting(whole(10**6), "에폭 수. 이어 갈 때 늘려도 됩니다."),
    "count": Setting(whole(10**7), "만들 날짜의 수 (dates에서만)."),
    "held_out": Setting(HELD_OUT, "학습에서 떼어 둘 비율. 적어도 하나."),
    "normalization": Setting(NORMALIZATION, "nfc 또는 korean."),
    "vocab_size": Setting(whole(10**6), "어휘 집합의 크기. -는 글자마다 하나."),
    "max_length": Setting(whole(10**5), "입력과 답의 가장 긴 토큰 수."),
    "d_model": Setting(whole(2**12), "모델의 차원."),
    "num_heads": Setting(whole(2**8), "헤드의 수."),
    "num_layers": Setting(whole(100), "인코더와 디코더의 층 수."),
    "d_ff": Setting(whole(2**14), "피드포워드 안쪽의 차원."),
    "norm": Setting(NORM, "층 정규화의 자리: post(논문) 또는 pre."),
    "dropout": Setting(RATE, "드롭아웃."),
    "positions": Setting(POSITIONS, "위치 인코딩. SCHEMES에 있는 이름."),
    "label_smoothing": Setting(RATE, "레이블 스무딩."),
    "schedule": Setting(SCHEDULE, "cosine, paper, constant."),
    "learning_rate": Setting(PEAK, "가장 높은 학습률. paper는 식이 정합니다."),
    "warmup_steps": Setting(whole(10**9), "웜업의 스텝 수."),
    "tokens": Setting(whole(10**7), "배치 하나의 토큰 수."),
    "save_every": Setting(whole(10**9), "체크포인트를 쓸 간격. -는 에폭마다."),
    "seed": Setting(SEED, "난수의 시드."),
}


def flag(name):
    """설정의 이름을 명령줄에 적는 꼴로 바꿉니다."""
    return f"--{name.replace('_', '-')}"


def setting_options(command):
    """`SETTINGS`를 모두 옵션으로 답니다. 주지 않은 것은 None입니다."""
    for name, setting in reversed(SETTINGS.items()):
        text = setting.help
        if name not in _differing():
            text += f" [기본값: {RECIPES['dates'].settings[name]}]"
        command = click.option(flag(name), type=setting.value, help=text)(command)
    return command


def recipes_table():
    """레시피마다 다른 설정의 표. 도움말의 끝에 적습니다."""
    rows = [["", *RECIPES]]
    for name in _differing():
        values = (recipe.settings[name] for recipe in RECIPES.values())
        rows.append([flag(name), *("-" if v is None else str(v) for v in values)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = (
        " ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
        for row in rows
    )
    return "레시피마다 다른 기본값:\n" + "\n".join(lines)


def _differing():
    first, *others = (recipe.settings for recipe in RECIPES.values())
    return [n for n in SETTINGS if any(first[n] != other[n] for other in others)]


run_folder_argument = click.argument("folder", metavar="RUN_FOLDER", type=Path)
beam_option = click.option(
    "--beam",
    "beam_size",
    type=BEAM,
    help="빔 탐색의 크기. [기본값: 쓰지 않음(그리디)]",
)
checkpoint_option = click.option(
    "--checkpoint",
    type=CHECKPOINT,
    default="newest",
    help="쓸 가중치: best, newest, average:N. [기본값: newest]",
)
