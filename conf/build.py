"""사이트를 짓습니다: 지난 사이트의 사본을 고쳐, 다 지은 뒤에 ``build/html``과 바꿉니다.

``build/doctrees``가 있으면 ``build/html``은 그것으로 끝까지 지은 사이트입니다. 실패한
빌드는 아무것도 남기지 않으므로, 다시 지으면 같은 경고가 다시 납니다. 다 지은 사이트에는
패키지의 휠과, 그때까지 묶은 책을 함께 둡니다(``offered``).
"""

import os
import shutil
import signal
import subprocess
import sys

from offered import BUILD, PACKAGE, ROOT, SITE, digest, offer, pack

OLD, NEW = BUILD / "html.old", BUILD / "html.new"
TREES, NEW_TREES = BUILD / "doctrees", BUILD / "doctrees.new"


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if OLD.exists() and not SITE.exists():  # 바꾸다가 멈추었습니다
        OLD.rename(SITE)
    kept = TREES / "inputs"
    before = kept.read_text().splitlines() if kept.exists() else [""]
    address = os.environ.get("TRANSFORMER_NOTES_REPOSITORY", "")
    now = [digest("conf") + address, digest("docs", *PACKAGE)]
    whole = all((BUILD / name).exists() for name in ("html", "executed"))
    if before != now or not whole:
        try:
            build(now, again=before[0] == now[0] and whole)
        except KeyboardInterrupt:
            sys.exit("\n멈추었습니다. 앞서 지은 사이트는 그대로입니다.")
        except subprocess.CalledProcessError as error:
            sys.exit(
                f"사이트를 짓지 못했습니다(종료 코드 {error.returncode}). 위의 "
                "메시지가 고칠 곳을 가리킵니다. 앞서 지은 사이트는 그대로입니다."
            )
        except PermissionError as error:
            sys.exit(f"이 자리에 쓸 수 없습니다: {error.filename}")
        finally:
            discard(NEW, NEW_TREES)
    offer()
    print(f"\n다 지었습니다. 브라우저에서 여세요: {(SITE / 'index.html').as_uri()}")


def build(inputs, again):
    discard(OLD, NEW, NEW_TREES)
    if again:
        shutil.copytree(SITE, NEW)
        shutil.copytree(TREES, NEW_TREES)
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", ROOT / "conf"]
    folders = ["-d", NEW_TREES, ROOT / "docs", NEW]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    subprocess.run([*sphinx, *folders], check=True, env=environment)
    pack()
    (NEW_TREES / "inputs").write_text("\n".join(inputs))
    discard(TREES)
    if SITE.exists():
        SITE.rename(OLD)
    NEW.rename(SITE)
    NEW_TREES.rename(TREES)
    discard(OLD)


def discard(*folders):
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
