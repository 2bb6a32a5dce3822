"""``make environment``: 안 되는 까닭을 한 줄로 말하고, 다시 실행하면 낫는다."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
#: 설치하는 척만 하고 무엇을 시켰는지 적는 파이썬.
PRETENDER = f"""#!/bin/sh
echo "$@" >> commands
case "$2" in
  venv) mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  pip) test ! -e no-network ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
TOO_OLD = "#!/bin/sh\nif test $1 = -V; then echo Python 3.10.1; else exit 1; fi\n"


@pytest.fixture
def clone():
    """저장소의 복사본. 누구나 읽을 수 있는 곳에 있습니다."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "conf").mkdir()
        for name in ("Makefile", "pyproject.toml", "conf/requirements.txt"):
            shutil.copy(ROOT / name, root / name)
        for name, script in (("pretender", PRETENDER), ("too-old", TOO_OLD)):
            (root / name).write_text(script)
            (root / name).chmod(0o755)
        root.chmod(0o755)
        yield root


def make(root, python="./pretender", **options):
    return subprocess.run(
        ["make", "environment", f"PYTHON={python}"],
        cwd=root,
        # `make test` 안에서도 맨 바깥의 make로 실행합니다.
        env={
            k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))
        },
        capture_output=True,
        text=True,
        **options,
    )


def commands(root):
    log = root / "commands"
    return [row for row in log.read_text().splitlines() if row.startswith("-m")]


def reason(result):
    assert result.returncode != 0
    line, makes_own = result.stderr.strip().splitlines()
    assert makes_own.startswith("make: ***")
    return line


def test_packages_are_pinned_hashed_and_installed_once(clone):
    assert make(clone).returncode == 0
    venv, locked, project = commands(clone)
    assert venv == "-m venv .venv"
    assert "--require-hashes -r conf/requirements.txt" in locked
    assert "--no-deps --no-build-isolation -e ." in project
    assert make(clone).returncode == 0 and len(commands(clone)) == 3
    newer = (clone / ".venv" / "complete").stat().st_mtime + 1
    os.utime(clone / "conf" / "requirements.txt", (newer, newer))
    assert make(clone).returncode == 0 and len(commands(clone)) == 6


def test_an_install_cut_in_the_middle_starts_over(clone):
    (clone / "no-network").touch()
    assert make(clone).returncode != 0
    half = clone / ".venv" / "half"
    half.touch()
    (clone / "no-network").unlink()
    assert make(clone).returncode == 0 and not half.exists()


def test_a_wrong_python_is_refused_in_one_line(clone):
    line = reason(make(clone, "./too-old"))
    assert "3.11~3.13" in line and "Python 3.10.1" in line
    assert not (clone / ".venv").exists()


def test_a_folder_one_may_not_write_to_is_told_in_one_line(clone):
    clone.chmod(0o555)
    nobody = {"user": 65534} if os.getuid() == 0 else {}
    assert str(clone) in reason(make(clone, "true", **nobody))
    clone.chmod(0o755)


def test_no_other_host_is_named_in_the_lock():
    lock = (ROOT / "conf" / "requirements.txt").read_text()
    assert "://" not in lock and "index-url" not in lock
    names = [row for row in lock.splitlines() if row and not row.startswith((" ", "#"))]
    assert all("==" in row for row in names)
    assert lock.count("--hash=sha256:") > len(names)


def test_the_workflow_runs_commands_that_exist_and_publishes_what_they_build():
    text = (ROOT / ".github" / "workflows" / "site.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    assert workflow[True]["push"]["branches"] == ["main"]  # YAML은 on을 참으로 읽습니다
    jobs = workflow["jobs"]
    assert jobs.keys() == {"test", "publish"} and jobs["publish"]["needs"] == "test"
    steps = [step for job in jobs.values() for step in job["steps"]]
    known = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"))
    for step in steps:
        assert ("run" in step) != ("uses" in step)
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1"))
        tool, *targets = step.get("run", "make html").split()
        assert tool == "make" and {*targets} <= {*known}
    assert steps[-1]["with"]["publish_dir"] == "build/html"
    assert "secrets" not in text
