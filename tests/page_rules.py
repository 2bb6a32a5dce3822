"""지은 쪽이 지키는 규칙: 한 번 연 쪽의 폭과 밝기를 바꾸며 어긴 것을 모두 모읍니다."""

import functools
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urlsplit

from axe_playwright_python.sync_playwright import Axe
from built_site import DESKTOP

RULES = Path(__file__).with_suffix(".js").read_text("utf-8")
#: 폭마다, 페이지에 물어 어긴 것의 목록이 그대로 나오는 규칙.
AT = {
    1280: ["images", "mathematics", "scrolling_code", "parted_particles"],
    390: ["sideways", "broken_cells", "covered_equations", "wrapped_columns"]
    + ["parted_particles", "parted_numbers"],
    820: ["sideways"],
    1440: ["sideways"],
}
#: 그림의 글자가 적어도 이만한 픽셀이어야 하는 폭.
SMALLEST = {1280: 9, 390: 8.8}
#: axe의 규칙. 어두울 때에 달라지는 것은 색뿐입니다.
AXE = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "dark": ["color-contrast", "link-in-text-block"],
}


class Fault(NamedTuple):
    where: str
    rule: str
    what: str

    def __str__(self):
        return f"{self.where} · {self.rule}: {self.what}"


def faults(page):
    """막 연 쪽이 어긴 것들. 쪽은 밝은 1280픽셀이고, 그렇게 돌려놓습니다."""
    page.evaluate(f"window.pageRules = {RULES}")
    page.evaluate(Axe().axe_script)
    found = []

    def add(where, rule, broken):
        found.extend(Fault(where, rule, str(one)) for one in broken)

    add("1280", "links", filter(_dead, _ask(page, "links")))
    for width, rules in AT.items():
        page.set_viewport_size({"width": width, "height": DESKTOP["height"]})
        for rule in rules:
            add(f"{width}", rule, _ask(page, rule))
        if width in SMALLEST:
            add(f"{width}", "letters", _small_letters(page, SMALLEST[width]))
    page.set_viewport_size(DESKTOP)
    _ask(page, "thin_code")
    add("light", "axe", _axe(page, "light"))
    add("light", "quiet", page.trouble)
    page.trouble.clear()

    turn(page, "dark")
    add("dark", "images", _ask(page, "images"))
    add("dark", "axe", _axe(page, "dark"))
    turn(page, "light")
    add("dark", "quiet", page.trouble)
    return found


def turn(page, theme):
    page.emulate_media(color_scheme=theme)
    page.wait_for_selector(f"html[data-theme={theme}]", state="attached")


def _ask(page, rule):
    return page.evaluate(f"pageRules.{rule}()")


def _axe(page, theme):
    _ask(page, "mark_contrasts")
    # preload는 CSS 파일을 다시 읽으려다 콘솔에 오류를 적습니다.
    options = {"runOnly": AXE[theme], "resultTypes": ["violations"], "preload": False}
    found = page.evaluate("options => axe.run(document, options)", options)
    for rule in found["violations"]:
        for node in rule["nodes"][:3]:
            yield f"{rule['id']}: {node['failureSummary']}\n{node['html']}"


def _dead(link):
    """파일이나 그 안의 자리가 없는 안쪽 링크인가."""
    if not link.startswith("file:"):
        return False
    address, anchor = urldefrag(link)
    target, anchor = Path(unquote(urlsplit(address).path)), unquote(anchor)
    if not target.is_file():
        return True
    marks = f'id="{anchor}"', f'name="{anchor}"'
    return bool(anchor) and not any(mark in text_of(target) for mark in marks)


@functools.cache
def text_of(path):
    return path.read_text(encoding="utf-8")


#: 그림에서 가장 작은 글자의 높이를 픽셀로 잽니다. matplotlib은 글자를 길로 그리고 그
#: 크기를 100분의 1 배율로 적습니다. 단위는 포인트(4/3픽셀)입니다. 첨자는 세지 않습니다.
LETTER_SCALE = re.compile(r"(?:scale|matrix)\((\d*\.\d+) -\1\)")


@functools.cache
def smallest_letter(path):
    scales = LETTER_SCALE.findall(text_of(path)) if path.suffix == ".svg" else []
    return min(map(float, scales)) * 100 * 4 / 3 if scales else None


def _small_letters(page, smallest):
    for source, alt, scale in _ask(page, "figures"):
        letter = smallest_letter(Path(unquote(urlsplit(source).path)))
        if letter and letter * scale < smallest - 0.05:
            yield f"{alt}…: {letter * scale:.1f}픽셀"
