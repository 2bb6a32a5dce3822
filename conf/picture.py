"""README의 그림 ``docs/site.png``를 지은 사이트에서 찍습니다."""

import shutil

from offered import ROOT, SITE
from playwright.sync_api import sync_playwright

PAGE = SITE / "lectures" / "attention.html"

with sync_playwright() as playwright:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    browser = playwright.chromium.launch(
        executable_path=chromium, args=["--no-sandbox"]
    )
    page = browser.new_page(viewport={"width": 1280, "height": 800}, locale="ko-KR")
    page.goto(PAGE.as_uri())
    page.locator(".cell_output img").first.scroll_into_view_if_needed()
    page.screenshot(path=ROOT / "docs" / "site.png")
    browser.close()
