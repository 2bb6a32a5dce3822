"""옵션: 이름, 기본값, 받아들일 값. 학습 폴더의 run.json도 이 표로 검사합니다."""

import contextlib
from pathlib import Path
from typing import NamedTuple

import click


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

    def holds(self, value):
        """이미 읽은 값이 이 타입이고 조건에 맞는지. 1과 1.0과 True는 서로 다릅니다."""
        return type(value) is self.kind and self.accepts(value)


WHOLE = Value("N", int, lambda n: 1 <= n < 2**31, "1 이상 2^31 미만의 정수가")
SEED = Value("N", int, lambda n: 0 <= n < 2**32, "0 이상 2^32 미만의 정수가")
RATE = Value("RATE", float, lambda rate: 0 <= rate < 1, "0 이상 1 미만의 수가")
CHANCE = Value("P", float, lambda p: 0 <= p <= 1, "0과 1 사이의 수가")
PEAK = Value("RATE", float, lambda rate: 0 < rate < 1, "0보다 크고 1보다 작은 수가")
TEMPERATURE = Value("T", float, lambda t: 0 < t <= 100, "0보다 크고 100 이하인 수가")
POSITIONS = Value(
    "NAME", str, ("sinusoidal", "learned").__contains__, "sinusoidal이나 learned가"
)
SCHEDULE = Value(
    "NAME",
    str,
    ("cosine", "paper", "constant").__contains__,
    "cosine, paper, constant 가운데 하나가",
)
MODEL = Value("NAME", str, bool, "모델의 이름이나 파일이")
FILE = Value("FILE", Path, lambda path: path.name, "파일의 경로가")
PICTURE = Value(
    "PICTURE",
    Path,
    lambda path: path.suffix.lower() in (".png", ".svg", ".pdf"),
    "이름이 .png, .svg, .pdf로 끝나는 파일이",
)


class Setting(NamedTuple):
    """학습의 설정 하나. 기본값 가운데 None이 있으면 값도 None일 수 있습니다."""

    default: object
    value: Value
    help: str
    #: --data의 파일을 배울 때의 기본값. 적지 않으면 `default`와 같습니다.
    for_file: object = ...

    @property
    def file_default(self):
        return self.default if self.for_file is ... else self.for_file

    @property
    def shown_default(self):
        """도움말에 적을 기본값. 기본값에 None이 있으면 `help`가 그 뜻을 말합니다."""
        dates, file = self.default, self.file_default
        if dates is None or file is None:
            return ""
        return (
            f" [기본값: {dates}]" if dates == file else f" [날짜 {dates}, 파일 {file}]"
        )


#: 학습의 설정. run.json에 모두 적힙니다. 날짜의 기본값은 「날짜 읽기」의 설정입니다.
SETTINGS = {
    "epochs": Setting(1, WHOLE, "에폭 수. 이어 갈 때 늘려도 됩니다.", 6),
    "count": Setting(80_000, WHOLE, "만들 날짜의 수 (--data가 없을 때)."),
    "held_out": Setting(0.1, RATE, "학습에서 떼어 둘 비율. 적어도 하나."),
    "vocab_size": Setting(
        None, WHOLE, "어휘 집합의 크기. [날짜 글자마다 하나, 파일 8000]", 8000
    ),
    "max_length": Setting(256, WHOLE, "입력과 답의 가장 긴 토큰 수."),
    "d_model": Setting(64, WHOLE, "모델의 차원."),
    "num_heads": Setting(4, WHOLE, "헤드의 수."),
    "num_layers": Setting(2, WHOLE, "인코더와 디코더의 층 수."),
    "d_ff": Setting(256, WHOLE, "피드포워드 안쪽의 차원."),
    "dropout": Setting(0.0, RATE, "드롭아웃.", 0.1),
    "positions": Setting("sinusoidal", POSITIONS, "sinusoidal 또는 learned."),
    "label_smoothing": Setting(0.0, RATE, "레이블 스무딩.", 0.1),
    "schedule": Setting(
        "cosine",
        SCHEDULE,
        "cosine, paper, constant.",
        "paper",
    ),
    "learning_rate": Setting(
        None, PEAK, "가장 높은 학습률. [기본값: 0.003, paper는 식이 정함]"
    ),
    "warmup_steps": Setting(200, WHOLE, "웜업의 스텝 수.", 300),
    "tokens": Setting(700, WHOLE, "배치 하나의 토큰 수.", 1024),
    "save_every": Setting(
        200, WHOLE, "체크포인트를 쓸 간격. [날짜 200스텝, 파일 에폭마다]", None
    ),
    "seed": Setting(0, SEED, "난수의 시드."),
}
LEARNING_RATE = 0.003  # 「날짜 읽기」의 꼭대기


def flag(name):
    """설정의 이름을 명령줄에 적는 꼴로 바꿉니다."""
    return f"--{name.replace('_', '-')}"


def setting_options(command):
    """`SETTINGS`를 모두 옵션으로 답니다. 주지 않은 것은 None입니다."""
    for name, setting in reversed(SETTINGS.items()):
        text = setting.help + setting.shown_default
        command = click.option(flag(name), type=setting.value, help=text)(command)
    return command


run_folder_argument = click.argument("folder", metavar="RUN_FOLDER", type=Path)
beam_option = click.option(
    "--beam", type=WHOLE, help="빔 탐색의 크기. [기본값: 쓰지 않음(그리디)]"
)
average_option = click.option(
    "--average",
    type=WHOLE,
    default=1,
    help="평균할 새 체크포인트의 수. [기본값: 1]",
)
best_option = click.option(
    "--best", is_flag=True, help="검증 손실이 가장 낮았던 가중치를 씁니다."
)
