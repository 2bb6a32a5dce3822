"""읽은 것을 기억한다: 차례와 지도의 표, 이어 읽기, 모두 잊기."""

import re

from built_site import go


def test_what_was_read_and_solved_is_marked_until_it_is_forgotten(tab):
    page = tab()
    chapter = page.locator(".bd-docs-nav a[href*='lectures/attention']")
    told = page.get_by_text("이어 읽기:")

    go(page, "index.html")
    assert told.count() == page.locator(".remembered").count() == 0
    go(page, "lectures/attention.html")
    finish = page.get_by_role("button", name="다 읽었습니다")
    finish.press("Enter")
    assert finish.get_attribute("aria-pressed") == "true"
    page.locator(".solution .toggle-button").first.click()
    solved = page.locator("#ex-attention-5 > .admonition-title").get_by_role("img")
    assert solved.get_attribute("aria-label") == ", 풀어 보았습니다"

    go(page, "index.html")
    assert chapter.inner_text() == "7. 스케일드 닷 프로덕트 어텐션 ✓ 연습 1"
    boxes = page.get_by_role(
        "link", name=re.compile("^쿼리와 키의 내적.*, 읽었습니다$")
    )
    assert (
        boxes.locator("text", has_text="✓").count() == boxes.locator("rect").count() > 0
    )
    told.get_by_role("link").click()
    assert page.url.endswith("lectures/masking.html")  # 다 읽은 장의 다음 장
    go(page, "lectures/attention.html")
    finish.click()  # 다시 누르면 되돌립니다
    go(page, "index.html")
    assert chapter.inner_text() == "7. 스케일드 닷 프로덕트 어텐션 연습 1"
    assert told.inner_text() == "이어 읽기: 7. 스케일드 닷 프로덕트 어텐션"

    go(page, "reference/review.html")
    page.get_by_role("button", name="모두 잊기").click()
    assert page.locator(".remembered").count() == 0
    go(page, "index.html")
    assert told.count() == page.locator(".remembered").count() == 0
