"""모델의 지도: 그림은 ``conf/model_map.html`` 하나입니다.

지시자 ``model-map``은 어느 쪽에서나 그 그림을 놓고 링크를 그 쪽에 맞춥니다.
`small_map`은 같은 그림을 줄여 한 장의 자리만 칠합니다.
"""

import functools
import posixpath
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

MAP = Path(__file__).resolve().parents[1] / "model_map.html"
LECTURES = "lectures"  # 지도의 링크는 이 폴더에서 나갑니다


class ModelMap(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(MAP))
        folder = posixpath.dirname(self.env.docname)

        def relative(match):
            path = posixpath.relpath(posixpath.join(LECTURES, match[1]), folder)
            return f'href="{path}"'

        drawn = re.sub('href="([^"]+)"', relative, MAP.read_text("utf-8"))
        return [nodes.raw("", drawn, format="html")]


@functools.cache
def _boxes():
    """지도의 너비와 높이, 장마다 그 장으로 가는 상자들의 길."""
    svg = ET.fromstring(re.search("(?s)<svg.*</svg>", MAP.read_text("utf-8"))[0])
    found = {}
    for link in svg.iter("a"):
        if "code" not in link.get("class").split():
            page = f"{LECTURES}/{link.get('href').removesuffix('.html')}"
            for box in link.iter("rect"):
                x, y, width, height = map(box.get, ("x", "y", "width", "height"))
                path = f"M{x} {y}h{width}v{height}h-{width}z"
                found[page] = found.get(page, "") + path
    return *svg.get("viewBox").split()[2:], found


def small_map(page):
    """그 쪽의 상자를 칠하고 왼쪽에서 오른쪽으로 눕힌 지도. 없는 쪽이면 빈 글입니다."""
    width, height, boxes = _boxes()
    if page not in boxes:
        return ""
    others = "".join(path for name, path in boxes.items() if name != page)
    return (
        '<a class="here-map" href="overview.html#overview-map"'
        ' aria-label="모델의 지도에서 이 장의 자리">'
        f'<svg viewBox="0 0 {height} {width}" aria-hidden="true">'
        f'<g transform="translate({height}) rotate(90)"><path d="{others}"/>'
        f'<path class="here-box" d="{boxes[page]}"/></g></svg></a>'
    )


def setup(app):
    app.add_directive("model-map", ModelMap)
    return {"env_version": 1}
