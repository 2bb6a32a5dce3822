"""바뀌지 않은 쪽은 지난번에 지은 HTML을 그대로 씁니다.

`build.py`가 지난 사이트를 베껴 둔 자리에 Sphinx가 바뀐 쪽만 다시 씁니다. 쪽마다 실리는
차례나 다른 쪽에서 가져온 이름과 번호가 바뀌면 모두 다시 씁니다. 그래서 무엇을 고친
뒤에 지어도 처음부터 지은 것과 같은 사이트가 됩니다.
"""

import json
from copy import deepcopy
from pathlib import Path


def rewrite_all_if_shared_facts_change(app, env):
    facts = shared_facts(env)
    if facts == getattr(env, "shared_facts", None):
        return []
    env.shared_facts = deepcopy(facts)
    for page in Path(app.outdir).rglob("*.html"):  # 없어진 쪽도 남기지 않습니다
        page.unlink()
    return sorted(env.found_docs)


def shared_facts(env):
    """다른 쪽의 HTML에 실릴 수 있는 것: 제목과 차례, 이름표와 번호, API, 용어, 문헌."""
    standard, python = env.domaindata["std"], env.domaindata["py"]
    citations = env.domaindata["cite"].get("citations", [])
    return {
        "titles": {name: title.astext() for name, title in env.titles.items()},
        "toctrees": {k: list(v) for k, v in sorted(env.toctree_includes.items())},
        "numbers": (env.toc_secnumbers, env.toc_fignumbers),
        "labels": (standard["labels"], standard["anonlabels"]),
        "terms": (standard["terms"], standard["objects"]),
        "equations": env.domaindata["math"]["objects"],
        "api": {name: entry[:3] for name, entry in python["objects"].items()},
        "citations": sorted(str(citation[1:4]) for citation in citations),
    }


def drop_old_images(app, exception):
    """다시 그려져 이름이 바뀐 그림의 옛 파일을 지웁니다."""
    if exception is None:
        kept = {name for _, name in app.env.images.values()}
        for image in (Path(app.outdir) / app.builder.imagedir).glob("*"):
            if image.name not in kept:
                image.unlink()


def recall_search_entries(app):
    """Sphinx의 검색은 다시 쓰지 않은 쪽의 색인 항목을 잊습니다. 적어 둔 것을 줍니다."""
    if (notes := _search_notes(app)).exists():
        app.env._search_index_index_entries.update(json.loads(notes.read_text()))


def note_search_entries(app, exception):
    if exception is None:
        _search_notes(app).write_text(json.dumps(app.env._search_index_index_entries))


def _search_notes(app):
    return Path(app.doctreedir) / "search-entries.json"


def setup(app):
    # 차례와 그림의 번호를 매긴 뒤에 봅니다.
    app.connect("env-get-updated", rewrite_all_if_shared_facts_change, priority=900)
    app.connect("build-finished", drop_old_images)
    app.connect("builder-inited", recall_search_entries)
    app.connect("build-finished", note_search_entries)
    return {"parallel_read_safe": False}
