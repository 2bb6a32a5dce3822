"""고친 쪽만 다시 써도 모두 새로 쓴 것과 같게 합니다.

Sphinx는 고친 쪽만 다시 씁니다. 그런데 쪽에는 다른 쪽의 제목과 번호도 나옵니다. 쪽들이
서로 빌려 쓰는 것이 하나라도 달라지면 빈 폴더에 모두 다시 쓰고, 아니면 아무 쪽도 보이지
않게 된 그림만 치웁니다.
"""

import hashlib
import shutil
from pprint import saferepr

from package import modules, read

#: 쪽에 적어 둔 것 가운데 다른 쪽에 나오는 것.
LENT = "minutes", "shown_sources", "exercises"


def borrowed(env):
    """쪽을 쓸 때 다른 쪽과 패키지에서 가져오는 모든 것의 지문입니다."""
    parts = [
        {page: title.astext() for page, title in env.titles.items()},
        env.toctree_includes,
        env.chapters,
        env.toc_secnumbers,
        env.toc_fignumbers,
        {page: [of.get(name) for name in LENT] for page, of in env.metadata.items()},
        {name: env.domaindata[name] for name in ("math", "py", "std")},
        {c.key: c.formatted_entry.label for c in env.domaindata["cite"]["citations"]},
        {name: read(path) for name, path in modules().items()},
    ]
    # 사전을 열쇠의 차례로 적습니다. 읽은 차례와 상관없습니다.
    return hashlib.sha256(saferepr(parts).encode()).hexdigest()


def choose(app, env):
    """고친 쪽 말고 더 쓸 쪽들입니다."""
    before, env.borrowed = getattr(env, "borrowed", None), borrowed(env)
    if before == env.borrowed:
        images = {name for _, name in env.images.values()}
        stale = [p for p in app.outdir.glob("_images/*") if p.name not in images]
        # 테마의 CSS는 slimming이 줄였습니다. 다시 복사합니다.
        for path in [*stale, *app.outdir.glob("_static/**/*.css")]:
            path.unlink()
        return []
    shutil.rmtree(app.outdir)
    app.outdir.mkdir()
    return env.found_docs


def setup(app):
    app.connect("env-get-updated", choose, priority=900)
