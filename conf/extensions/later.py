"""쪽을 모두 읽은 뒤에 할 일: 비워 둔 자리를 채우고, 쪽이 쓰는 스크립트를 부릅니다."""

from docutils import nodes


class Later(nodes.Inline, nodes.TextElement):
    """``fill(app, docname, place)``가 내는 마디로 바뀔 자리입니다."""


def fill(app, doctree, docname):
    for place in list(doctree.findall(Later)):
        place.replace_self(place["fill"](app, docname, place))


def need(env, *files):
    """읽고 있는 쪽이 부를 ``static``의 스크립트와 겉모습입니다."""
    env.metadata[env.docname].setdefault("files", []).extend(files)


def files_of(env, page):
    return env.metadata.get(page, {}).get("files", ())


def add_files(app, pagename, templatename, context, doctree):
    for name in files_of(app.env, pagename):
        if name.endswith(".css"):
            app.add_css_file(name)
        else:
            app.add_js_file(name, loading_method="defer")


def setup(app):
    app.add_node(Later)
    app.connect("doctree-resolved", fill)
    app.connect("html-page-context", add_files)
    return {"env_version": 1}
