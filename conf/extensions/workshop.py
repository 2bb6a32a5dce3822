"""직접 쓰는 칸: 지시자 ``write``와 ``workshop``, 브라우저 속의 파이썬.

``{write} attention``은 연습의 뼈대와 명령줄을 보이고, 누르면 그 자리가 편집기가 됩니다
(``static/workshop.js``). ``{workshop}``은 책의 모든 칸을 차례대로 늘어놓습니다.
실행기는 ``conf/runtime``의 파일을 base64 스크립트로 적은 것이고, 검사기는 지을 때
패키지의 소스에서 담습니다. 파일로 연 쪽은 스크립트만 읽을 수 있습니다.
"""

import base64
import gzip
import html
import io
import json
import zipfile
from pathlib import Path

from docutils import nodes
from later import Later, files_of, need
from package import PACKAGE, ROOT
from sphinx.util.docutils import SphinxDirective

from transformer_notes import exercises

RUNTIME = ROOT / "conf" / "runtime"
FILES = "workshop.css", "workshop.js"
PIECE = 3 * 2**18  # base64로 적으면 1 MiB. 조각마다 진행을 보입니다
BOX = """
```{{definition}} exercises.{kind}
```

<p class="write-start"><button type="button" hidden>여기에서 쓰기</button>
<span>자바스크립트가 꺼져 있습니다. 아래의 명령줄로 확인하세요.</span></p>

:::{{admonition}} 명령줄에서 확인하기
:class: dropdown
NumPy로 쓴 것도 Keras나 PyTorch로 쓴 것도 검사합니다. 첫 명령이 뼈대를 파일로 적습니다.

```text
transformer-notes exercise {kind}
transformer-notes check my_{kind}.py:{name} --as {kind}
```
:::
"""


class Write(SphinxDirective):
    required_arguments = 1

    def run(self):
        (kind,) = self.arguments
        if kind not in exercises.kinds():
            raise self.error(f"없는 연습입니다: {kind}")
        name, title = exercises.name(kind), exercises.title(kind)
        self.env.metadata[self.env.docname].setdefault("exercises", []).append(kind)
        need(self.env, *FILES)
        # 편집기는 줄 번호와 색이 없는 글에서 시작합니다.
        skeleton = html.escape(exercises.skeleton(kind), quote=False)
        top = (
            f'<div class="write" id="write-{kind}" data-kind="{kind}"'
            f' data-name="{name}" data-title="{html.escape(title)}">'
            f"<template>{skeleton}</template>"
        )
        box = self.parse_text_to_nodes(BOX.format(kind=kind, name=name))
        for node in box:
            node["unread"] = True  # 쓰면서 읽습니다(reading_time.py)
        return [
            nodes.raw("", top, format="html"),
            *box,
            nodes.raw("", "</div>", format="html"),
        ]


class Workshop(SphinxDirective):
    def run(self):
        need(self.env, *FILES)
        return [Later(fill=every_exercise)]


def every_exercise(app, docname, place):
    items = []
    # 더 깊이의 쪽은 번호가 같은 강의 다음입니다. 부록의 번호는 글자입니다.
    order = sorted(app.env.chapters, key=lambda c: (isinstance(c[1], str), c[1]))
    for page, *_ in order:
        address = app.builder.get_relative_uri(docname, page)
        for kind in app.env.metadata[page].get("exercises", ()):
            title = html.escape(exercises.title(kind))
            items.append(
                f'<li data-kind="{kind}"><a href="{address}#write-{kind}">{title}'
                '</a> <span class="state"></span></li>'
            )
    drawn = f'<ol class="workshop">{"".join(items)}</ol>'
    return nodes.raw("", drawn, format="html")


def notes():
    """브라우저의 파이썬이 쓸 패키지의 소스: 검사기와, 코드를 실행하고 판정하는 것."""
    inside = {}
    needed = "_arguments.py", "checker/*.py", "cli/judge.py", "exercises/parts/*.py"
    for pattern in needed:
        for path in sorted(PACKAGE.glob(pattern)):
            inside[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    for folder in ("", "cli/", "exercises/"):  # 명령줄과 TensorFlow는 뺍니다
        inside[f"{PACKAGE.name}/{folder}__init__.py"] = b""
    inside["page.py"] = (RUNTIME / "page.py").read_bytes()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, source in inside.items():  # 시각 없이 담아 언제 지어도 같습니다
            archive.writestr(zipfile.ZipInfo(name), source)
    return content.getvalue()


def write_runtime(app, exception):
    used = any("workshop.js" in files_of(app.env, page) for page in app.env.found_docs)
    if exception or not used:
        return
    folder = Path(app.outdir, "_static", "runtime")
    folder.mkdir(exist_ok=True)
    packed = {path.stem: path.read_bytes() for path in sorted(RUNTIME.glob("*.gz"))}
    packed["notes.zip"] = gzip.compress(notes(), 9, mtime=0)
    sizes = []
    for name, content in packed.items():
        starts = range(0, len(content), PIECE)
        sizes.append([name, len(content), len(starts)])
        for number, start in enumerate(starts):
            text = base64.b64encode(content[start : start + PIECE]).decode()
            piece = folder / f"{name}.{number}.js"
            piece.write_text(f'notesRuntime("{text}");\n', encoding="ascii")
    listed = f"notesRuntime({json.dumps(sizes)});\n"
    (folder / "files.js").write_text(listed, encoding="ascii")


def setup(app):
    app.add_directive("write", Write)
    app.add_directive("workshop", Workshop)
    app.connect("build-finished", write_runtime)
    return {"env_version": 2}
