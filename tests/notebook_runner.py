"""노트북을 빈 폴더에서 하나씩 실행합니다: ``python notebook_runner.py 노트북...``.

쪽을 지을 때처럼 TensorFlow를 한 번만 가져온 프로세스에서 노트북마다 갈라져 나옵니다.
노트북마다 {"path", "error"}를 한 줄로 적습니다(JSON).
"""

import json
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conf" / "extensions"))

import nbformat
import page_runner
from package import modules

LONGEST = 600  # 초. 노트북 하나가 이보다 오래 걸리면 모두 멈춥니다


def run(path):
    """실패한 까닭. 끝까지 실행했으면 None입니다."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["source_map"] = [0] * len(notebook.cells)
    os.chdir(tempfile.mkdtemp())
    try:
        page_runner.run_cells(notebook)
        nbformat.validate(notebook)
    except (page_runner.CellFailed, nbformat.ValidationError) as error:
        return str(error)


def main():
    paths = sys.argv[1:]
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    page_runner.warm_up(modules())
    with (
        tempfile.TemporaryDirectory() as tempfile.tempdir,
        multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool,
    ):
        errors = pool.imap(run, paths)
        for path in paths:
            error = errors.next(LONGEST)
            print(json.dumps({"path": path, "error": error}), file=report, flush=True)


if __name__ == "__main__":
    main()
