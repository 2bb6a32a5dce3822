"""reStructuredText 페이지의 셀: 실행된 코드와 출력, 셀이 붙여 둔 값(glue)을 그립니다.

myst-nb가 MyST 페이지에 그리는 것과 같은 HTML이 되게 합니다. 그래야 두 꼴의 페이지가
같은 모양과 같은 단추를 씁니다.
"""

import ast
import hashlib
import os
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from notebooks import code_cells, executed, read_notebook
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

logger = logging.getLogger(__name__)

TAGS = {"hide-input", "raises-exception", "remove-cell", "remove-input"}
FOLDED = """<details class="admonition hide above-input">
<summary>
<p class="collapsed admonition-title">{show}</p>
<p class="expanded admonition-title">{hide}</p>
</summary>
"""


def executed_cells(env, config):
    """지금 읽는 페이지의 실행된 셀입니다."""
    page = read_notebook(env.doc2path(env.docname))
    return code_cells(executed(page, config.nb_execution_cache_path))


class CodeCell(SphinxDirective):
    """``code-cell``: 실행된 셀 하나를 코드와 출력으로 그립니다."""

    has_content = True
    optional_arguments = 1
    option_spec = {
        "tags": directives.unchanged,
        "alt": directives.unchanged,
        "caption": directives.unchanged,
        "name": directives.unchanged,
    }

    def run(self):
        if Path(self.env.doc2path(self.env.docname)).suffix != ".rst":
            raise self.error(
                "code-cell은 ```로 열고, 다른 지시자나 목록 밖에 두어야 합니다"
            )
        if "cells_left" not in self.env.temp_data:
            cells = executed_cells(self.env, self.config)
            self.env.temp_data["cells_left"] = [*enumerate(cells)]
        left = self.env.temp_data["cells_left"]
        index, cell = left.pop(0)
        if cell.source != "\n".join(self.content):
            raise self.error(f"셀의 순서가 실행한 것과 다릅니다: {cell.source}")
        tags = sorted(cell.metadata.get("tags", []))
        if unknown := set(tags) - TAGS:
            raise self.error(f"code-cell이 모르는 태그입니다: {', '.join(unknown)}")
        if "remove-cell" in tags:
            return []
        box = self._box("cell", *(f"tag_{tag}" for tag in tags))
        box["cell_index"] = index
        code = self._box("cell_input")
        code += self._block(cell.source, "python")
        if "hide-input" in tags:
            prompts = {
                "show": self.config.nb_code_prompt_show,
                "hide": self.config.nb_code_prompt_hide,
            }
            box += nodes.raw("", FOLDED.format(**prompts), format="html")
            box += code
            box += nodes.raw("", "</details>\n", format="html")
        elif "remove-input" not in tags:
            box += code
        outputs = self._box("cell_output")
        outputs += [self._output(o) for o in cell.outputs if not _is_hidden(o)]
        if outputs.children:
            box += outputs
        return [box]

    def _box(self, *classes):
        box = nodes.container(classes=list(classes))
        self.set_source_info(box)
        return box

    def _block(self, text, language, *classes):
        block = nodes.literal_block(
            text, text, language=language, classes=list(classes)
        )
        self.set_source_info(block)
        return block

    def _output(self, output):
        if output.output_type == "stream":
            return self._block(output.text, "none", "output", "stream")
        if output.output_type == "error":
            text = "\n".join(output.traceback)
            return self._block(text, "none", "output", "traceback")
        if "image/svg+xml" in output.data:
            return self._picture(output.data["image/svg+xml"])
        if set(output.data) == {"text/plain"}:
            text = output.data["text/plain"]
            return self._block(text, "none", "output", "text_plain")
        raise self.error(f"code-cell이 그릴 줄 모르는 출력입니다: {set(output.data)}")

    def _picture(self, svg):
        name = f"{hashlib.sha256(svg.encode()).hexdigest()}.svg"
        path = Path(self.env.app.outdir).parent / "jupyter_execute" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(svg, encoding="utf-8")
        image = nodes.image(uri="/" + os.path.relpath(path, self.env.srcdir))
        image["alt"] = self.options.get("alt", "")
        self.set_source_info(image)
        if not self.options.keys() & {"caption", "name"}:
            return image
        figure = nodes.figure("", image)
        self.set_source_info(figure)
        self.add_name(figure)
        if "caption" in self.options:
            text, messages = self.parse_inline(
                self.options["caption"], lineno=self.lineno
            )
            caption = nodes.caption(self.options["caption"], "", *text, *messages)
            self.set_source_info(caption)
            figure += caption
        return figure


class GlueText(SphinxRole):
    """``glue:text``: 셀이 붙여 둔 글이나 수입니다. 두 꼴의 페이지가 함께 씁니다."""

    def run(self):
        glued = self.env.temp_data.get("glued")
        if glued is None:
            cells = executed_cells(self.env, self.config)
            glued = self.env.temp_data["glued"] = dict(_glued(cells))
        if self.text not in glued:
            logger.warning(
                "셀이 붙여 두지 않은 값입니다: %s",
                self.text,
                location=self.get_location(),
            )
        text = glued.get(self.text, "")
        return [nodes.inline(text, text, classes=["pasted-text"])], []


def _glued(cells):
    for cell in cells:
        for output in cell.outputs:
            if glue := output.get("metadata", {}).get("scrapbook"):
                text = output.data[glue["mime_prefix"] + "text/plain"]
                try:
                    yield glue["name"], str(ast.literal_eval(text))
                except (SyntaxError, ValueError):
                    yield glue["name"], text


def _is_hidden(output):
    """보이지 않게 붙여 둔 값입니다."""
    glue = output.get("metadata", {}).get("scrapbook", {})
    return bool(glue.get("mime_prefix"))


def setup(app):
    app.add_directive("code-cell", CodeCell, override=True)
    app.add_role_to_domain("glue", "text", GlueText(), override=True)
    return {"parallel_read_safe": True, "env_version": 1}
