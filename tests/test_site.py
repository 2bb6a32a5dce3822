"""지은 사이트를 진짜 브라우저로 엽니다. 먼저 ``make html``로 지어야 합니다."""

import functools
import http.server
import io
import re
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import numpy as np
import pytest
from built_site import DESKTOP, PAGES, SITE, open_page
from PIL import Image


@pytest.fixture(scope="module", params=PAGES)
def page(browser, request):
    """쪽마다 한 번만 엽니다. 시험은 밝기나 폭을 바꾸면 되돌립니다."""
    opened = open_page(browser, request.param)
    yield opened
    opened.close()


def test_the_site_was_built():
    assert {"index.html", "lectures/attention.html", "reference/api.html"} <= set(PAGES)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_opens_quietly_and_offline(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.wait_for_selector(f"html[data-theme={scheme}]", state="attached")
    # 이름 앞의 표는 꾸밈입니다. 이름은 글자로 있습니다.
    images = page.locator("img:not(.logo__image)").evaluate_all(
        "all => all.map(i => [i.getAttribute('alt') ?? '', i.src, i.naturalWidth])"
    )
    page.emulate_media(color_scheme="light")
    assert page.trouble == []
    assert all(
        alt.strip() and not alt.endswith((".svg", ".png")) for alt, _, _ in images
    )
    assert all(width > 0 for _, _, width in images)
    assert page.locator("math merror, .math:not(:has(math))").count() == 0


@pytest.mark.parametrize("name", ["lectures/attention.html", "practice/dates.html"])
def test_figures_are_dark_where_the_page_is(visit, name):
    page = visit(name)
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]", state="attached")
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


