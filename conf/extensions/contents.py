"""바뀐 페이지를 시각이 아니라 내용으로 찾습니다.

Sphinx는 지난번보다 늦은 파일만 다시 읽습니다. 옛 시각을 지닌 파일로 바꾸면 모릅니다
(``cp -p``, ``tar``, 뒤로 간 시계). 페이지와 그것이 기대는 파일의 내용을 적어 둡니다.
"""

import hashlib
from pathlib import Path


def reread_changed(app, env, added, changed, removed):
    before = getattr(env, "contents", {})
    known = before.keys() & env.found_docs
    return [name for name in known if before[name] != _digest(env, name)]


def remember(app, env):
    env.contents = {name: _digest(env, name) for name in env.found_docs}


def _digest(env, name):
    digest = hashlib.sha256()
    needed = [Path(env.srcdir, path) for path in env.dependencies.get(name, ())]
    for path in [Path(env.doc2path(name)), *sorted(needed)]:
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.digest()


def setup(app):
    app.connect("env-get-outdated", reread_changed)
    app.connect("env-updated", remember)
    return {"parallel_read_safe": False}
