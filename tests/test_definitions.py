"""용어의 뜻: 가리키거나, 초점을 주거나, 손가락으로 누르면 나온다."""

import json
import re

import pytest
from built_site import PAGES, PHONE, SITE, go

LINK = '.bd-article a.reference[href*="#term-"]'
LECTURE = "lectures/attention.html"


@pytest.fixture(scope="module")
def texts():
    script = (SITE / "_static" / "definition_texts.js").read_text("utf-8")
    return json.loads(script[script.index("(") + 1 : script.rindex(")")])


def shown(page):
    tip = page.locator("#definition-tip")
    return tip.inner_text() if tip.is_visible() else None


def said_in_the_glossary(visit, href):
    anchor = href.partition("#")[2]
    return (
        visit("reference/glossary.html")
        .locator(f"#{anchor} + dd > p")
        .first.inner_text()
    )


def test_every_link_to_a_term_has_a_definition(texts):
    pages = {name: (SITE / name).read_text("utf-8") for name in PAGES}
    linked = {name: set(re.findall(r"#(term-\d+)", pages[name])) for name in PAGES}
    assert len(set().union(*linked.values())) > 50
    assert {n: found - texts.keys() for n, found in linked.items()} == {
        name: set() for name in PAGES
    }
    assert all(term and text for term, text in texts.values())
    assert not re.search("<a |href=|<script", json.dumps(texts))


def test_every_term_leads_to_where_it_is_taught(visit):
    page = visit("reference/glossary.html")
    terms = page.locator("dl.glossary dt")
    lessons = page.locator("dl.glossary dd p + p a").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    assert len(lessons) == terms.count() > 100
    assert all(re.match(r"\.\./(lectures|deeper|practice)/", to) for to in lessons)


def test_letters_lead_to_the_first_term_of_their_sound(visit):
    page = visit("reference/glossary.html")
    rows = page.locator(".letters")
    assert rows.count() == 3
    for row in rows.all():
        letters = row.locator("a")
        assert [*map(str.strip, letters.all_inner_texts())] == row.inner_text().split()
    link = rows.last.get_by_role("link", name="ㅋ", exact=True)
    first = page.locator(link.get_attribute("href"))
    assert first.inner_text().startswith("키-값 캐시")
    link.click()
    assert 0 <= first.bounding_box()["y"] < 900


def test_pointing_at_a_term_shows_what_the_glossary_says(visit):
    page = visit(LECTURE)
    asked = "[...document.scripts].filter(s => /definition_texts/.test(s.src)).length"
    link = page.locator(LINK).first
    assert page.evaluate(asked) == 0 and shown(page) is None
    link.hover()
    page.wait_for_selector("#definition-tip:visible")
    said = said_in_the_glossary(visit, link.get_attribute("href"))
    assert said in shown(page) and page.evaluate(asked) == 1
    assert link.get_attribute("aria-describedby") == "definition-tip"
    page.clock.install()
    page.locator("#definition-tip").hover()  # 뜻 위로 옮겨 가도 남습니다
    page.clock.run_for(1000)
    assert shown(page)
    page.clock.resume()
    page.keyboard.press("Escape")
    assert shown(page) is None and link.get_attribute("aria-describedby") is None
    link.hover()
    page.wait_for_selector("#definition-tip:visible")
    page.mouse.move(2, 2)
    page.wait_for_selector("#definition-tip", state="hidden")
    assert page.trouble == []


def test_a_definition_that_comes_too_late_stays_away(tab):
    page, held = tab(), []
    page.route("**/definition_texts.js", lambda route: held.append(route))
    go(page, LECTURE)
    with page.expect_request("**/definition_texts.js"):
        page.locator(LINK).first.hover()
    page.keyboard.press("Escape")
    page.evaluate(
        "const given = notesDefinitions;"
        "notesDefinitions = texts => { given(texts); window.came = true }; 0"
    )
    held[0].continue_()
    page.wait_for_function("window.came")
    page.clock.install()
    page.clock.run_for(1000)
    assert shown(page) is None


def test_the_keyboard_shows_it_and_enter_goes_to_the_glossary(visit):
    page = visit(LECTURE)
    page.keyboard.press("Tab")  # 지금부터 초점이 보입니다
    page.locator(LINK).nth(1).focus()
    page.wait_for_selector("#definition-tip:visible")
    page.keyboard.press("Tab")
    assert shown(page) is None or page.evaluate(
        f"document.activeElement.matches('{LINK}')"
    )
    page.locator(LINK).nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/glossary.html#term-*")


@pytest.mark.parametrize("width", [320, 390, 1440])
def test_it_stays_within_the_window(visit, width):
    page = visit(LECTURE)
    page.set_viewport_size({"width": width, "height": 700})
    page.keyboard.press("Tab")
    for index in range(page.locator(LINK).count()):
        page.locator(LINK).nth(index).focus()
        page.wait_for_selector("#definition-tip:visible")
        box = page.locator("#definition-tip").bounding_box()
        assert 0 <= box["x"] and box["x"] + box["width"] <= width
        assert box["y"] >= 0 and box["y"] + box["height"] <= 700


def test_a_finger_goes_on_where_no_definition_comes(tab):
    page = tab(**PHONE)
    page.route("**/definition_texts.js", lambda route: route.abort())
    go(page, LECTURE)
    page.locator(LINK).first.tap()
    page.wait_for_url("**/glossary.html#term-*")


def test_a_finger_sees_the_definition_first(visit):
    page = visit(LECTURE, **PHONE)
    page.locator(LINK).first.tap()
    page.wait_for_selector("#definition-tip:visible")
    assert "다시 누르면" in shown(page) and LECTURE in page.url
    page.touchscreen.tap(5, 600)
    assert shown(page) is None
    page.locator(LINK).first.tap()
    page.wait_for_selector("#definition-tip:visible")
    page.locator(LINK).first.tap()
    page.wait_for_url("**/glossary.html#term-*")
