"""페이지의 셀을 실행하는 프로세스입니다. 빌드가 ``python page_runner.py``로 띄웁니다.

TensorFlow를 가져오는 데 몇 초가 듭니다. 그 값을 페이지마다 치르지 않으려고 한 번 가져온
프로세스에서 페이지마다 갈라져 나옵니다(fork). 갈라지기 전에 TensorFlow 연산을 하나라도
실행하면 자식이 멈추므로, 가져오기만 하고 그 사실을 확인합니다. 리눅스가 아니면
페이지마다 보통의 커널을 씁니다.

표준 입력으로 할 일을 받고, 표준 출력에 페이지마다 결과를 한 줄로 적습니다(JSON).
"""

import atexit
import collections
import ctypes
import io
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_code_cell, new_output
from notebooks import Store, code_cells, read_notebook
from package import PACKAGE, ROOT
from traitlets import Type

HAS_FORK = sys.platform == "linux"


class CellFailed(Exception):
    def __init__(self, line, message):
        super().__init__(message)
        self.line = line


# --- 한 페이지 ----------------------------------------------------------------------


class Outputs(list):
    """지금 실행하는 셀의 출력입니다. 이어지는 같은 흐름은 하나로 합칩니다."""

    def stream(self, name, text):
        if text and self and self[-1].output_type == "stream" and self[-1].name == name:
            self[-1].text += text
        elif text:
            self.append(new_output("stream", name=name, text=text))

    def rich(self, output_type, data, metadata, **extra):
        if any(mime.startswith("image/") for mime in data):
            data = {mime: value for mime, value in data.items() if mime != "text/plain"}
        self.append(new_output(output_type, data, metadata=metadata or {}, **extra))


class _Stream(io.TextIOBase):
    encoding = "utf-8"

    def __init__(self, name, outputs):
        self.name, self.outputs = name, outputs

    def writable(self):
        return True

    def write(self, text):
        self.outputs.stream(self.name, text)
        return len(text)


class _Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, **_):
        self.shell.outputs.rich("display_data", data, metadata)

    def clear_output(self, wait=False):
        self.shell.outputs.clear()


class _Hook(DisplayHook):
    def __call__(self, result=None):
        if result is not None and not self.quiet():
            data, metadata = self.compute_format_data(result)
            self.shell.outputs.rich(
                "execute_result", data, metadata, execution_count=self.prompt_count
            )


class PageShell(InteractiveShell):
    """출력을 노트북의 꼴로 모으는 IPython입니다."""

    displayhook_class = Type(_Hook)
    display_pub_class = Type(_Publisher)

    def __init__(self, **kwargs):
        self.outputs = Outputs()
        super().__init__(**kwargs)

    def _showtraceback(self, etype, evalue, stb):
        # 경로가 담긴 역추적 대신 예외만 보입니다. 어느 기계에서나 같습니다.
        message = f"{etype.__name__}: {evalue}"
        self.outputs.append(
            new_output(
                "error", ename=etype.__name__, evalue=str(evalue), traceback=[message]
            )
        )


def set_up_figures(shell):
    import matplotlib
    from matplotlib_inline.backend_inline import configure_inline_support
    from matplotlib_inline.config import InlineBackend

    inline = InlineBackend.instance(parent=shell)
    inline.shell = shell
    inline.figure_formats = {"svg"}
    inline.print_figure_kwargs = {"bbox_inches": "tight", "metadata": {"Date": None}}
    configure_inline_support(shell, os.environ["MPLBACKEND"])
    matplotlib.rcParams["svg.hashsalt"] = "page"  # 두 번 빌드해도 같은 파일