def pixels(screenshot):
    return np.asarray(Image.open(io.BytesIO(screenshot)).convert("RGB")).astype(int)


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_no_page_scrolls_sideways(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    widest = page.evaluate("document.documentElement.scrollWidth")
    wide = page.evaluate(
        f"[...document.querySelectorAll('.bd-article *')].filter("
        f"e => e.getBoundingClientRect().right > {width + 1})"
        ".slice(0, 5).map(e => e.outerHTML.slice(0, 200))"
    )
    page.set_viewport_size(DESKTOP)
    assert widest <= width, wide


def test_short_cells_and_equations_stay_whole_on_a_phone(page):
    """벡터와 모양은 한 줄이고, 수식의 번호는 수식 위에 얹히지 않습니다."""
    page.set_viewport_size({"width": 390, "height": 900})
    broken = page.evaluate(
        """() => [...document.querySelectorAll('.bd-article td')].filter(cell => {
             const lines = document.createRange()
             lines.selectNodeContents(cell)
             const {height} = lines.getBoundingClientRect()
             return /^[^가-힣]{1,12}$/.test(cell.innerText.trim()) && height > 45
           }).map(cell => cell.innerText)"""
    )
    covered = page.evaluate(
        """() => [...document.querySelectorAll('div.math .eqno')].filter(number =>
             number.getBoundingClientRect().bottom >
             number.parentElement.querySelector('math')
               .getBoundingClientRect().top + 1
           ).map(number => number.innerText)"""
    )
    page.set_viewport_size(DESKTOP)
    assert (broken, covered) == ([], [])


def test_printed_columns_stay_aligned_on_a_phone(page):
    """공백으로 칸을 맞춘 출력은 줄을 바꾸지 않고 옆으로 밉니다."""
    page.set_viewport_size({"width": 390, "height": 900})
    wrapped = page.evaluate(
        r"""() => [...document.querySelectorAll('.output.stream pre')].filter(pre => {
             const lines = pre.textContent.trimEnd().split('\n')
             const aligned = lines.filter(line => /\S {2,}\S/.test(line))
             const height = pre.clientHeight - 2 * parseFloat(
               getComputedStyle(pre).paddingTop)
             return lines.every(line => line.length < 80)
               && aligned.length > 2 && aligned.length * 2 > lines.length
               && height > (lines.length + 0.5) * parseFloat(
                 getComputedStyle(pre).lineHeight)
           }).map(pre => pre.textContent)"""
    )
    page.set_viewport_size(DESKTOP)
    assert wrapped == []


@pytest.mark.parametrize("name", PAGES)
def test_the_number_of_seeds_stays_with_its_word(name):
    assert not re.search(r"<td[^>]*>(?:<p>)?[^<]*시드 \d", _text(SITE / name))


@pytest.mark.parametrize("width", [390, 1280])
def test_a_particle_stays_with_its_formula(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    parted = page.evaluate(
        r"""() => [...document.querySelectorAll('.bd-article math')].filter(formula => {
             const text = formula.nextSibling
             if (text?.nodeType !== 3 || !/^\S/.test(text.data)) return false
             const letter = document.createRange()
             letter.setStart(text, 0)
             letter.setEnd(text, 1)
             return letter.getBoundingClientRect().left
               < formula.getBoundingClientRect().left
           }).map(formula => formula.nextSibling.data)"""
    )
    page.set_viewport_size(DESKTOP)
    assert parted == []


def test_the_number_of_a_link_stays_with_its_word(page):
    """'실수 31'이나 '그림 6.4'의 가운데에서 줄을 바꾸지 않습니다."""
    page.set_viewport_size({"width": 390, "height": 900})
    parted = page.evaluate(
        r"""() => [...document.querySelectorAll('.bd-article span.std')].filter(
             link => /^[가-힣]{1,2} [\d.]+$/.test(link.textContent)
               && link.getClientRects().length > 1
           ).map(link => link.textContent)"""
    )
    page.set_viewport_size(DESKTOP)
    assert parted == []


#: 그림에서 가장 작은 글자의 높이를 픽셀로 잽니다. matplotlib은 글자를 길로 그리고 그
#: 크기를 100분의 1 배율로 적습니다. 단위는 포인트(4/3픽셀)입니다. 첨자는 세지 않습니다.
LETTER_SCALE = re.compile(r"(?:scale|matrix)\((\d*\.\d+) -\1\)")


@functools.cache
def smallest_letter(path):
    scales = LETTER_SCALE.findall(_text(path)) if path.suffix == ".svg" else []
    return min(map(float, scales)) * 100 * 4 / 3 if scales else None


@pytest.mark.parametrize("width, smallest", [(1280, 9), (390, 8)])
def test_letters_of_figures_can_be_read(page, width, smallest):
    page.set_viewport_size({"width": width, "height": 900})
    figures = page.locator(".cell_output img").evaluate_all(
        "all => all.map(i => [i.src, i.alt.slice(0, 40),"
        " (i.clientWidth - 2 * parseFloat(getComputedStyle(i).paddingLeft))"
        " / i.naturalWidth])"
    )
    page.set_viewport_size(DESKTOP)
    small = []
    for source, alt, shrunk in figures:
        letter = smallest_letter(Path(unquote(urlsplit(source).path)))
        if letter and letter * shrunk < smallest - 0.05:
            small.append(f"{alt}…: {letter * shrunk:.1f}픽셀")
    assert not small, "\n".join(small)


def test_code_fits_the_column(page):
    scrolling = page.locator(".bd-article pre").evaluate_all(
        "all => all.filter(p => p.checkVisibility() && p.scrollWidth > p.clientWidth)"
        ".map(p => p.innerText.slice(0, 80))"
    )
    assert not scrolling, "\n---\n".join(scrolling)


def test_every_internal_link_arrives(page):
    links = page.locator("a[href]").evaluate_all(
        # SVG 안의 링크는 주소를 객체에 담습니다.
        "links => links.map(l => l.href.baseVal === undefined ? l.href"
        " : new URL(l.href.baseVal, document.baseURI).href)"
    )
    for link in {link for link in links if link.startswith("file:")}:
        address, anchor = urldefrag(link)
        target = Path(unquote(urlsplit(address).path))
        assert target.is_file(), link
        assert not anchor or _has_anchor(target, unquote(anchor)), link


def _has_anchor(path, anchor):
    text = _text(path)
    return f'id="{anchor}"' in text or f'name="{anchor}"' in text


@functools.cache
def _text(path):
    return path.read_text(encoding="utf-8")


def test_the_map_of_the_model_and_its_table_name_the_same_lectures(visit):
    page = visit("lectures/overview.html")
    drawn, listed = (
        page.locator(where).evaluate_all(
            "links => links.map(l => (l.href.baseVal ?? l.getAttribute('href'))"
            ".split('#')[0])"
        )
        for where in ("#overview-map svg a", "#overview-map table a.reference")
    )
    assert len(drawn) > 20
    assert set(drawn) == set(listed) - {"../reference/glossary.html"}


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


@pytest.mark.parametrize(
    "name", ["index.html", "lectures/attention.html", "search.html"]
)
def test_the_theme_speaks_korean(visit, name):
    page = visit(name)
    labels = page.evaluate(
        "[...document.querySelectorAll('[title], [aria-label], [placeholder]')]"
        ".filter(e => !e.closest('pre') && e.checkVisibility())"
        ".flatMap(e => ['title', 'aria-label', 'placeholder']"
        ".map(a => e.getAttribute(a)))"
        ".filter(Boolean)"
    )
    english = {label for label in labels if not any("가" <= c <= "힣" for c in label)}
    assert {label for label in english if "." not in label} == set()


def test_code_names_lead_to_the_api(visit):
    page = visit("lectures/attention.html")
    link = page.locator(
        "pre a[href*='reference/api.html#transformer_notes.attention.scaled']"
    )
    assert link.count() > 0


def test_no_page_takes_longer_than_45_minutes_and_the_lectures_less_than_ten_hours():
    minutes = {
        name: int(found[1])
        for name in PAGES
        if (found := re.search(r"읽는 데 약 (\d+)분", _text(SITE / name)))
    }
    assert len(minutes) == 30
    assert {name: time for name, time in minutes.items() if time > 45} == {}
    total = re.search(r"강의를 모두 더하면 ([\d.]+)시간", _text(SITE / "index.html"))
    assert float(total[1]) < 10


@pytest.fixture(scope="module")
def served():
    """사이트를 올린 것처럼 냅니다. 없는 주소에는 404.html이 옵니다."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def send_error(self, code, *_):
            self.send_response(code)
            self.end_headers()
            self.wfile.write((SITE / "404.html").read_bytes())

        def log_message(self, *_):
            pass

    serve = functools.partial(Handler, directory=SITE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_closing_words_lead_to_the_next_chapter():
    found = {}
    for name in PAGES:
        text = (SITE / name).read_text("utf-8")
        *_, closing = [None, *re.findall(r"(?s)<p>다음은 .*?</p>", text)]
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


def test_what_goes_on_sideways_fades_until_its_end(visit):
    page = visit("lectures/since_2017.html")
    page.set_viewport_size({"width": 390, "height": 800})
    fades = """end => [...document.querySelectorAll('.bd-article :is(table, div.math)')]
      .map(async box => {
        if (end) box.scrollLeft = box.scrollWidth
        await new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))
        return [box.scrollWidth > box.clientWidth,
                getComputedStyle(box).getPropertyValue('--more') !== '0px']
      })"""
    for end in (False, True):
        found = page.evaluate(f"end => Promise.all(({fades})(end))", end)
        assert [fades for _, fades in found] == [wide and not end for wide, _ in found]
    assert {wide for wide, _ in found} == {False, True}


def test_an_address_without_a_page_leads_on_from_any_depth(browser, served):
    page = browser.new_page(viewport=DESKTOP, locale="ko-KR")
    missing = f"{served}/lectures/no/such/page.html"
    assert page.goto(missing).status == 404
    fonts = "getComputedStyle(document.body).fontFamily"
    assert "Notes Sans" in page.evaluate(fonts)
    page.locator("#pst-skip-link a").press("Enter")
    assert page.url == f"{missing}#main-content"
    page.get_by_role("link", name="길잡이").click()
    assert page.url == f"{served}/index.html#index-map"
    page.close()


def test_the_guide_names_every_chapter_in_the_order_of_the_sidebar(visit):
    page = visit("index.html")
    guide, sidebar = (
        page.locator(where).evaluate_all("links => links.map(l => l.innerText)")
        for where in (
            "#index-map li a:first-of-type",
            ".bd-docs-nav .toctree-l1:not(.current) > a",
        )
    )
    numbered = [text for text in sidebar if re.match(r"\d+\. ", text)]
    assert guide == numbered and len(guide) == len(set(guide)) > 25


def test_the_map_of_the_first_page_leads_to_the_lectures(visit):
    page = visit("index.html")
    page.get_by_role("link", name="크로스 어텐션", exact=True).click()
    assert page.url.endswith("lectures/multi_head_attention.html")
    page.locator(".here-map").click()
    assert page.url.endswith("lectures/overview.html#overview-map")


def test_the_bibliography_is_a_list_of_its_entries(visit):
    page = visit("reference/bibliography.html")
    entries = page.locator("[role=list].citation-list > [role=listitem]")
    assert entries.count() == page.locator(".citation").count() > 70
    assert page.locator("[role^=doc-biblio]").count() == 0
