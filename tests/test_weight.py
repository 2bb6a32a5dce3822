"""지은 사이트의 파일: 가볍고, 올바르고, 쓰지 않는 것이 없다."""

import gzip
import re
from collections import Counter
from pathlib import Path

import pydata_sphinx_theme
import pytest
from built_site import PAGES, READ, SITE
from justhtml import JustHTML
from slimming import purge

LECTURES = [name for name in PAGES if name.startswith("lectures/")]

#: 답을 보이는 쪽만 부르는 글꼴입니다.
ANSWERS = {SITE / "_static" / "fonts" / "NotesAnswers-Regular.woff2"}


def transferred(path):
    """gzip으로 내보낼 때의 바이트. 글꼴은 이미 눌려 있습니다."""
    data = path.read_bytes()
    return len(data if path.suffix == ".woff2" else gzip.compress(data))


def first_view(name):
    """쪽과 그 쪽이 부르는 스타일, 스크립트, 그림, 강의가 쓰는 글꼴의 바이트."""
    path = SITE / name
    text = path.read_text(encoding="utf-8")
    called = re.findall(r'<(?:link|script|img)\b[^>]*?(?:href|src)="([^"#?]+)', text)
    files = {(path.parent / address).resolve() for address in called}
    files |= {*(SITE / "_static" / "fonts").glob("*.woff2")} - ANSWERS
    files = {file for file in files if file.suffix not in {".html", ".inv"}}
    return transferred(path) + sum(map(transferred, files))


def test_no_lecture_weighs_more_than_a_megabyte_and_most_half_of_it():
    weights = {name: first_view(name) for name in LECTURES}
    assert max(weights.values()) < 1e6, weights
    assert sorted(weights.values())[len(weights) // 2] < 5e5, weights


def test_a_page_of_mere_text_weighs_300_kilobytes():
    # 수식과 코드의 한글은 그것이 있는 쪽만 읽습니다.
    called = {"NotesMath-Regular", "NotesCode-Hangul"}
    spared = sum(
        transferred(SITE / "_static" / "fonts" / f"{name}.woff2") for name in called
    )
    for name in ("bibliography", "changelog", "english", "glossary"):
        assert first_view(f"reference/{name}.html") - spared < 3e5, name


#: 글이 보일 때에 보통과 굵은 글꼴이 와 있었는가
SHOWN = """
let hidden = false
new MutationObserver(() => {
  const { opacity } = document.documentElement.style
  hidden ||= opacity === '0'
  if (!hidden || opacity) return
  const ready = weight => document.fonts.check(`${weight} 1em 'Notes Sans'`, '가')
  window.shown ??= [400, 700].map(ready)
}).observe(document, {attributes: true, childList: true, subtree: true})
"""


@pytest.mark.parametrize("late", [False, True])
def test_text_waits_for_its_fonts_but_not_for_ever(tab, late):
    page = tab()
    if late:
        page.route("**/NotesSans-*.woff2", lambda route: None)
    page.add_init_script(SHOWN)
    address = (SITE / "lectures" / "overview.html").as_uri()
    page.goto(address, wait_until="domcontentloaded")
    page.wait_for_function("window.shown")
    assert page.evaluate("shown") == [not late] * 2
    assert page.locator(".bd-article h1").is_visible()


def test_the_icon_font_of_the_theme_is_gone():
    named = [path for path in SITE.rglob("*") if "fontawesome" in path.name.lower()]
    styles = {path: path.read_text("utf-8") for path in SITE.rglob("*.css")}
    assert named == []
    assert [path for path, text in styles.items() if "Awesome" in text] == []


def test_purging_keeps_what_may_apply():
    css = (
        '@charset "UTF-8"; /* a */ @import "b.css"; a, .gone b { color: red }'
        " @media print { .gone {} :not(.gone) {} } @font-face { src: url(a) }"
    )
    assert purge(css, set()) == (
        '@charset "UTF-8";@import "b.css";a{ color: red }'
        "@media print{:not(.gone){}}@font-face{ src: url(a) }"
    )


@pytest.mark.parametrize(
    "name", ["lectures/attention.html", "reference/api/attention.html"]
)
def test_no_rule_that_applies_was_taken_from_the_theme(visit, name):
    style = "static/styles/pydata-sphinx-theme.css"
    theme = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme"
    before = (theme / style).read_text("utf-8")
    after = (SITE / "_static" / "styles" / Path(style).name).read_text("utf-8")
    lost = visit(name).evaluate(
        r"""([before, after]) => {
          const selectors = css => {
            const sheet = new CSSStyleSheet(), found = new Set()
            sheet.replaceSync(css)
            const read = rules => { for (const rule of rules) {
              if (rule.selectorText)
                for (const one of rule.selectorText.split(/,(?![^(]*\))/))
                  found.add(one.trim())
              else read(rule.cssRules ?? [])
            } }
            read(sheet.cssRules)
            return found
          }
          const kept = selectors(after)
          return [...selectors(before)].filter(selector => {
            if (kept.has(selector) || /^(:is\()?\.fa[srb]?\b|:host/.test(selector))
              return false
            const state = /::?(?!is|not|where|has|root)[\w-]+(\([^)]*\))?/g
            try {
              return document.querySelector(selector.replace(state, '')) !== null
            } catch { return false }  // 상태만으로 된 선택자
          })
        }""",
        [before, after],
    )
    assert lost == []


def test_html_is_well_formed_and_every_id_is_one_place():
    found = []
    for name in READ:
        text = (SITE / name).read_text(encoding="utf-8")
        found += [f"{name}: {e}" for e in JustHTML(text, collect_errors=True).errors]
        visible = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", text)
        ids = Counter(re.findall(r'\sid="([^"]+)"', visible))
        found += [f"{name}: id {one}" for one, count in ids.items() if count > 1]
        found += [f"{name}: {one}" for one in re.findall(r"<summary>\s*<p\b", visible)]
    assert not found, "\n".join(found)
