"""페이지의 셀을 실행하고 그 출력을 사이트에 싣는 Sphinx 확장입니다.

읽기 전에 출력이 없는 페이지만 `page_runner`가 실행합니다. MyST 페이지는 출력을 채운
노트북이 되어 myst-nb가 그리고, reStructuredText 페이지는 `rst_cells`가 그립니다.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from notebooks import (
    Store,
    cache_key,
    code_cells,
    fill_outputs,
    inputs,
    read_notebook,
)
from package import dependencies


def read_executed(text, store):
    """myst-nb의 `nb_custom_formats`가 부릅니다: MyST 글을 출력이 담긴 노트북으로."""
    try:
        return fill_outputs(read_notebook("page.md", text), Store(store))
    except LookupError as error:
        sys.exit(str(error))


def execute_stale(app, env, added, changed, removed):
    """읽을 쪽 가운데 출력이 없는 쪽을 실행합니다. 출력을 잃은 쪽도 다시 읽게 합니다."""
    store = Store(app.config.pages_store)
    keys = {name: key for name, key in env.executed_keys.items() if name not in removed}
    lost = {name for name, key in keys.items() if not store.has(key)}
    # 뒤에서부터: 오래 걸리는 실습이 마지막에 혼자 남지 않습니다.
    pages = [
        _page(name, path)
        for name in sorted(added | changed | lost, reverse=True)
        if (path := Path(env.doc2path(name))).suffix in {".md", ".rst"}
    ]
    run_pages(
        [page for page in pages if not store.has(page["key"])],
        store,
        app.config.pages_timeout,
        kernels=app.config.pages_kernels,
    )
    env.executed_keys = keys | {page["name"]: page["key"] for page in pages}
    store.keep_only(set(env.executed_keys.values()))
    return lost


def note_inputs(app, docname, content):
    """쪽이 쓰는 모듈과 자료가 바뀌면 Sphinx가 그 쪽을 다시 읽습니다."""
    for path in inputs(read_notebook(app.env.doc2path(docname))):
        app.env.note_dependency(path, docname=docname)


def start(app):
    app.env.executed_keys = getattr(app.env, "executed_keys", {})


def _page(name, path):
    notebook = read_notebook(path)
    return {
        "name": name,
        "path": str(path),
        "key": cache_key(notebook),
        "modules": list(dependencies(cell.source for cell in code_cells(notebook))),
    }


def run_pages(pages, store, timeout, kernels=False):
    """페이지를 실행합니다. 실패한 페이지가 있어도 나머지를 끝낸 뒤 모두 알립니다."""
    if not pages:
        return
    print(
        f"페이지 {len(pages)}개를 실행합니다: {', '.join(p['name'] for p in pages)}",
        flush=True,
    )
    job = {
        "pages": pages,
        "store": str(store.folder),
        "timeout": timeout,
        "workers": min(len(pages), os.cpu_count() or 1),
        "kernels": kernels,
        "parent": os.getpid(),
    }
    left, failures = {page["name"]: page for page in pages}, []
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as noise:
        runner = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("page_runner.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=noise,
            text=True,
            encoding="utf-8",
        )
        with runner:
            try:
                runner.stdin.write(json.dumps(job))
                runner.stdin.close()
                for line in runner.stdout:
                    result = json.loads(line)
                    page = left.pop(result["page"])
                    print(f"  {page['name']} {result['seconds']:.1f}초", flush=True)
                    if result["error"]:
                        row, message = result["error"]
                        failures.append(f"{page['path']}:{row}: {message}")
            except BaseException:
                runner.terminate()
                raise
        if left:
            noise.seek(0)
            failures.append(
                f"실행기가 끝나지 못했습니다: {', '.join(left)}\n{noise.read()[-2000:]}"
            )
    if failures:
        done = len(pages) - len(failures)
        # 예외로 알리면 Sphinx가 긴 보고서를 덧붙입니다. 할 말만 하고 멈춥니다.
        sys.exit(
            f"페이지 {len(pages)}개 가운데 {done}개를 실행해 저장했고 나머지는 "
            "실패했습니다.\n" + "\n".join(failures)
        )


def setup(app):
    app.add_config_value("pages_store", "", "", str)
    app.add_config_value("pages_timeout", 600, "", int)
    app.add_config_value("pages_kernels", False, "", bool)
    app.connect("builder-inited", start)
    app.connect("env-get-outdated", execute_stale)
    app.connect("source-read", note_inputs)
    return {"parallel_read_safe": False, "env_version": 1}
