"""``make html``이 만드는 환경: 안 되는 까닭을 한 줄로 말하고, 다시 실행하면 낫는다."""

import ast
import errno
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def environment(tmp_path, monkeypatch):
    path = ROOT / "conf" / "environment.py"
    spec = importlib.util.spec_from_file_location("environment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "requirements.txt").write_text("a==1\n")
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(module, "STAMP", str(tmp_path / ".venv" / "complete"))
    requirements = str(tmp_path / "conf" / "requirements.txt")
    monkeypatch.setattr(module, "REQUIREMENTS", requirements)
    monkeypatch.setattr("venv.create", lambda path, with_pip: Path(path).mkdir())
    module.commands = []
    monkeypatch.setattr(module.subprocess, "check_call", module.commands.append)
    return module


def one_line(capsys):
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


@pytest.mark.parametrize("version", [(2, 7), (3, 6), (3, 10), (3, 14)])
def test_a_wrong_python_is_refused_in_one_line(
    environment, monkeypatch, capsys, version
):
    monkeypatch.setattr(environment.sys, "version_info", (*version, 0))
    with pytest.raises(SystemExit):
        environment.main()
    line = one_line(capsys)
    assert "Python 3.11~3.13" in line and "{}.{}".format(*version) in line
    assert environment.commands == []


NEW_NODES = (
    ast.AnnAssign,
    ast.AsyncFunctionDef,
    ast.JoinedStr,
    ast.MatMult,
    ast.NamedExpr,
    ast.Nonlocal,
    ast.Starred,
    ast.YieldFrom,
)
NEW_FIELDS = ("annotation", "returns", "posonlyargs", "kwonlyargs", "cause")


def needs_new_python(source):
    """파이썬 2.7이 읽다가 멈추는 문법이 있는가."""
    try:
        tree = ast.parse(source, feature_version=(3, 7))
    except SyntaxError:
        return True
    return any(
        isinstance(node, NEW_NODES) or any(getattr(node, f, None) for f in NEW_FIELDS)
        for node in ast.walk(tree)
    )


def test_the_script_can_be_read_by_old_pythons():
    source = (ROOT / "conf" / "environment.py").read_text(encoding="utf-8")
    assert source.startswith("# -*- coding: utf-8 -*-")
    assert not needs_new_python(source)


@pytest.mark.parametrize(
    "planted",
    [
        "f'{sys}'",
        "print((a := 1))",
        "def f(*, a): pass",
        "def f(a, /): pass",
        "def f():\n    a = 1\n    def g():\n        nonlocal a",
        "raise ValueError from error",
        "def f(a: int): pass",
        "def f() -> int: pass",
        "a: int = 1",
        "a, *b = c",
        "def f():\n    yield from a",
        "async def f(): pass",
        "match a:\n    case 1: pass",
        "with (a as b, c as d): pass",
    ],
)
def test_syntax_that_old_pythons_cannot_read_is_found(planted):
    source = (ROOT / "conf" / "environment.py").read_text(encoding="utf-8")
    assert needs_new_python(f"{source}\n{planted}\n")


def test_a_python_without_venv_is_told_what_to_install(
    environment, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit):
        environment.main()
    assert "apt install python3-venv" in one_line(capsys)


def test_packages_are_pinned_hashed_and_installed_once(environment):
    environment.main()
    requirements, project = environment.commands
    assert "--require-hashes" in requirements and "--no-deps" in project
    environment.main()
    assert len(environment.commands) == 2
    Path(environment.REQUIREMENTS).write_text("a==2\n")
    environment.main()
    assert len(environment.commands) == 4


def test_an_interrupted_install_starts_over(environment, monkeypatch, capsys):
    def interrupt(command):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(environment.subprocess, "check_call", interrupt)
        with pytest.raises(SystemExit):
            environment.main()
    assert "다시 실행" in one_line(capsys)
    (Path(environment.VENV) / "half").write_text("")
    environment.main()
    assert len(environment.commands) == 2
    assert not (Path(environment.VENV) / "half").exists()


def test_too_little_disk_is_told_before_anything_is_installed(
    environment, monkeypatch, capsys
):
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: Usage(free=1e9))
    with pytest.raises(SystemExit):
        environment.main()
    assert "4 GB" in one_line(capsys) and environment.commands == []


class Usage:
    def __init__(self, free):
        self.free = free


@pytest.mark.parametrize(
    "error", [subprocess.CalledProcessError(1, "pip"), OSError(errno.ENOSPC, "full")]
)
def test_a_disk_that_fills_during_the_install_is_told(
    environment, monkeypatch, capsys, error
):
    free = iter([9e9, 0.1e9, 0.1e9, 0.1e9])
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda _: Usage(next(free)))

    def fail(command):
        raise error

    monkeypatch.setattr(environment.subprocess, "check_call", fail)
    with pytest.raises(SystemExit):
        environment.main()
    assert "디스크에 빈자리가" in one_line(capsys)


def test_no_other_host_is_named_in_the_lock():
    lock = (ROOT / "conf" / "requirements.txt").read_text()
    assert "://" not in lock and "index-url" not in lock
    names = [row for row in lock.splitlines() if row and not row.startswith((" ", "#"))]
    assert all("==" in row for row in names)
    assert lock.count("--hash=sha256:") > len(names)
