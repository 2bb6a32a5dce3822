"""장의 번호와, 장마다 제목 아래에 적는 '여기'.

번호는 ``numbered``를 적은 차례를 따라 이어집니다. 차례가 여럿이어도 처음부터 다시 세지
않습니다. '부록'이라는 차례만 A부터 매기고, '더 깊이'의 쪽은 이름이 같은 강의의 번호를
함께 씁니다. 그림, 식, 연습문제의 번호는 Sphinx가 장의 번호에 이어서 매깁니다(그림 7.3).

'여기'에는 모델의 지도에서 이 장의 자리, 번호와 차례의 이름, 읽는 시간, 노트북이 있고,
'이 장에서 배우는 것'이라는 절의 첫 문단, 곧 먼저 읽을 것이 그 아래로 옮겨 옵니다.
"""

import itertools
import string

from docutils import nodes
from later import Later
from model_map import small_map
from reading_time import measure
from sphinx import addnodes
from sphinx.environment.collectors.toctree import TocTreeCollector
from take_along import links_to_notebook

APPENDIX, DEEPER = "부록", "더 깊이"
GOALS = "이 장에서 배우는 것"


def chapters(env):
    """번호가 있는 쪽마다 (쪽, 번호, 차례의 이름)을 차례대로 냅니다."""
    counted, letters = itertools.count(1), iter(string.ascii_uppercase)
    numbers = {}
    for toctree in env.get_doctree(env.config.root_doc).findall(addnodes.toctree):
        part = toctree["caption"]
        for _, page in toctree["entries"] if toctree.get("numbered") else ():
            name = page.rpartition("/")[2]
            if part != DEEPER:
                numbers[name] = next(letters if part == APPENDIX else counted)
            yield page, numbers[name], part


def assign_section_numbers(self, env):
    """`TocTreeCollector`의 것을 바꿉니다. 달라지면 `whole`이 쪽을 모두 다시 씁니다."""
    env.chapters = list(chapters(env))
    env.toc_secnumbers = {}
    for page, number, _ in env.chapters:
        title, *sections = env.tocs[page].findall(nodes.reference)
        title["secnumber"] = env.titles[page]["secnumber"] = [number]
        numbers = {section["anchorname"]: () for section in sections}
        env.toc_secnumbers[page] = {"": (number,)} | numbers
    return []


def gather(app, doctree):
    """제목 아래에 읽는 시간과 노트북, 그리고 먼저 읽을 것을 한데 모읍니다."""
    page = next(doctree.findall(nodes.section), None)
    if page is None or app.env.docname == app.config.root_doc:
        return
    gathered = [*measure(app, doctree), *links_to_notebook(app, doctree)]
    place = Later("", "", *gathered, fill=here)
    page.insert(page.first_child_matching_class(nodes.title) + 1, place)
    goals = (s for s in page.findall(nodes.section) if s.next_node().astext() == GOALS)
    needs = [p for s in goals for p in s if isinstance(p, nodes.paragraph)][:1]
    for node in needs:
        node.parent.remove(node)
        place += node


def here(app, docname, place):
    found = {page: rest for page, *rest in app.env.chapters}
    if docname not in found:
        return place.children
    number, part = found[docname]
    last = sum(name not in (APPENDIX, DEEPER) for _, name in found.values())
    words = {APPENDIX: f"부록 {number}", DEEPER: f"{number}장 · {part}"}
    words = words.get(part, f"{number}/{last} · {part}")
    box = nodes.container("", classes=["here"])
    if drawn := small_map(docname):
        box += nodes.raw("", drawn, format="html")
    box += nodes.paragraph(words, words, classes=["here-part"])
    box += place.children
    return box


def setup(app):
    TocTreeCollector.assign_section_numbers = assign_section_numbers
    app.connect("doctree-read", gather, priority=950)
    return {"env_version": 2}
