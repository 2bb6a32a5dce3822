"""터미널에 한국어로 말하기: click의 도움말과 오류, 경고, 그리고 조용한 TensorFlow."""

import contextlib
import errno
import os
import re
import shlex
import sys
import warnings

import click

#: 커서를 옮기거나 글의 방향을 바꾸는 글자. 파일과 입력에서 온 것일 수 있습니다.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


class BadInput(click.ClickException):
    """받은 것이 잘못되었습니다. 끝내기 코드는 2입니다."""

    exit_code = 2


class Failed(click.ClickException):
    """받은 것은 맞지만 하지 못했습니다. 끝내기 코드는 1입니다."""


def require(good, message):
    """받은 것이 good이 아니면 message로 거절합니다."""
    if not good:
        raise BadInput(message)


@contextlib.contextmanager
def as_bad_input():
    """받은 것을 패키지가 거절하면 그 말을 그대로 전합니다."""
    try:
        yield
    except ValueError as error:
        raise BadInput(str(error)) from error


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
    """명령 하나. `@click.command(cls=Command)`로 만듭니다."""

    context_class = Context

    def __init__(self, *args, options_metavar="[옵션]", **extra):
        super().__init__(*args, options_metavar=options_metavar, **extra)

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

    def main(self, args=None, prog_name=None, standalone_mode=True, **extra):
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **extra)
        with _korean_output():
            try:
                if sys.stdout is None:
                    raise Failed("표준 출력이 닫혀 있어 아무것도 적지 못합니다.")
                code = super().main(args, prog_name, standalone_mode=False, **extra)
                sys.stdout.flush()
            except click.exceptions.NoArgsIsHelpError as error:
                error.show()
                code = error.exit_code
            except click.ClickException as error:
                code = error.exit_code
                say(f"오류: {_explain(error)}")
            except click.Abort:
                code = 130
                say("멈추었습니다.")
            except OSError as error:
                code = 1
                say(f"오류: {_explain_os_error(error)}")
                _drop_unwritten()
            except MemoryError:
                code = 1
                say("오류: 메모리가 모자랍니다.")
        sys.exit(code or 0)


def _explain(error):
    """click의 예외를 한국어로 말합니다."""
    if not isinstance(error, click.UsageError):
        return " ".join(error.message.split())
    if isinstance(error, click.MissingParameter):
        message = f"{_name(error.param)}이(가) 빠졌습니다."
    elif isinstance(error, click.BadParameter):
        message = f"{_name(error.param)}에는 {error.message}"
    elif isinstance(error, click.NoSuchOption):
        message = f"없는 옵션입니다: {error.option_name}."
    elif isinstance(error, click.exceptions.NoSuchCommand):
        message = f"없는 명령입니다: {error.command_name}."
    elif isinstance(error, click.BadOptionUsage):
        option = next(
            param
            for param in error.ctx.command.get_params(error.ctx)
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


def _name(param):
    """옵션이나 인자를 도움말에 적힌 대로 부르는 이름."""
    if isinstance(param, click.Option):
        return param.opts[-1]
    return param.human_readable_name.strip("[]")


def os_error_reason(error):
    """파일을 다루다 난 예외의 까닭을 한국어로 말합니다. 마침표는 없습니다."""
    own_words = {
        errno.ENOSPC: "디스크가 가득 찼습니다",
        errno.EACCES: "권한이 없습니다",
        errno.EPERM: "권한이 없습니다",
        errno.EROFS: "읽기만 하는 자리입니다",
        errno.ENOENT: "없는 자리입니다",
        errno.EEXIST: "같은 이름의 파일이 있습니다",
        errno.EISDIR: "파일이 아니라 폴더입니다",
        errno.ENOTDIR: "길 가운데에 폴더가 아닌 것이 있습니다",
        errno.ENAMETOOLONG: "이름이 너무 깁니다",
        errno.ENOTEMPTY: "비어 있지 않은 폴더입니다",
        errno.ELOOP: "심볼릭 링크가 끝없이 이어집니다",
    }
    message = error.strerror or str(error)
    if error.errno is not None and message == os.strerror(error.errno):
        return own_words.get(error.errno, f"운영 체제가 거절했습니다: {message}")
    return message


def _explain_os_error(error):
    # 이름을 바꾸다 난 예외에서는 나중 이름이 쓰려던 파일입니다.
    path = error.filename2 or error.filename
    where = f" ({path})" if path else ""
    return f"{os_error_reason(error)}{where}."


def _drop_unwritten():
    """쓰지 못한 것이 남아 있으면 파이썬이 끝나며 다시 쓰려 합니다. 버립니다."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def put(*fields, **style):
    """표준 출력에 한 줄을 적습니다. 칸이 여럿이면 탭으로 나눕니다.

    `style`은 `click.style`의 것입니다(`fg`, `bold`).
    """
    line = "\t".join(map(_visible, fields))
    click.echo(click.style(line, **style) if style else line)


def say(message):
    """표준 오류에 적습니다. 표준 출력에는 답만 적습니다."""
    for line in message.split("\n"):
        click.echo(_visible(line), err=True)


def _visible(text):
    """터미널을 움직이는 글자를 파이썬의 글처럼 풀어 적습니다."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], str(text))


def warn(message):
    say(f"경고: {message}")


@contextlib.contextmanager
def _korean_output():
    """한글을 적지 못하는 터미널에서도 죽지 않게 하고, 경고는 우리 것만 보입니다."""
    if sys.stdin is None:  # 닫아 두고 부르면 파이썬은 None을 둡니다
        sys.stdin = open(os.devnull, encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    seen = set()

    def show(message, *_):
        if str(message) not in seen:
            seen.add(str(message))
            warn(" ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", "체크포인트|기록", RuntimeWarning)
        warnings.showwarning = show
        yield


def start_tensorflow():
    """TensorFlow를 올립니다. 그때 파일 기술자 2에 바로 쓰는 로그는 버립니다."""
    if "tensorflow" in sys.modules:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if sys.stderr.isatty():
        say("TensorFlow를 올리고 있습니다. 몇 초 걸립니다.")
    nowhere, stderr = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(nowhere, 2)
    try:
        import tensorflow as tf

        tf.config.list_logical_devices()  # 장치를 찾으며 적는 로그까지 버립니다
    finally:
        os.dup2(stderr, 2)
        os.close(nowhere)
        os.close(stderr)
