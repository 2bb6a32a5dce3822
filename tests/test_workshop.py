"""쪽에서 쓴 코드는 그 자리에서, 명령줄의 검사기와 같은 판정을 받는다."""

import gzip
import hashlib
import html
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import live_cells
import page_rules
import pytest
from axe_playwright_python.sync_playwright import Axe
from built_site import PAGES, PHONE, SITE, go
from playwright.sync_api import expect
from snippets import find_snippets

from transformer_notes import exercises

ROOT = Path(__file__).resolve().parents[1]
RUNTIME = ROOT / "conf" / "runtime"
LECTURES = sorted((ROOT / "docs" / "lectures").glob("*.md"))
DEEPER = sorted((ROOT / "docs" / "deeper").glob("*.md"))
FRAMEWORKS = re.compile(r"\b(?:keras|tensorflow|(?:Py)?[Tt]orch)\b|transformer_notes")
DONE = "box => !box.querySelector('.check').disabled"


@pytest.fixture(scope="module")
def judge():
    """브라우저에서 실행할 파이썬을 여기에서."""
    sys.path.insert(0, str(RUNTIME))
    try:
        from page import judge
    finally:
        sys.path.remove(str(RUNTIME))
    return judge


def solutions():
    """풀이마다 (종류, 그 셀들, 맞는 것의 이름). 셀은 심은 실수도 확인합니다."""
    for path in LECTURES + DEEPER:
        text = path.read_text("utf-8")
        kinds = re.findall(r"^```\{write\} (\w+)", text, re.MULTILINE)
        cells = [s.source for s in find_snippets(text) if s.kind == "cell"]
        first = next((i for i, c in enumerate(cells) if "checker import check" in c), 0)
        source = "\n\n".join(["import numpy as np", *cells[first : first + 2]])
        for kind in kinds:
            found = re.findall(rf'check\((\w+), "{kind}"\)(?=\nprint|.passed)', source)
            yield kind, source, found[0]


def written_in_numpy():
    """시험에 쓰는 남의 코드 가운데 NumPy만 쓰는 것의 (종류, 글)."""
    for path in sorted((ROOT / "tests" / "planted").glob("*.py")):
        (kind, *_) = sorted(
            (k for k in exercises.kinds() if path.stem.startswith(k)), key=len
        )[::-1]
        yield kind, path
    for path in sorted((ROOT / "tests" / "variants").glob("*/*.py")):
        yield path.parent.name, path


def tasks():
    """(종류, 글, 이름, 나와야 할 판정. 모르면 빈 글)."""
    for kind in exercises.kinds():
        yield kind, exercises.skeleton(kind), exercises.name(kind), "unwritten"
    for kind, source, name in solutions():
        yield kind, source, name, "right"
    for kind, path in written_in_numpy():
        text = path.read_text("utf-8")
        if not FRAMEWORKS.search(text):
            yield kind, text, "candidate", ""


def test_every_kind_has_one_place_and_a_solution_in_numpy():
    kinds = [kind for kind, *_ in solutions()]
    assert sorted(kinds) == exercises.kinds()
    assert len(list(tasks())) > 60


def test_the_runtime_is_whole_and_small():
    sys.path.insert(0, str(RUNTIME))
    try:
        from fetch import FILES
    finally:
        sys.path.remove(str(RUNTIME))
    for name, digest in FILES.items():
        content = gzip.decompress((RUNTIME / f"{name}.gz").read_bytes())
        assert hashlib.sha256(content).hexdigest() == digest, name
    assert sum(path.stat().st_size for path in RUNTIME.glob("*")) < 9e6
    static = ROOT / "conf" / "static"
    first_view = [
        (static / f"workshop.{kind}").stat().st_size for kind in ("js", "css")
    ]
    assert sum(first_view) < 15_000


ASK = """async tasks => {
  const answers = [];
  for (const task of tasks) {
    let printed = "";
    const told = (news) => { printed += news.printed ?? ""; };
    const answer = await notesPython(task, told, new AbortController().signal, 300);
    answers.push({...answer, printed});
  }
  return answers;
}"""


