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
#: 독자의 쪽 모두와, 한 틀로 만드는 소스와 API의 쪽의 본보기 둘씩.
MOULDS = "source/", "reference/api/"
READ = [name for name in PAGES if not name.startswith(MOULDS)]
READ += [f"{mould}{name}.html" for mould in MOULDS for name in ("attention", "masking")]
DESKTOP = {"width": 1280, "height": 900}
PHONE = {
    "viewport": {"width": 390, "height": 800},
    "has_touch": True,
    "is_mobile": True,
}
LONGEST = 300_000  # 밀리초. 멈춘 쪽을 끝없이 기다리지 않을 뿐입니다
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


def new_page(browser, **options):
    """빈 쪽. 조용하지 않은 일은 모두 ``trouble``에 적습니다."""
    given = {"viewport": DESKTOP, "color_scheme": "light", "locale": "ko-KR"}
    given |= {"reduced_motion": "reduce"} | options
    page = browser.new_page(**given)
    page.set_default_timeout(LONGEST)
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
    return page


def go(page, name, query=""):
    """지은 사이트의 쪽을 열고 글이 보일 때까지 기다립니다."""
    page.goto((SITE / name).as_uri() + query)
    page.wait_for_function("!document.documentElement.style.opacity")
    return page
