"""브라우저에서 답하는 모델: 지시자 ``playground``와, 상자가 읽을 스크립트.

``{playground} dates``는 그 모델만의 상자를, 이름이 없으면 네 모델을 고르는 상자를
놓습니다. 안에는 눌러 볼 글을 한 줄에 하나씩 적습니다(네 모델이면 ``이름: 글``).

파일로 연 쪽은 다른 파일을 읽지 못하지만 스크립트는 읽습니다. 그래서 패키지의 모델
파일을 그대로 base64로 적은 스크립트를 만듭니다. 모델은 독자가 고를 때에만 읽습니다.
거절하고 되묻는 말(``cli/remarks.json``)과, 이름을 자리표로 바꾸는 식도 거기에 함께
적습니다.
"""

import base64
import json
import zlib

import jinja2
import safetensors
from docutils import nodes
from later import files_of, need
from package import PACKAGE, ROOT
from sphinx.util.docutils import SphinxDirective

from transformer_notes.tokenization import COPIED, PLACEHOLDERS

#: ``playground`` 말고 다른 상자가 있는 쪽과, 그 스크립트와 겉모습의 이름.
BOXES = {"index": "speak", "practice/step_through": "step_through"}
MODELS = PACKAGE / "models"
BOX = ROOT / "conf" / "playground.html"
REMARKS = PACKAGE / "cli" / "remarks.json"
#: 모델마다의 이름과, 받을 글을 부르는 말.
TITLES = {
    "dates": ("날짜 읽기", "한국어로 적은 날짜"),
    "translator": ("번역", "파이썬 문서의 영어 한 문장"),
    "reviews": ("감상평 읽기", "영화 감상평"),
    "chatbot": ("챗봇", "한국어로 건네는 말"),
}


class Playground(SphinxDirective):
    optional_arguments = 1
    has_content = True

    def run(self):
        only = self.arguments
        lines = [line if not only else f"{only[0]}: {line}" for line in self.content]
        content = jinja2.Template(BOX.read_text("utf-8"), autoescape=True).render(
            only=only,
            models={name: TITLES[name] for name in only or TITLES},
            examples=[line.split(": ", 1) for line in lines],
        )
        self.env.note_dependency(str(BOX))
        need_box(self.env, "playground")
        return [nodes.raw("", content, format="html")]


def need_box(env, name):
    need(env, f"{name}.css", "transformer.js", "models.js", f"{name}.js")


def note_box(app, doctree):
    if name := BOXES.get(app.env.docname):
        need_box(app.env, name)


def script(path):
    """모델 파일과 할 말을 제자리에 넣는 스크립트입니다."""
    content = base64.b64encode(path.read_bytes()).decode()
    remarks = json.loads(REMARKS.read_text("utf-8"))
    remarks = json.dumps(remarks | {"copied": [COPIED.pattern, PLACEHOLDERS]})
    return (
        f'(globalThis.notesModels ??= {{}}).{path.stem} = "{content}";\n'
        f"globalThis.notesRemarks = {remarks};\n"
    )


def letters():
    """모델들이 아는 글자. 답에 나올 수 있으므로 글꼴에 있어야 합니다.

    자리표는 조각으로 되돌려 보이므로 뺍니다.
    """
    found = set()
    for path in MODELS.glob("*.safetensors"):
        tensors = dict(safetensors.deserialize(path.read_bytes()))
        tokenizer = json.loads(zlib.decompress(tensors["tokenizer"]["data"]))
        found |= {letter for token in tokenizer["model"]["vocab"] for letter in token}
    return found - {*PLACEHOLDERS}


def write_models(app, exception):
    used = any("models.js" in files_of(app.env, page) for page in app.env.found_docs)
    if exception or not used:
        return
    folder = app.outdir / "_static" / "models"
    folder.mkdir(exist_ok=True)
    for path in MODELS.glob("*.safetensors"):
        (folder / f"{path.stem}.js").write_text(script(path), encoding="ascii")


def setup(app):
    app.add_directive("playground", Playground)
    app.connect("doctree-read", note_box)
    app.connect("build-finished", write_models)
    return {"env_version": 1}
