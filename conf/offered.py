"""첫 쪽에서 받아 갈 것: 패키지의 휠, 묶었으면 EPUB과 PDF와 소스."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
SITE = BUILD / "html"
#: 휠을 만드는 것.
PACKAGE = "transformer_notes", "pyproject.toml", "LICENSE"
#: 첫 쪽에서 받아 갈 것: 있는 것만 잇습니다.
OFFERED = {
    "wheel/*/*.whl": "파이썬 패키지",
    "transformer-notes.epub": "EPUB",
    "transformer-notes.pdf": "PDF",
    "transformer_notes-*.tar.gz": "소스",
}


def pack():
    """패키지의 휠. 패키지가 달라졌을 때만 다시 만들고, 같으면 같은 바이트입니다."""
    kept = BUILD / "wheel" / digest(*PACKAGE)
    if any(kept.glob("*.whl")):
        return
    shutil.rmtree(kept.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in PACKAGE:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, Path(folder, name))
        pip = [sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check"]
        alone = ["-q", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
        environment = {"SOURCE_DATE_EPOCH": "315532800"} | os.environ
        subprocess.run([*pip, *alone, "-w", kept, folder], check=True, env=environment)


def offer():
    """받아 갈 것을 사이트에 두고 첫 쪽에서 잇습니다. 책을 묶은 뒤에도 부릅니다.

    사이트보다 먼저 만든 책과 소스는 글이 다를 수 있으므로 잇지 않습니다.
    """
    for old in SITE.glob("transformer[-_]notes*.*"):
        old.unlink()
    links = []
    built = BUILD / "doctrees" / "inputs"  # 글이 달라져 다시 지을 때마다 적습니다
    for pattern, label in OFFERED.items():
        for path in BUILD.glob(pattern):
            if path.suffix != ".whl" and path.stat().st_mtime < built.stat().st_mtime:
                continue  # 앞의 글로 만든 것입니다
            shutil.copy2(path, SITE)
            size = f"{path.stat().st_size / 1e6:.0f} MB"
            links.append(f'<a href="{path.name}" download>{label}</a>({size})')
    index, place = SITE / "index.html", r'(<p [^>]*id="offered">).*?</p>'
    text = re.sub(
        place, rf"\1받아 가기: {' · '.join(links)}</p>", index.read_text("utf-8")
    )
    index.write_text(text, "utf-8")


def digest(*names):
    """파일들의 이름과 내용의 지문입니다."""
    found = hashlib.sha256()
    for path in sorted(
        p for name in names for p in [ROOT / name, *(ROOT / name).rglob("*")]
    ):
        if path.is_file() and path.suffix not in {".pyc", ".mo"}:
            found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return found.hexdigest()
