# -*- coding: utf-8 -*-
"""``.venv``를 만듭니다. 오래된 파이썬도 읽고 거절할 수 있게 옛 문법만 씁니다."""

import errno
import hashlib
import os
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 13)
NEEDED_GB = 4
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
REQUIREMENTS = os.path.join(ROOT, "conf", "requirements.txt")
STAMP = os.path.join(VENV, "complete")


def stop(message):
    sys.stderr.write(message + "\n")
    sys.exit(1)


def main():
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        stop(
            "Python 3.11~3.13이 필요한데 %d.%d입니다(%s). "
            "'make html PYTHON=python3.12'처럼 알려 주세요."
            % (sys.version_info[0], sys.version_info[1], sys.executable)
        )
    wanted = fingerprint()
    if os.path.exists(STAMP):
        with open(STAMP) as file:
            if file.read() == wanted:
                return
    try:
        import ensurepip  # noqa: F401
        import venv
    except ImportError:
        stop(
            "파이썬에 venv 모듈이 없습니다. 데비안이나 우분투라면 "
            "'sudo apt install python3-venv'로 설치한 뒤 다시 실행해 주세요."
        )
    try:
        install(venv, wanted)
    except KeyboardInterrupt:
        stop("\n설치를 멈추었습니다. 같은 명령을 다시 실행하면 처음부터 설치합니다.")
    except subprocess.CalledProcessError:
        if free_gb() < 0.2:
            stop(full())
        stop("설치하지 못했습니다. 위의 메시지를 살펴보고 다시 실행해 주세요.")
    except OSError as error:
        if error.errno == errno.ENOSPC:
            stop(full())
        raise


def fingerprint():
    digest = hashlib.sha256(sys.version.encode())
    for name in (REQUIREMENTS, os.path.join(ROOT, "pyproject.toml")):
        with open(name, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def install(venv, wanted):
    shutil.rmtree(
        VENV, ignore_errors=True
    )  # 중간에 끊긴 설치는 고치지 않고 다시 합니다
    if free_gb() < NEEDED_GB:
        stop(full())
    print(
        "가상 환경 .venv를 만들고 패키지를 설치합니다. 처음 한 번만 몇 분이 걸립니다."
    )
    sys.stdout.flush()
    venv.create(VENV, with_pip=True)
    python = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin", "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call(pip + ["--require-hashes", "-r", REQUIREMENTS])
    subprocess.check_call(pip + ["--no-deps", "--no-build-isolation", "-e", ROOT])
    with open(STAMP, "w") as file:
        file.write(wanted)


def free_gb():
    return shutil.disk_usage(ROOT).free / 1e9


def full():
    return (
        "디스크에 빈자리가 %d GB 필요한데 %.1f GB뿐입니다. 비운 뒤 다시 실행해 주세요."
        % (
            NEEDED_GB,
            free_gb(),
        )
    )


if __name__ == "__main__":
    main()