def run_cells(notebook, on_cell=lambda line: None):
    """노트북의 셀을 차례로 실행해 출력을 채웁니다. 실패하면 `CellFailed`를 냅니다."""
    shell = PageShell.instance()
    shell.user_module.__dict__["__name__"] = "__main__"
    set_up_figures(shell)
    sys.stdin = open(os.devnull)
    sys.stdout, sys.stderr = (_Stream(n, shell.outputs) for n in ("stdout", "stderr"))
    lines = notebook.metadata["source_map"]
    for cell, start in zip(notebook.cells, lines, strict=True):
        if cell.cell_type != "code":
            continue
        first = _first_source_line(cell, start)
        on_cell(first)
        shell.outputs.clear()
        result = shell.run_cell(cell.source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        _check_cell(cell, shell.outputs, error, first)
        cell["outputs"] = list(shell.outputs)
        cell["execution_count"] = shell.execution_count - 1
    return notebook


def _first_source_line(cell, start):
    """셀의 첫 코드 줄 번호입니다. 선택 사항의 줄 수는 페이지에서 셉니다."""
    return cell.metadata.get("first_line", start + 1)


def _check_cell(cell, outputs, error, first):
    expected = "raises-exception" in cell.metadata.get("tags", [])
    if error is not None and not expected:
        line = first + max(_line_in_cell(error), 1) - 1
        raise CellFailed(line, f"{type(error).__name__}: {error}")
    if error is None and expected:
        raise CellFailed(first, "raises-exception이라고 했는데 예외가 나지 않았습니다")
    noise = [
        o.text for o in outputs if o.output_type == "stream" and o.name == "stderr"
    ]
    if noise:
        raise CellFailed(first, "표준 오류에 쓴 셀: " + "".join(noise).strip())


def _line_in_cell(error):
    if isinstance(error, SyntaxError):
        return error.lineno or 1
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if "ipykernel" in frame.filename
             or frame.filename.startswith("<ipython-input")]  # fmt: skip
    return lines[-1] if lines else 1


# --- 모든 페이지 --------------------------------------------------------------------


def warm_up(names):
    """페이지들이 쓸 패키지의 모듈을 미리 가져옵니다. 텐서는 하나도 만들지 않습니다."""
    import importlib

    import matplotlib_inline.backend_inline  # noqa: F401
    import myst_nb  # noqa: F401

    for name in sorted(names):
        if not name.endswith("__main__"):  # 가져오면 명령이 실행됩니다
            importlib.import_module(f"{PACKAGE.name}.{name}".rstrip("."))
    threads = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    started = [name.strip() for name in threads if name.startswith("tf_")]
    if started:
        raise SystemExit(
            f"가져오는 동안 TensorFlow 연산이 실행되었습니다({started[0]}). "
            "패키지는 모듈을 가져올 때 텐서를 만들지 않아야 합니다."
        )


def end_with_parent(parent, how):
    """띄운 프로세스가 어떻게 끝나든 이 프로세스에 신호를 보내게 합니다(리눅스)."""
    if HAS_FORK:
        set_parent_death_signal = 1  # prctl(2)의 PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_parent_death_signal, how)
        if os.getppid() != parent:  # 그 사이에 끝났습니다
            os._exit(1)


def _child(page, store, connection, runner):
    os.setsid()  # 시간이 넘으면 이 페이지가 띄운 것까지 함께 끝냅니다
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent(runner, signal.SIGKILL)
    os.chdir(ROOT)
    try:
        notebook = run_cells(
            read_page(page), lambda line: connection.send(("at", line))
        )
        store.save(page["key"], notebook)
        connection.send(("done", None))
    except CellFailed as failure:
        connection.send(("failed", (failure.line, str(failure))))
    connection.close()
    os._exit(0)


def read_page(page):
    """페이지를 읽고 셀마다 첫 코드 줄의 번호를 적어 둡니다."""
    from snippets import find_snippets

    notebook = read_notebook(page["path"])
    cells = [s for s in find_snippets(page["path"]) if s.kind == "cell"]
    for cell, snippet in zip(code_cells(notebook), cells, strict=True):
        cell.metadata["first_line"] = snippet.line
    return notebook


