"""누구나 읽을 수 있는가: 자판, 손가락, 종이, 두 배로 키운 글자. axe는 test_site에."""

import pytest
from built_site import PHONE
from page_rules import turn


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
    links = page.locator("pre a.code-link").evaluate_all(
        "links => links.map(link => [link.href, link.tabIndex])"
    )
    stops = [href for href, stop in links if stop >= 0]
    assert len(stops) == len(set(stops)) < len(links)
    assert set(stops) == {href for href, _ in links}


@pytest.fixture
def phone(visit):
    return visit("lectures/attention.html", **PHONE)


def test_copy_buttons_are_seen_and_hit_by_a_finger(phone):
    button = phone.locator("button.copybtn").first
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert button.evaluate("button => getComputedStyle(button).opacity") == "1"
    assert min(box["width"], box["height"]) >= 24


def test_a_tap_on_the_title_of_a_solution_opens_it(phone):
    shut = ".solution .toggle-hidden, .solution.toggle-hidden"
    before = phone.locator(shut).count()
    # 제목을 덮은 단추가 눌려도 됩니다.
    phone.locator(".solution .admonition-title a").first.tap(force=True)
    phone.wait_for_function(
        f"before => document.querySelectorAll('{shut}').length === before - 1",
        arg=before,
    )
    assert "#ex-" not in phone.url


def test_the_contents_close_when_a_section_is_chosen(phone):
    phone.clock.install()
    phone.locator("button.secondary-toggle").tap()
    dialog = phone.locator("dialog[open]")
    dialog.wait_for()
    phone.clock.run_for(1000)
    assert phone.locator(".tooltip:visible").count() == 0  # 단추의 이름을 덮지 않습니다
    dialog.locator("a[href^='#']").last.tap()
    dialog.wait_for(state="detached")
    assert "#" in phone.url


def test_the_menu_opens_at_the_chapter_that_is_read(visit):
    phone = visit("reference/glossary.html", **PHONE)
    phone.locator("button.primary-toggle").first.tap()
    phone.locator("dialog[open] .current.active").wait_for()
    phone.wait_for_function(
        """() => {
          const here = document.querySelector('dialog[open] .current.active')
          const {top} = here.getBoundingClientRect()
          return 0 < top && top < 700
        }"""
    )


def test_a_figure_on_a_phone_is_whole_first_and_twice_as_large_after_a_tap(phone):
    phone.locator(".cell_output .enlarge").first.tap()
    image = phone.locator(".enlarged img")
    whole, room = image.bounding_box(), phone.viewport_size
    assert whole["x"] >= 0 and whole["x"] + whole["width"] <= room["width"]
    assert whole["y"] >= 0 and whole["y"] + whole["height"] <= room["height"]
    image.tap(position={"x": whole["width"] - 9, "y": whole["height"] - 9})
    large = image.bounding_box()
    assert large["width"] == pytest.approx(2 * whole["width"], abs=1)
    assert large["x"] + large["width"] <= room["width"]  # 누른 오른쪽 끝이 보입니다
    for label, width in (("전체 보기", whole["width"]), ("두 배로", large["width"])):
        phone.get_by_role("button", name=label).tap()
        assert image.bounding_box()["width"] == width
    phone.get_by_role("button", name="닫기", exact=True).tap()
    assert not image.is_visible()


def test_the_copy_button_covers_no_end_of_code_and_no_output(phone):
    assert phone.locator(".cell_output button.copybtn:visible").count() == 0
    room = phone.locator(".bd-article .highlight pre").evaluate_all(
        "all => all.map(pre => parseFloat(getComputedStyle(pre).paddingRight))"
    )
    button = phone.locator("button.copybtn:visible").first.bounding_box()
    assert min(room) > button["width"] + 8


def test_paper_is_light_and_holds_the_whole_lecture(visit):
    page = visit("lectures/attention.html")
    turn(page, "dark")
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


def test_letters_twice_as_large_lose_nothing(visit):
    for name in ("index.html", "lectures/attention.html"):
        page = visit(name)
        page.add_style_tag(content="html { font-size: 200% !important }")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280, name
        outside = page.locator(".bd-article :is(h1, h2, h3, p, li)").evaluate_all(
            "all => all.filter(e => e.checkVisibility()"
            " && e.getBoundingClientRect().right > 1281).map(e => e.innerText)"
        )
        assert outside == [], name
