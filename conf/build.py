"""사이트를 짓습니다: 임시 폴더에 모두 지은 뒤에만 ``build/html``을 바꿉니다."""

import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("TRANSFORMER_NOTES_BUILD", ROOT / "build"))
SITE, OLD, NEW = BUILD / "html", BUILD / "html.old", BUILD / "html.new"
DOCTREES = BUILD / "doctrees"
GOOD = DOCTREES / "good"  # 지난 빌드가 끝까지 성공했을 때의 설정 지문

FULL = "디스크가 가득 찼습니다. 자리를 비운 뒤 다시 실행해 주세요."


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        recover()
        settings = build()
        swap()
        # 바꾼 뒤에 적습니다. 그 앞에서 죽으면 옛 사이트의 쪽을 다시 쓰지 않습니다.
        GOOD.write_text(settings)
    except KeyboardInterrupt:
        sys.exit(
            "\n멈추었습니다. 앞서 지은 사이트는 그대로이고, 다시 실행하면 이어집니다."
        )
    except subprocess.CalledProcessError as error:
        if shutil.disk_usage(BUILD).free < 50e6:
            sys.exit(FULL)
        sys.exit(
            f"사이트를 짓지 못했습니다(종료 코드 {error.returncode}). 위의 메시지가 "
            "고칠 곳을 가리킵니다. 앞서 지은 사이트는 그대로입니다."
        )
    except OSError as error:
        if error.errno == errno.ENOSPC:
            sys.exit(FULL)
        raise
    finally:
        shutil.rmtree(NEW, ignore_errors=True)
    print(f"\n다 지었습니다. 브라우저에서 여세요: {(SITE / 'index.html').as_uri()}")


def recover():
    """바꾸다 멈춘 흔적을 되돌립니다. 언제 멈추었어도 옛 사이트는 온전합니다."""
    if OLD.exists() and not SITE.exists():
        os.replace(OLD, SITE)
    shutil.rmtree(OLD, ignore_errors=True)
    shutil.rmtree(NEW, ignore_errors=True)


def build():
    # 실패했거나 설정이 바뀐 뒤에는 모두 다시 읽습니다. 그래야 경고가 다시 납니다.
    settings = fingerprint()
    if not GOOD.exists() or GOOD.read_text() != settings:
        shutil.rmtree(DOCTREES, ignore_errors=True)
    if GOOD.exists() and SITE.exists():
        # 바뀌지 않은 쪽은 그대로 씁니다 (kept_pages). 나머지는 언제나 새로 베낍니다.
        shutil.copytree(SITE, NEW, ignore=shutil.ignore_patterns("_static"))
    NEW.mkdir(parents=True, exist_ok=True)
    GOOD.unlink(missing_ok=True)
    sphinx = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-n",
        "-W",
        "--keep-going",
        "-q",
    ]
    folders = ["-c", ROOT / "conf", "-d", DOCTREES, ROOT / "docs", NEW]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    subprocess.run([*sphinx, *sys.argv[1:], *folders], check=True, env=environment)
    return settings


def fingerprint():
    digest = hashlib.sha256()
    for path in sorted((ROOT / "conf").rglob("*")):
        if path.is_file() and path.suffix not in {".pyc", ".mo"}:
            digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


def swap():
    if SITE.exists():
        os.replace(SITE, OLD)
    os.replace(NEW, SITE)
    shutil.rmtree(OLD, ignore_errors=True)


if __name__ == "__main__":
    main()