def run_forked(pages, store, timeout, workers):
    """페이지마다 프로세스 하나로 실행하고 (page, seconds, error)를 차례로 냅니다."""
    context = multiprocessing.get_context("fork")
    waiting, running = collections.deque(pages), {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                page = waiting.popleft()
                ours, theirs = context.Pipe(duplex=False)
                work = (page, store, theirs, os.getpid())
                process = context.Process(target=_child, args=work)
                process.start()
                theirs.close()
                running[ours] = [page, process, time.monotonic(), 1]
            first_end = min(started for _, _, started, _ in running.values()) + timeout
            pause = max(first_end - time.monotonic(), 0)
            for connection in multiprocessing.connection.wait(list(running), pause):
                entry = running[connection]
                page, process, started, _ = entry
                try:
                    what, value = connection.recv()
                except EOFError:  # 결과를 말하지 못하고 끝났습니다
                    process.join()
                    what, value = "failed", (entry[3], _death(process.exitcode))
                if what == "at":
                    entry[3] = value
                    continue
                process.join()
                del running[connection]
                yield page, time.monotonic() - started, value
            for connection, (page, process, started, line) in list(running.items()):
                if time.monotonic() - started >= timeout:
                    _kill(process)
                    del running[connection]
                    yield (
                        page,
                        timeout,
                        (line, f"{timeout:g}초 안에 끝나지 않아 멈췄습니다"),
                    )
    finally:
        for _, process, _, _ in running.values():
            _kill(process)


def _kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    process.join()


def _death(exitcode):
    if exitcode == -signal.SIGKILL:
        return "프로세스가 강제로 끝났습니다(SIGKILL). 메모리가 모자랐을 수 있습니다"
    if exitcode < 0:
        return f"프로세스가 {signal.Signals(-exitcode).name} 신호로 끝났습니다"
    return f"셀이 프로세스를 끝냈습니다(종료 코드 {exitcode})"


def run_kernels(pages, store, timeout):
    """fork를 쓸 수 없는 곳에서: 페이지마다 보통의 커널 하나로 차례로 실행합니다."""
    from nbclient import NotebookClient
    from nbclient.exceptions import (
        CellExecutionError,
        CellTimeoutError,
        DeadKernelError,
    )

    # 가져올 때의 알림이 첫 셀에 남지 않게 미리 가져오고 그 출력은 버립니다.
    prologue = (
        "import tensorflow, matplotlib\n"
        "matplotlib.rcParams['svg.hashsalt'] = 'page'\n"
        "%matplotlib inline\n"
        "%config InlineBackend.figure_formats = ['svg']\n"
        "%config InlineBackend.print_figure_kwargs = "
        "{'bbox_inches': 'tight', 'metadata': {'Date': None}}"
    )
    for page in pages:
        started, error = time.monotonic(), None
        notebook = read_page(page)
        notebook.cells.insert(0, new_code_cell(prologue))
        client = NotebookClient(
            notebook, timeout=timeout, resources={"metadata": {"path": str(ROOT)}}
        )
        position = 0

        def remember(cell, cell_index):
            nonlocal position
            position = cell.metadata.get("first_line", position)

        client.on_cell_start = remember
        try:
            client.execute()
            del notebook.cells[0]
            for cell in code_cells(notebook):
                _tidy(cell)
            store.save(page["key"], notebook)
        except CellFailed as failure:
            error = (failure.line, str(failure))
        except CellExecutionError as failure:
            error = (position, f"{failure.ename}: {failure.evalue}")
        except (CellTimeoutError, TimeoutError):
            error = (position, f"{timeout:g}초 안에 끝나지 않아 멈췄습니다")
        except DeadKernelError:
            error = (
                position,
                "커널이 갑자기 끝났습니다. 메모리가 모자랐을 수 있습니다",
            )
        yield page, time.monotonic() - started, error


def _tidy(cell):
    """보통의 커널이 남긴 출력을 우리 꼴에 맞추고 같은 것을 검사합니다."""
    raised = None
    for output in cell.outputs:
        if output.output_type == "error":
            raised = output
            output["traceback"] = [f"{output.ename}: {output.evalue}"]
        elif any(mime.startswith("image/") for mime in output.get("data", {})):
            output["data"].pop("text/plain", None)
    _check_cell(cell, cell.outputs, raised, cell.metadata["first_line"])


def main():
    job = json.load(sys.stdin)
    end_with_parent(job["parent"], signal.SIGTERM)
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    store, timeout = Store(job["store"]), job["timeout"]
    if HAS_FORK and not job["kernels"]:
        warm_up({name for page in job["pages"] for name in page["modules"]})
        results = run_forked(job["pages"], store, timeout, job["workers"])
    else:
        results = run_kernels(job["pages"], store, timeout)
    # 여기서부터는 멈추라는 신호를 받으면 띄운 페이지와 임시 폴더를 치우고 끝납니다.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # TensorFlow를 차근차근 내리는 데에 1~2초가 걸립니다. 그대로 끝냅니다.
    atexit.register(os._exit, 0)
    # 페이지가 남긴 임시 파일은 실행이 끝나면 함께 사라집니다.
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        for page, seconds, error in results:
            print(
                json.dumps({"page": page["name"], "seconds": seconds, "error": error}),
                file=report,
                flush=True,
            )


if __name__ == "__main__":
    main()
