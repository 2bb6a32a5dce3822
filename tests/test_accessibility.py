"""누구나 읽을 수 있는가: axe-core, 자판, 손가락, 종이, 두 배로 키운 글자."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from built_site import PAGES, SITE, open_page

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
#: 소스 쪽은 모두 한 틀입니다.
READ = [name for name in PAGES if not name.startswith("source/")]
READ += [name for name in PAGES if name == "source/attention.html"]
BOTH = {"index.html", "lectures/attention.html", "source/attention.html"}
THEMES = "light", "dark"
CASES = [
    (name, scheme)
    for number, name in enumerate(READ)
    for scheme in (THEMES if name in BOTH else THEMES[number % 2 :][:1])
]


@pytest.mark.parametrize("name, scheme", CASES)
def test_axe_finds_nothing(browser, name, scheme):
    page = open_page(browser, name)
    page.emulate_media(color_scheme=scheme)
    found = (
        Axe()
        .run(page, options={"runOnly": WCAG, "resultTypes": ["violations"]})
        .response["violations"]
    )
    page.close()
    assert not found, "\n".join(
        f"{rule['id']}: {node['failureSummary']}\n{node['html']}"
        for rule in found
        for node in rule["nodes"][:3]
    )


def test_a_figure_opens_large_by_keyboard_and_focus_returns(visit):
    page = visit("lectures/attention.html")
    button = page.locator(".enlarge").first
    small = button.locator("img").bounding_box()
    button.focus()
    page.keyboard.press("Enter")
    large = page.locator("dialog.enlarged img")
    assert large.bounding_box()["width"] > small["width"]
    assert large.get_attribute("alt") == button.locator("img").get_attribute("alt")
    page.keyboard.press("Escape")
    assert not large.is_visible()
    assert button.evaluate("button => button === document.activeElement")


def test_a_code_name_is_one_stop_however_often_it_is_used(visit):
    page = visit("lectures/attention.html")
    links = page.locator("pre a.sphinx-codeautolink-a").evaluate_all(
        "links => links.map(link => [link.href, link.tabIndex])"
    )
    stops = [href for href, stop in links if stop >= 0]
    assert len(stops) == len(set(stops)) < len(links)
    assert set(stops) == {href for href, _ in links}


def test_copy_buttons_are_seen_and_hit_by_a_finger(browser):
    context = browser.new_context(
        has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800}
    )
    page = context.new_page()
    page.goto((SITE / "lectures/attention.html").as_uri())
    button = page.locator("button.copybtn").first
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert button.evaluate("button => getComputedStyle(button).opacity") == "1"
    assert min(box["width"], box["height"]) >= 24
    context.close()


@pytest.fixture
def phone(browser):
    context = browser.new_context(
        has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800}
    )
    page = context.new_page()
    page.goto((SITE / "lectures" / "attention.html").as_uri())
    page.wait_for_function("!document.documentElement.style.opacity")
    yield page
    context.close()


def test_a_tap_on_the_title_of_a_solution_opens_it(phone):
    solution = phone.locator(".solution").first
    shut = phone.locator(".solution .toggle-hidden, .solution.toggle-hidden")
    before = shut.count()
    solution.scroll_into_view_if_needed()
    phone.wait_for_timeout(300)
    box = solution.locator(".admonition-title a").first.bounding_box()
    phone.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    phone.wait_for_timeout(300)
    assert shut.count() == before - 1 and "#ex-" not in phone.url


def test_the_contents_close_when_a_section_is_chosen(phone):
    phone.locator("button.secondary-toggle").tap()
    dialog = phone.locator("dialog[open]")
    phone.wait_for_timeout(500)
    assert phone.locator(".tooltip:visible").count() == 0  # 단추의 이름을 덮지 않습니다
    dialog.locator("a[href^='#']").last.tap()
    assert dialog.count() == 0 and "#" in phone.url


def test_the_menu_opens_at_the_chapter_that_is_read(phone):
    phone.goto((SITE / "reference" / "glossary.html").as_uri())
    phone.locator("button.primary-toggle").first.tap()
    here = phone.locator("dialog[open] .current.active")
    phone.wait_for_timeout(300)
    box = here.bounding_box()
    assert 0 < box["y"] < 700


def test_an_enlarged_figure_is_larger_than_the_page(phone):
    before = phone.locator(".cell_output .enlarge img").first.bounding_box()
    phone.locator(".cell_output .enlarge").first.tap()
    phone.wait_for_timeout(300)
    assert (
        phone.locator(".enlarged img").bounding_box()["width"] > before["width"] * 1.4
    )


def test_the_copy_button_covers_no_end_of_an_output(phone):
    room = phone.locator(".cell_output pre").evaluate_all(
        "all => all.map(pre => parseFloat(getComputedStyle(pre).paddingRight))"
    )
    button = phone.locator(".cell_output button.copybtn").first.bounding_box()
    assert min(room) > button["width"] + 8


def test_paper_is_light_and_holds_the_whole_lecture(visit):
    page = visit("lectures/attention.html")
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]", state="attached")
    page.emulate_media(media="print")
    page.wait_for_selector("html[data-theme=light]", state="attached")
    assert (
        page.locator("math").first.evaluate("math => getComputedStyle(math).color")
        == "rgb(0, 0, 0)"
    )
    unwanted = ".bd-sidebar-primary, .bd-sidebar-secondary, .prev-next-footer, .copybtn"
    assert not any(e.is_visible() for e in page.locator(unwanted).all())
    assert page.locator(".admonition.solution p").last.is_visible()
    clipped = page.locator("pre").evaluate_all(
        "all => all.filter(p => p.checkVisibility() && p.scrollWidth > p.clientWidth)"
        ".length"
    )
    assert clipped == 0
    page.emulate_media(media="screen", color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]", state="attached")


@pytest.mark.parametrize("name", ["index.html", "lectures/attention.html"])
def test_letters_twice_as_large_lose_nothing(visit, name):
    page = visit(name)
    page.add_style_tag(content="html { font-size: 200% !important }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    outside = page.locator(".bd-article :is(h1, h2, h3, p, li)").evaluate_all(
        "all => all.filter(e => e.checkVisibility()"
        " && e.getBoundingClientRect().right > 1281).map(e => e.innerText)"
    )
    assert outside == []
