"""「브라우저에서 써 보기」가 읽을 것을 놓습니다: 코드, 겉모습, 모델마다 스크립트 하나.

파일로 연 쪽은 다른 파일을 읽지 못하지만 스크립트는 읽습니다. 그래서 패키지의 모델
파일을 그대로 base64로 적은 스크립트를 만듭니다. 모델은 독자가 고를 때에만 읽습니다.
"""

import base64
import json
import zlib
from pathlib import Path

#: 쪽마다 그 쪽의 상자를 움직이는 스크립트와 겉모습의 이름.
BOXES = {"practice/playground": "playground", "practice/step_through": "step_through"}
MODELS = Path(__file__).resolve().parents[2] / "transformer_notes" / "models"


def script(path):
    """모델 파일을 `notesModels`의 제 이름에 넣는 스크립트입니다."""
    content = base64.b64encode(path.read_bytes()).decode()
    return f'(globalThis.notesModels ??= {{}}).{path.stem} = "{content}";\n'


def letters():
    """모델들이 아는 글자. 답에 나올 수 있으므로 글꼴에 있어야 합니다."""
    found = set()
    for path in MODELS.glob("*.safetensors"):
        content = path.read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        first, last = json.loads(content[8:start])["tokenizer"]["data_offsets"]
        tokenizer = zlib.decompress(content[start + first : start + last])
        found |= {c for token in json.loads(tokenizer)["model"]["vocab"] for c in token}
    return found


def add_scripts(app, pagename, templatename, context, doctree):
    if pagename in BOXES and app.builder.format == "html":
        name = BOXES[pagename]
        app.add_css_file(f"{name}.css")
        for script in ("transformer.js", "models.js", f"{name}.js"):
            app.add_js_file(script, loading_method="defer")


def write_models(app, exception):
    pages = BOXES.keys() & app.env.found_docs
    if exception or app.builder.format != "html" or not pages:
        return
    folder = Path(app.outdir, "_static", "models")
    folder.mkdir(exist_ok=True)
    for path in MODELS.glob("*.safetensors"):
        (folder / f"{path.stem}.js").write_text(script(path), encoding="ascii")


def setup(app):
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write_models)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
