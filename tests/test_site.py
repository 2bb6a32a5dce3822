"""지은 사이트를 진짜 브라우저로 엽니다. 먼저 ``make html``로 지어야 합니다."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from built_site import PAGES, READ, SITE
from page_rules import AT, AXE, SMALLEST, faults, smallest_letter, text_of, turn
from PIL import Image


def test_the_site_was_built():
    assert {"index.html", "lectures/attention.html", "reference/api.html"} <= set(PAGES)


@pytest.mark.parametrize("name", READ)
def test_a_page_keeps_every_rule(visit, name):
    found = faults(visit(name))
    assert not found, "\n".join(f"{name} · {fault}" for fault in found)


def test_every_rule_finds_what_breaks_it(visit):
    page = visit("reference/changelog.html")
    assert faults(page) == []
    drawing = next(path for path in SITE.glob("_images/*.svg") if smallest_letter(path))
    planted = Path(__file__).with_name("page_rules.html").read_text("utf-8")
    page.evaluate(
        """([planted, drawing]) => {
          const broken = document.createRange().createContextualFragment(planted)
          broken.querySelector('.drawing').src = drawing
          document.querySelector('.bd-article').append(broken)
        }""",
        [planted, drawing.as_uri()],
    )
    page.wait_for_load_state("networkidle")
    found = faults(page)
    strange = [
        str(fault)
        for fault in found
        if "7777" not in fault.what and fault.rule != "quiet"
    ]
    assert not strange, "\n".join(strange)
    seen = {(fault.where, fault.rule) for fault in found}
    assert seen == {
        *((str(width), rule) for width, rules in AT.items() for rule in rules),
        *((str(width), "letters") for width in SMALLEST),
        *((theme, "axe") for theme in AXE),
        ("1280", "links"), ("light", "quiet"), ("dark", "images"),
    }  # fmt: skip
    said = "\n".join(map(str, found))
    for once in (
        "links: .*7777.html",
        "links: .*#7777-nowhere",
        "quiet: 7777-logged",
        "quiet: 7777-thrown",
        "quiet: 밖으로 나간 요청",
        "quiet: 실패",
        "light · axe: color-contrast",
        "light · axe: button-name",
        'dark · axe: color-contrast[^·]*class="dim"',
    ):
        assert re.search(once, said), f"{once}\n{said}"


@pytest.mark.parametrize("name", ["lectures/attention.html", "practice/dates.html"])
def test_figures_are_dark_where_the_page_is(visit, name):
    page = visit(name)
    turn(page, "dark")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ground = [int(part) for part in re.findall(r"\d+", ground)[:3]]
    blues = 0
    for figure in page.locator(".cell_output img").all():
        seen = pixels(figure.screenshot())
        assert np.abs(seen[2, 2] - ground).max() <= 2, figure.get_attribute("alt")
        assert seen.max() > 200 and np.median(seen) < 60
        colored = seen[np.ptp(seen, axis=-1) > 60]
        blues += (colored.argmax(axis=-1) == 2).sum()
    assert blues  # 쿼리의 파랑은 파랑으로 남습니다
    page.locator(".enlarge").first.click()
    large = pixels(page.locator(".enlarged img").screenshot())
    assert np.abs(large[2, 2] - ground).max() <= 2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_code_and_output_and_folded_code_have_one_frame(visit, theme):
    page = visit("lectures/attention.html")
    turn(page, theme)
    frames = page.evaluate(
        """() => [...new Set([...document.querySelectorAll(
          '.bd-article :is(div.highlight, details.hide, .cell_input)')].flatMap(e => {
            const {boxShadow, ...all} = getComputedStyle(e)
            const sides = ['Top', 'Right', 'Bottom', 'Left'].map(side =>
              ['Width', 'Color'].map(what => all[`border${side}${what}`]).join(' '))
            return sides.filter(side => !side.startsWith('0px')).concat(boxShadow)
          }))]"""
    )
    assert len(frames) == 2 and "none" in frames, frames


def pixels(screenshot):
    return np.asarray(Image.open(io.BytesIO(screenshot)).convert("RGB")).astype(int)


def test_the_number_of_seeds_stays_with_its_word():
    split = re.compile(r"<td[^>]*>(?:<p>)?[^<]*시드 \d")
    found = {name: split.findall(text_of(SITE / name)) for name in PAGES}
    assert {name: cells for name, cells in found.items() if cells} == {}


def test_hangul_is_drawn_with_the_font_of_the_site(visit):
    page = visit("index.html")
    loaded = page.evaluate(
        "async () => { await document.fonts.ready;"
        " return [...document.fonts]"
        ".filter(f => f.status === 'loaded').map(f => f.family) }"
    )
    assert any("Notes Sans" in family for family in loaded)
    assert page.evaluate("getComputedStyle(document.body).wordBreak") == "keep-all"
    assert page.evaluate("document.documentElement.lang") == "ko"


def test_the_theme_speaks_korean(visit):
    for name in ("index.html", "lectures/attention.html", "search.html"):
        labels = visit(name).evaluate(
            "[...document.querySelectorAll('[title], [aria-label], [placeholder]')]"
            ".filter(e => !e.closest('pre, a.reference') && e.checkVisibility())"
            ".flatMap(e => ['title', 'aria-label', 'placeholder']"
            ".map(a => e.getAttribute(a)))"
            ".filter(Boolean)"
        )
        assert {label for label in labels if not re.search("[가-힣]", label)} == set()


def test_code_names_lead_to_the_api(visit):
    page = visit("lectures/attention.html")
    link = page.locator(
        "pre a[href*='reference/api/attention.html#transformer_notes.attention.scaled']"
    )
    assert link.count() > 0


def test_no_page_takes_too_long():
    minutes = {
        name: int(found[1])
        for name in PAGES
        if (found := re.search(r"읽는 데 약 (\d+)분", text_of(SITE / name)))
    }
    lectures = [name for name in PAGES if name.startswith("lectures/")]
    assert {name: minutes[name] for name in lectures if minutes[name] > 20} == {}
    total = re.search(r"강의를 모두 더하면 ([\d.]+)시간", text_of(SITE / "index.html"))
    assert float(total[1]) <= 5


def test_the_closing_words_lead_to_the_next_chapter():
    found = {}
    for name in PAGES:
        text = text_of(SITE / name)
        *_, closing = [None, *re.findall(r"(?s)다음(?:은| 장).*?</p>", text)]
        link = closing and re.search(
            'class="reference internal" href="([^"#]+)', closing
        )
        if link:
            found[name] = (
                link[1],
                re.search('class="right-next"\\s+href="([^"#]+)', text)[1],
            )
    assert len(found) > 15
    assert {name: pair for name, pair in found.items() if pair[0] != pair[1]} == {}


def test_figures_stand_in_the_middle_and_the_title_is_printed(visit):
    page = visit("lectures/seq2seq.html")
    off = page.evaluate(
        """() => [...document.querySelectorAll('figure:has(.enlarge)')].map(figure => {
          const [outer, inner] = [figure, figure.querySelector('img')]
            .map(e => e.getBoundingClientRect())
          return Math.abs(outer.left + outer.right - inner.left - inner.right)
        })"""
    )
    assert off and max(off) < 4
    page.emulate_media(media="print")
    title = page.locator(".bd-article h1")
    assert title.bounding_box()["height"] > 10


def test_the_contents_follow_the_reader(visit):
    page = visit("lectures/seq2seq.html", viewport={"width": 1440, "height": 400})
    contents = "document.querySelector('.bd-sidebar-secondary')"
    assert page.evaluate(f"{contents}.scrollTop") == 0
    page.locator("#seq2seq-summary").scroll_into_view_if_needed()
    page.wait_for_function(f"{contents}.scrollTop > 0")
    # 제목을 지나치지 않고 건너뛰어도 표시는 읽는 곳에 있습니다. 쪽의 처음에는 없습니다.
    # 쪽이 늦게 길어지기도 하므로, 볼 때마다 그 끝으로 갑니다.
    marked = f"{contents}.querySelector('.nav-link[aria-current]')?.hash"
    for top, expected in ((0, ""), (1e6, "#seq2seq-summary")):
        there = f"scrollTo({{ top: {top}, behavior: 'instant' }})"
        right = f"({marked} ?? '') === '{expected}'"
        page.wait_for_function(f"() => {{ {there}; return {right} }}", polling=400)


def test_what_goes_on_sideways_fades_until_its_end(visit):
    page = visit("deeper/since_2017.html", viewport={"width": 390, "height": 800})
    seen = ".filter(box => box.checkVisibility())"
    boxes = (
        f"[...document.querySelectorAll('.bd-article :is(pre, table, div.math)')]{seen}"
    )
    wide = f"{boxes}.map(box => box.scrollWidth > box.clientWidth)"
    assert {*page.evaluate(wide)} == {True, False}
    for end in ("false", "true"):
        page.evaluate(f"{boxes}.forEach(b => b.scrollLeft = {end} * b.scrollWidth)")
        page.wait_for_function(
            f"""{boxes}.every(box => {{
              const fades = getComputedStyle(box).getPropertyValue('--more') !== '0px'
              return fades === (box.scrollWidth > box.clientWidth && !{end})
            }})"""
        )


def test_an_address_without_a_page_leads_on_from_any_depth(tab, served):
    page = tab()
    missing = f"{served}/lectures/no/such/page.html"
    assert page.goto(missing).status == 404
    fonts = "getComputedStyle(document.body).fontFamily"
    assert "Notes Sans" in page.evaluate(fonts)
    page.locator("#pst-skip-link a").press("Enter")
    assert page.url == f"{missing}#main-content"
    page.get_by_role("link", name="길잡이").click()
    assert page.url == f"{served}/index.html#index-map"


def test_the_guide_names_every_chapter_in_the_order_of_the_sidebar(visit):
    page = visit("index.html")
    guide, sidebar = (
        page.locator(where).evaluate_all("links => links.map(l => l.innerText)")
        for where in (
            "#index-map li a:first-of-type",
            ".bd-docs-nav .toctree-l1:not(.current) > a",
        )
    )
    numbered = [text for text in sidebar if re.match(r"\d+\. .*(?<!더 깊이)$", text)]
    assert guide == numbered and len(guide) == len(set(guide)) > 25


def test_the_map_of_the_first_page_leads_to_the_lectures(visit):
    page = visit("index.html")
    page.get_by_role("link", name="크로스 어텐션", exact=True).click()
    assert page.url.endswith("lectures/multi_head_attention.html")
    assert page.locator(".here").bounding_box()["height"] < 100
    page.locator(".here-map").click()
    assert page.url.endswith("lectures/overview.html#overview-map")


def test_the_bibliography_is_a_list_of_its_entries(visit):
    page = visit("reference/bibliography.html")
    entries = page.locator("[role=list].citation-list > [role=listitem]")
    assert entries.count() == page.locator(".citation").count() > 70
    assert page.locator("[role^=doc-biblio]").count() == 0
