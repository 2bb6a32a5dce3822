"""``make bench``: 처음 여는 사람이 쪽마다 받는 양과 기다리는 시간을 잽니다.

지은 사이트를 이 기계에서 gzip으로 내보내고, 쪽마다 빈 캐시로 엽니다. 다 그려진 시각은
가장 큰 것이 그려진 때(LCP)이고, 흔들림은 그동안 글이 밀린 정도(CLS)입니다. 멈춤은
Tab이 서는 곳의 수입니다. 끝으로, 검색이 글 하나에 답하는 시간을 잽니다.
"""

import functools
import gzip
import http.server
import io
import shutil
import statistics
import sys
import threading
import tomllib
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "html"
QUERIES = ROOT / "tests" / "search_queries.toml"
COMPRESSED = {".html", ".css", ".js", ".svg", ".json"}
OBSERVE = """
window.seen = {lcp: 0, cls: 0}
const observe = (type, add) => new PerformanceObserver(list =>
  list.getEntries().forEach(add)).observe({type, buffered: true})
observe('largest-contentful-paint', e => { seen.lcp = e.startTime })
observe('layout-shift', e => { if (!e.hadRecentInput) seen.cls += e.value })
"""
STOPS = """document.querySelectorAll('a[href], button, input, summary, [tabindex]')
.values().filter(e => e.tabIndex >= 0 && e.checkVisibility()).toArray().length"""
SEARCHED = "(() => { try { return notesSearch.find('어텐션') } catch { return 0 } })()"
FIND = """queries => queries.map(query => {
  const start = performance.now()
  notesSearch.find(query)
  return performance.now() - start
})"""


class Handler(http.server.SimpleHTTPRequestHandler):
    def send_head(self):
        path = Path(self.translate_path(self.path))
        if path.suffix not in COMPRESSED or not path.is_file():
            return super().send_head()
        body = gzip.compress(path.read_bytes(), mtime=0)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def log_message(self, *_):
        pass


def measure(browser, address):
    page = browser.new_page(viewport={"width": 1280, "height": 900}, locale="ko-KR")
    page.add_init_script(OBSERVE)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    sizes = []
    session.on(
        "Network.loadingFinished",
        lambda event: sizes.append(event["encodedDataLength"]),
    )
    page.goto(address, wait_until="networkidle")
    seen = page.evaluate("seen")
    row = sum(sizes), len(sizes), seen["lcp"], seen["cls"], page.evaluate(STOPS)
    page.context.close()
    return row


def search(browser, address):
    """검색의 글마다 걸린 시간. 밀리초."""
    page = browser.new_page()
    page.goto(address)
    page.wait_for_function(SEARCHED)
    queries = tomllib.loads(QUERIES.read_text("utf-8"))["queries"]
    times = page.evaluate(FIND, [query["query"] for query in queries])
    page.close()
    return times


def main():
    if not SITE.exists():
        sys.exit("지은 사이트가 없습니다. 먼저 make html로 지어 주세요.")
    handler = functools.partial(Handler, directory=SITE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wanted = sys.argv[1:]
    pages = sorted(
        name
        for path in SITE.rglob("*.html")
        if (name := path.relative_to(SITE).as_posix())
        and not name.startswith(("_static", "source/"))
        and (not wanted or any(w in name for w in wanted))
    )
    print("    받는 양  요청  다 그림  흔들림  멈춤")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name in pages:
            size, count, lcp, cls, stops = measure(
                browser, f"http://127.0.0.1:{server.server_port}/{name}"
            )
            print(
                f"{size / 1e3:8.0f} kB {count:5d} {lcp / 1e3:6.2f}초 {cls:7.3f}"
                f" {stops:5d}  {name}"
            )
        times = search(browser, f"http://127.0.0.1:{server.server_port}/search.html")
        print(
            f"검색 {len(times)}번: 가운데 {statistics.median(times):.0f} ms, "
            f"가장 느린 것 {max(times):.0f} ms"
        )
        browser.close()


if __name__ == "__main__":
    main()
