"""페이지의 셀을 실행하고 그 출력을 사이트에 싣는 Sphinx 확장입니다.

읽기 전에 출력이 없는 페이지만 `page_runner`가 실행합니다. MyST 페이지는 출력을 채운
노트북이 되어 myst-nb가 그리고, reStructuredText 페이지는 ``code-cell`` 지시자가 같은
myst-nb로 셀을 하나씩 그립니다.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from myst_nb.core.execute import create_client
from myst_nb.core.loggers import SphinxDocLogger
from myst_nb.core.nb_to_tokens import notebook_to_tokens
from myst_nb.core.render import load_renderer
from myst_nb.sphinx_ import SphinxNbRenderer
from myst_parser.parsers.mdit import create_md_parser
from nbformat.v4 import new_notebook
from notebooks import Store, cache_key, fill_outputs, read_notebook
from snippets import find_snippets
from sphinx.util.docutils import SphinxDirective


def read_executed(text, store):
    """myst-nb의 `nb_custom_formats`가 부릅니다: MyST 글을 출력이 담긴 노트북으로."""
    try:
        return fill_outputs(read_notebook("page.md", text), Store(store))
    except LookupError as error:
        sys.exit(str(error))


def execute_stale(app, env, added, changed, removed):
    """출력이 없는 페이지를 실행하고, 출력이 달라진 페이지를 다시 읽게 합니다."""
    store = Store(app.config.pages_store)
    pages = [
        {"name": name, "path": str(path), "key": cache_key(read_notebook(path))}
        for name in sorted(env.found_docs)
        if (path := Path(env.doc2path(name))).suffix in {".md", ".rst"}
    ]
    run_pages(
        [page for page in pages if not store.has(page["key"])],
        store,
        app.config.pages_timeout,
        kernels=app.config.pages_kernels,
    )
    keys = {page["name"]: page["key"] for page in pages}
    before, env.executed_keys = getattr(env, "executed_keys", {}), keys
    store.keep_only(set(keys.values()))
    return [name for name, key in keys.items() if before.get(name) != key]


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


class CodeCell(SphinxDirective):
    """reStructuredText의 ``code-cell``: 실행된 셀 하나를 myst-nb로 그립니다."""

    has_content = True
    optional_arguments = 1
    option_spec = {
        "tags": directives.unchanged,
        "alt": directives.unchanged,
        "caption": directives.unchanged,
        "name": directives.unchanged,
    }

    def run(self):
        path = Path(self.env.doc2path(self.env.docname))
        if path.suffix != ".rst":
            raise self.error(
                "code-cell은 ```로 열고, 다른 지시자나 목록 밖에 두어야 합니다"
            )
        page = self.env.temp_data.get("executed_page")
        if page is None:
            store = Store(self.config.pages_store)
            page = fill_outputs(read_notebook(path), store)
            cells = [s for s in find_snippets(path) if s.kind == "cell"]
            self.env.temp_data["executed_page"] = page
            self.env.temp_data["cells_left"] = list(zip(cells, page.cells, strict=True))
        snippet, cell = self.env.temp_data["cells_left"].pop(0)
        if snippet.source != "\n".join(self.content):
            raise self.error(
                f"셀의 순서가 실행한 것과 다릅니다: {snippet.line}번 줄을 기대했습니다"
            )
        if figure := {
            k: self.options[k] for k in ("caption", "name") if k in self.options
        }:
            cell.metadata.setdefault("mystnb", {})["figure"] = figure
        if "alt" in self.options:
            cell.metadata.setdefault("mystnb", {})["image"] = {
                "alt": self.options["alt"]
            }
        return self._render(page, cell)

    def _render(self, page, cell):
        document = self.state.document
        log = SphinxDocLogger(document)
        parser = create_md_parser(self.env.myst_config, SphinxNbRenderer)
        box = nodes.container()
        notebook = new_notebook(cells=[cell], metadata=page.metadata)
        notebook.metadata["source_map"] = [self.lineno - 1]
        parser.options["document"] = document
        parser.options["nb_config"] = self.env.mystnb_config
        parser.options["current_node"] = box
        document["nb_renderer"] = load_renderer(self.env.mystnb_config.render_plugin)(
            parser.renderer, log
        )
        # 문서 머리말과 낱말 수는 문서에 하나씩만 둡니다. 셀에는 없습니다.
        parser.disable("wordcount")
        environment = {}
        tokens = notebook_to_tokens(notebook, parser, environment, log)
        tokens = [token for token in tokens if token.type != "nb_initialise"]
        # 앞 셀이 붙여 둔 값(glue)을 뒤의 문장이 쓸 수 있게 이어 갑니다.
        glued = self.env.temp_data.setdefault("glued", {})
        path = self.env.doc2path(self.env.docname)
        with create_client(notebook, path, self.env.mystnb_config, log) as client:
            glued.update(client.glue_data)
            client.glue_data.update(glued)
            parser.options["nb_client"] = client
            parser.renderer.render(tokens, parser.options, environment)
        return box.children


def forget_renderer(app, doctree):
    """그리는 동안만 쓰는 객체를 문서에서 떼어 냅니다. 문서는 저장되기 때문입니다."""
    doctree.attributes.pop("nb_renderer", None)


def setup(app):
    app.add_config_value("pages_store", "", "", str)
    app.add_config_value("pages_timeout", 600, "", int)
    app.add_config_value("pages_kernels", False, "", bool)
    app.add_directive("code-cell", CodeCell, override=True)
    app.connect("env-get-outdated", execute_stale)
    app.connect("doctree-read", forget_renderer, priority=100)
    return {"parallel_read_safe": False, "env_version": 1}
