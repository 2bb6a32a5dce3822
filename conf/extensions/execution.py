"""읽을 페이지의 셀을 미리, 함께 실행합니다. 출력을 싣는 일은 myst-nb가 합니다.

myst-nb는 jupyter-cache에서 셀이 같은 노트북의 출력을 찾습니다. 없으면 쪽을 읽다가
실행하는데, 여기서는 읽기 전에 코어의 수만큼 나란히 실행해 넣어 둡니다.
"""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from kernel import KernelManager, warm_up
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from notebooks import code_cells, inputs, read_notebook
from package import ROOT

#: 두 번 실행하면 바이트까지 같은 출력이 나게 합니다. TensorFlow가 C++에서 파일 기술자에
#: 바로 적는 알림은 셀의 출력이 아닙니다. 커널은 짧게 살므로 쓰레기를 모으지 않습니다.
KERNEL = [
    "--IPKernelApp.capture_fd_output=False",
    "--InteractiveShell.colors=nocolor",
    "--matplotlib=inline",
    "--InteractiveShellApp.exec_lines="
    "import gc, matplotlib; gc.disable(); matplotlib.rcParams['svg.hashsalt'] = 'page'",
    "--InlineBackend.figure_formats={'svg'}",
    "--InlineBackend.print_figure_kwargs="
    "{'bbox_inches': 'tight', 'metadata': {'Date': None}}",
]
LONGEST_START = 600  # 초. 뜨지 못하는 커널을 끝낼 뿐입니다
_LINE = re.compile(r"(?:Cell In\[\d+\]|<ipython-input[^>]*>),? line (\d+)")


class CellFailed(Exception):
    """셀의 실패와, 셀에서 몇째 줄인가."""

    def __init__(self, cell, message, line=1):
        super().__init__(message)
        self.cell, self.line = cell, line


async def run_notebook(notebook, folder, timeout):
    """노트북의 셀을 제 커널에서 차례로 실행해 출력을 채웁니다.

    커널이 남기는 파일은 ``folder``에 놓입니다. 실패하면 `CellFailed`를 냅니다.
    """
    begun = []
    client = NotebookClient(
        notebook,
        timeout=timeout,
        startup_timeout=LONGEST_START,
        kernel_manager_class=KernelManager,
        shutdown_kernel="immediate",
        coalesce_streams=True,  # 커널은 글을 때때로 나누어 보냅니다
        record_timing=False,
        extra_arguments=KERNEL,
        on_cell_execute=lambda cell, cell_index: begun.append(cell),
    )
    places = {"TMPDIR": str(folder), "IPYTHONDIR": str(folder)}
    language = notebook.metadata["language_info"]
    try:
        await client.async_execute(
            cwd=str(ROOT),
            env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | places,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except CellExecutionError as error:
        lines = _LINE.findall(error.traceback)
        reason = f"{error.ename}: {error.evalue}"
        raise CellFailed(begun[-1], reason, int(lines[-1]) if lines else 1) from error
    except CellTimeoutError as error:
        late = f"{timeout:g}초 안에 끝나지 않아 멈췄습니다"
        raise CellFailed(begun[-1], late) from error
    except DeadKernelError as error:
        gone = "커널이 갑자기 끝났습니다. 메모리가 모자랐을 수 있습니다"
        raise CellFailed(begun[-1], gone) from error
    notebook.metadata["language_info"] = language  # 커널은 ipython3이라고 적습니다
    for cell in code_cells(notebook):
        _check(cell)


def _check(cell):
    """출력을 우리 꼴로 다듬고, 알리지 않은 잘못을 찾습니다."""
    kinds = {output.output_type for output in cell.outputs}
    if "raises-exception" in cell.metadata.get("tags", []) and "error" not in kinds:
        raise CellFailed(cell, "raises-exception이라고 했는데 예외가 나지 않았습니다")
    for output in cell.outputs:
        if output.output_type == "error":  # 역추적에는 이 기계의 경로가 있습니다
            output["traceback"] = [f"{output.ename}: {output.evalue}"]
        elif output.get("name") == "stderr":
            raise CellFailed(cell, f"표준 오류에 쓴 셀: {output.text.strip()}")


def execute_stale(app, env, added, changed, removed):
    """읽을 쪽 가운데 출력이 없는 쪽을 실행합니다. 실패하면 모두 알리고 멈춥니다."""
    cache = get_cache(app.config.nb_execution_cache_path)
    # 뒤에서부터: 오래 걸리는 실습이 마지막에 혼자 남지 않습니다.
    paths = [Path(env.doc2path(n)) for n in sorted(added | changed, reverse=True)]
    pages = {path: read_notebook(path) for path in paths}
    known = {record.hashkey for record in cache.list_cache_records()}
    stale = {
        path: page
        for path, page in pages.items()
        if cache.create_hashed_notebook(page)[1] not in known
    }
    if failures := run_pages(stale, cache, app.config.nb_execution_timeout):
        # 예외로 알리면 Sphinx가 긴 보고서를 덧붙입니다. 할 말만 하고 멈춥니다.
        sys.exit("실행하지 못한 페이지가 있습니다.\n" + "\n".join(failures))
    return []


def run_pages(pages, cache, timeout):
    """쪽을 실행해 저장하고, 실패한 까닭을 모두 냅니다."""
    names = [path.stem for path, page in pages.items() if code_cells(page)]
    if names:
        print(f"페이지 {len(names)}개를 실행합니다: {', '.join(names)}", flush=True)
        warm_up(len(names))
    failures = []

    async def run(path, free, folder):
        async with free:
            start = time.monotonic()
            try:
                if code_cells(pages[path]):
                    await run_notebook(pages[path], folder, timeout)
                    print(f"  {path.stem} {time.monotonic() - start:.1f}초", flush=True)
            except CellFailed as failure:
                failures.append(f"{path}:{_row(path, failure)}: {failure}")
                return
        for record in cache.list_cache_records():
            if record.uri == str(path):  # 쪽마다 하나만 둡니다
                cache.remove_cache(record.pk)
        bundle = CacheBundleIn(pages[path], str(path))
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)

    async def run_all(folder):
        free = asyncio.Semaphore(os.cpu_count())
        await asyncio.gather(*(run(path, free, folder) for path in pages))

    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(1) as pool,  # 주된 스레드에서는 nbclient가 Ctrl-C를 받습니다
    ):
        pool.submit(asyncio.run, run_all(folder)).result()
    return failures


def _row(path, failure):
    """실패한 줄이 쪽에서 몇째 줄인가."""
    code = f"\n{failure.cell.source}\n"
    before, _, _ = path.read_text(encoding="utf-8").partition(code)
    return before.count("\n") + 1 + failure.line


def note_inputs(app, docname, content):
    """쪽이 쓰는 모듈과 자료가 바뀌면 Sphinx가 그 쪽을 다시 읽습니다."""
    for path in inputs(read_notebook(app.env.doc2path(docname))):
        app.env.note_dependency(path, docname=docname)


def setup(app):
    app.connect("env-get-outdated", execute_stale)
    app.connect("source-read", note_inputs)
    return {"parallel_read_safe": False}
