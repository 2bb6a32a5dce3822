"""지은 사이트를 진짜 브라우저로 여는 길. 먼저 ``make html``로 지어야 합니다."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "html"
PAGES = sorted(
    str(path.relative_to(SITE))
    for path in SITE.rglob("*.html")
    if path.relative_to(SITE).parts[0] != "_static"
)
DESKTOP = {"width": 1280, "height": 900}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def open_page(browser, name, query=""):
    """쪽을 열고, 조용하지 않았던 일을 모두 적어 둡니다."""
    page = browser.new_page(
        viewport=DESKTOP, color_scheme="light", locale="ko-KR", reduced_motion="reduce"
    )
    page.trouble = trouble = []
    page.on(
        "console",
        lambda message: (
            message.type in {"error", "warning"} and trouble.append(message.text)
        ),
    )
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("requestfailed", lambda request: trouble.append(f"실패: {request.url}"))
    page.on(
        "request",
        lambda request: (
            request.url.startswith(("file:", "data:", "blob:"))
            or trouble.append(f"밖으로 나간 요청: {request.url}")
        ),
    )
    page.goto((SITE / name).as_uri() + query)
    page.wait_for_function("!document.documentElement.style.opacity")  # 글이 보입니다
    return page