def opened(page, kind):
    """그 칸을 엽니다."""
    box = page.locator(f"#write-{kind}")
    box.locator(".write-start button").click()
    box.locator(".cm-content").wait_for()
    return box


def wrote(box, text):
    box.locator(".cm-content").focus()
    box.page.keyboard.press("Control+A")
    box.page.keyboard.insert_text(text)


def checked(box):
    """확인하기를 누르고 판정이 나올 때까지 기다립니다."""
    box.locator(".check").click()
    box.page.wait_for_function(DONE, arg=box.element_handle())
    return box.locator(".status").inner_text()


def test_the_browser_and_python_give_the_same_verdicts(
    visit, judge, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    page = visit("lectures/attention.html")
    opened(page, "attention")
    given = list(tasks())
    asked = [("judge", text, kind, name, "attend") for kind, text, name, _ in given]
    answers = page.evaluate(ASK, asked)
    for (kind, source, name, expected), ours in zip(given, answers, strict=True):
        python = json.loads(judge(source, kind, name, "attend", lambda text: None))
        case = f"{kind}\n{source}\n{ours['message']}"
        assert ours["verdict"] == python["verdict"], case
        assert ours.get("mistakes") == python.get("mistakes"), case
        assert not expected or ours["verdict"] == expected, case
    assert page.trouble == []


CELL = re.compile(
    r'(?s)<div class="cell live .*?<div class="cell_output.*?<pre>(.*?)</pre>'
)


def printed_on(page):
    """지은 쪽에서, 고쳐 볼 수 있는 셀마다의 출력."""
    text = (SITE / page).read_text("utf-8")
    return [html.unescape(re.sub("<[^>]*>", "", found)) for found in CELL.findall(text)]


def apart(text):
    """출력의 글과 그 안의 실수."""
    number = r"-?\d+\.\d*(?:e[-+]\d+)?"
    return re.sub(number, "#", text).split(), re.findall(number, text)


def test_every_page_keeps_what_its_own_cells_need_first(tmp_path):
    for path in LECTURES + DEEPER:
        page = f"{path.parent.name}/{path.stem}"
        kept = SITE / "_static" / "live" / f"{page}.js"
        needed = [before for _, before in live_cells.live(path)]
        assert kept.exists() == bool(needed), page
        if needed:
            script = kept.read_text("utf-8").removeprefix("notesRuntime(")
            assert json.loads(script.removesuffix(");\n")) == needed, page
    old = tmp_path / "_static" / "live" / "lectures" / "old.js"
    old.parent.mkdir(parents=True)
    old.write_text("")
    live_cells.write(SimpleNamespace(outdir=tmp_path), "lectures/old", "", {}, None)
    assert not old.exists()


def test_a_cell_prints_in_the_browser_what_the_page_prints(visit):
    given = []
    for path in LECTURES + DEEPER:
        if (page := f"{path.parent.name}/{path.stem}.html") in PAGES:
            tasks = [["run", before, cell] for cell, before in live_cells.live(path)]
            given += zip([page] * len(tasks), tasks, printed_on(page), strict=True)
    assert len(given) > 40
    page = visit("lectures/attention.html")
    opened(page, "attention")
    answers = page.evaluate(ASK, [task for _, task, _ in given])
    for (name, task, printed), answer in zip(given, answers, strict=True):
        case = f"{name}\n{task[2]}\n{answer['message']}"
        ours, theirs = apart(answer["printed"]), apart(printed)
        assert ours[0] == theirs[0], case
        # 32비트의 합은 마지막 자리에서 1만큼 다를 수 있습니다.
        for number, expected in zip(ours[1], theirs[1], strict=True):
            digits = len(expected.partition(".")[2].partition("e")[0])
            close = pytest.approx(float(expected), rel=1e-6, abs=1.01 * 10**-digits)
            assert number == expected or float(number) == close, case
    assert page.trouble == []


RIGHT = next(source for kind, source, _ in solutions() if kind == "attention")
RIGHT = RIGHT.partition("\n\n\nreport")[0].replace(
    "from transformer_notes.checker import check", ""
)
HEAD = "def attention(query, key, value, mask=None):\n"


def test_a_reader_is_told_each_time_and_finds_all_again(visit):
    page, requests = visit("lectures/attention.html"), []
    page.on("request", lambda request: requests.append(request.url))
    solution = page.locator(".solution").first
    assert not [r for r in requests if "_static/runtime/" in r or "editor.js" in r]
    box = opened(page, "attention")
    assert (
        not [r for r in requests if "_static/runtime/" in r]
        and not solution.is_visible()
    )
    assert checked(box) == "아직 적지 않았습니다."
    assert solution.is_visible()
    marked = box.locator(".cm-wrong")

    wrote(box, RIGHT.replace(" / np.sqrt(query.shape[-1])", ""))
    assert checked(box) == "목록에 있는 실수입니다."
    link = box.locator(".verdict a")
    assert link.inner_text() == "실수 8: √d_k로 나누지 않는다"
    assert link.get_attribute("href") == "../paper/mistakes.html#mistake-8"
    assert box.locator(".grids figure").count() == 6
    assert box.locator(".grids td.differs").count() > 0 and marked.count() == 0

    wrote(box, f"{HEAD}    return 2 * value\n")
    assert checked(box).startswith("틀렸습니다")
    wrote(box, "def attention(:\n    pass\n")
    assert checked(box) == "실행하지 못했습니다."
    assert marked.inner_text() == "def attention(:"
    wrote(box, f"{HEAD}    print('한글')\n    return qury\n")
    assert checked(box) == "실행하지 못했습니다."
    assert marked.inner_text().strip() == "return qury"
    assert "난 오류" in box.locator(".grids").inner_text()
    assert box.locator(".printed").inner_text().startswith("한글")
    wrote(box, f"import numpy as np\n{HEAD}    return np.ones((2**13, 2**14))\n")
    assert checked(box) == "메모리가 모자랍니다."

    wrote(box, f"{HEAD}    while True:\n        pass\n")
    box.locator(".check").click()
    box.get_by_text("실행합니다.").wait_for()
    box.get_by_role("button", name="멈추기").click()
    page.wait_for_function(DONE, arg=box.element_handle())
    assert box.locator(".status").inner_text() == "멈추었습니다."
    page.clock.install()
    box.locator(".check").click()
    box.get_by_text("실행합니다.").wait_for()
    page.clock.fast_forward(21_000)
    page.wait_for_function(DONE, arg=box.element_handle())
    assert "20초가 지나" in box.locator(".status").inner_text()

    wrote(box, RIGHT)
    assert checked(box) == "맞습니다."
    link = box.locator(".verdict.right a")
    assert link.get_attribute("href") == "../practice/workshop.html"
    with page.expect_download() as download:
        box.get_by_role("button", name="파일로 받기").click()
    assert download.value.suggested_filename == "my_attention.py"
    assert Path(download.value.path()).read_text("utf-8") == RIGHT

    page.reload()
    box = opened(page, "attention")
    expect(box.locator(".cm-content")).to_contain_text("shares", timeout=60_000)
    go(page, "practice/workshop.html")
    states = page.locator(".workshop li")
    assert states.count() == 16
    assert page.locator("[data-kind=attention] .state").inner_text() == "✓ 맞음"
    assert page.locator(".workshop .next").count() == 1

    go(page, "lectures/attention.html")
    box = opened(page, "attention")
    page.on("dialog", lambda dialog: dialog.accept())
    box.get_by_role("button", name="처음부터").click()
    assert "raise NotImplementedError" in box.locator(".cm-content").inner_text()
    page.reload()
    assert box.locator(".write-start button").inner_text() == "여기에서 쓰기"
    assert page.trouble == []


def test_cells_are_run_where_they_stand_and_put_back(visit):
    page = visit("lectures/attention.html")
    page.evaluate(  # 둘을 잇달아 누릅니다
        "[...document.querySelectorAll('.live-start')].slice(0, 2)"
        ".forEach(button => button.click())"
    )
    expect(page.locator(".live .cm-content")).to_have_count(2, timeout=60_000)
    cell = page.locator(".cell.live").first
    shown, printed = cell.locator(".cell_output"), cell.locator(".printed")
    before = shown.inner_text()
    assert checked(cell) == "실행했습니다."
    assert printed.inner_text().split() == before.split() and not shown.is_visible()
    wrote(cell, "1 / 0")
    assert checked(cell) == "실행하지 못했습니다."
    assert "ZeroDivisionError" in printed.inner_text()
    cell.get_by_role("button", name="되돌리기").click()
    assert shown.inner_text() == before and not printed.is_visible()
    assert "1 / 0" not in cell.locator(".cm-content").inner_text()
    assert page.trouble == []


def test_two_editors_on_a_phone_and_a_runtime_that_comes_late(tab):
    page = tab(**PHONE)
    page.route("**/runtime/files.js", lambda route: route.abort())
    go(page, "lectures/masking.html")
    padding, ahead = opened(page, "padding_mask"), opened(page, "look_ahead_mask")
    assert "files.js" in checked(padding)
    page.unroute_all()
    page.trouble.clear()
    wrote(
        ahead,
        "import numpy as np\n\n\ndef look_ahead_mask(n):\n    return np.tri(n, k=-1)\n",
    )
    assert checked(ahead) == "목록에 있는 실수입니다."
    assert not padding.locator(".verdict").is_visible()
    wrote(
        padding,
        "def padding_mask(token_ids):\n    return (token_ids == 0)[:, None, None]\n",
    )
    padding.locator("select").select_option("hide")
    assert checked(padding) == "맞습니다."
    assert page.evaluate("document.body.scrollWidth") <= 390
    small = page.evaluate(
        """[...document.querySelectorAll('.write :is(button, select, summary)')]
        .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24)
        .map(e => e.outerHTML)"""
    )
    assert small == [] and page.trouble == []
    page.evaluate(Axe().axe_script)
    for theme in ("light", "dark"):
        page_rules.turn(page, theme)
        options = {"runOnly": page_rules.AXE["light"], "preload": False}
        found = page.evaluate("options => axe.run('.exercise', options)", options)
        assert found["violations"] == [], theme


def test_from_a_server_by_keyboard_alone(browser, served):
    page, outside = browser.new_page(), []
    page.on("request", lambda r: r.url.startswith(served) or outside.append(r.url))
    try:
        page.goto(f"{served}/lectures/attention.html")
        page.focus("#write-attention .write-start button")
        page.keyboard.press("Enter")
        page.wait_for_selector(".cm-editor.cm-focused")
        page.keyboard.press("Control+A")
        page.keyboard.type("def attention(query, key, value, mask=None):\n")
        page.keyboard.type("query / 2")  # 앞 줄 다음이라 들여 써집니다
        page.keyboard.press("Tab")
        assert "        query / 2" in page.inner_text(".cm-content")
        page.keyboard.press("Control+Z")
        page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "확인하기"
        page.keyboard.press("Enter")
        page.wait_for_selector(".verdict:not([hidden])")
        assert page.inner_text("#write-attention .status").startswith("틀렸습니다")
        assert [url for url in outside if not url.startswith("blob:")] == []
    finally:
        page.close()


def test_where_it_cannot_run_the_page_says_so(tab, browser):
    page = tab()
    page.add_init_script("delete globalThis.DecompressionStream")
    go(page, "lectures/attention.html")
    start = page.locator("#write-attention .write-start")
    assert "오래되어" in start.inner_text() and not start.locator("button").is_visible()
    bare = browser.new_page(java_script_enabled=False)
    bare.goto((SITE / "lectures/attention.html").as_uri())
    start = bare.locator("#write-attention .write-start")
    assert "꺼져 있습니다" in start.inner_text()
    assert not start.locator("button").is_visible()
    bare.close()
