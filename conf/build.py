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
sys.path.insert(0, str(ROOT / "conf" / "extensions"))

from discarding import discard  # noqa: E402

SITE, OLD, NEW = BUILD / "html", BUILD / "html.old", BUILD / "html.new"
#: 읽은 페이지와 그 그림. 지난 빌드가 남긴 그대로일 때만 다시 씁니다.
CACHES = [BUILD / "doctrees", BUILD / "jupyter_execute"]
GOOD = BUILD / "good"  # 지난 빌드가 끝까지 성공했을 때의 설정과 캐시의 지문

FULL = "디스크가 가득 찼습니다. 자리를 비운 뒤 다시 실행해 주세요."


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        recover()
        build()
        swap()
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
        discard(NEW)
    print(f"\n다 지었습니다. 브라우저에서 여세요: {(SITE / 'index.html').as_uri()}")


def recover():
    """바꾸다 멈춘 흔적을 되돌립니다. 언제 멈추었어도 옛 사이트는 온전합니다."""
    for folder in (SITE, OLD, NEW, BUILD / "executed"):
        if folder.is_file():
            print(f"폴더가 놓일 자리에 파일이 있어 버립니다: {folder}", flush=True)
            discard(folder)
    if OLD.exists() and not SITE.exists():
        os.replace(OLD, SITE)
    discard(OLD)
    discard(NEW)


def build():
    settings = fingerprint(ROOT / "conf")
    keep_only_good_caches(settings)
    NEW.mkdir(parents=True)
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
    folders = ["-c", ROOT / "conf", "-d", BUILD / "doctrees", ROOT / "docs", NEW]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    subprocess.run([*sphinx, *sys.argv[1:], *folders], check=True, env=environment)
    GOOD.write_bytes(settings + fingerprint(*CACHES))


def keep_only_good_caches(settings):
    """캐시가 성공한 빌드가 남긴 그대로가 아니면 버립니다.

    실패한 뒤에도 버리고 모두 다시 읽습니다. 그래야 경고가 다시 납니다.
    """
    good = GOOD.read_bytes() if GOOD.is_file() else b""
    if good != settings + fingerprint(*CACHES) and any(c.exists() for c in CACHES):
        print(
            "지난 빌드가 실패했거나 설정이 바뀌었거나 캐시가 다쳤습니다. "
            "캐시를 버리고 모든 페이지를 다시 읽습니다.",
            flush=True,
        )
        for cache in CACHES:
            discard(cache)
    discard(GOOD)


def fingerprint(*folders):
    digest = hashlib.sha256()
    for folder in folders:
        for path in [folder, *sorted(folder.rglob("*"))]:
            if path.is_file() and path.suffix not in {".pyc", ".mo"}:
                name = os.path.relpath(path, ROOT)
                digest.update(name.encode() + path.read_bytes())
    return digest.digest()


def swap():
    if SITE.exists():
        os.replace(SITE, OLD)
    os.replace(NEW, SITE)
    discard(OLD)


if __name__ == "__main__":
    main()
