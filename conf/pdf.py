"""지은 사이트를 PDF 한 권으로 묶습니다: ``build/transformer-notes.pdf``.

낱장을 HTML 하나로 이어 chromium으로 찍습니다. 묶음과 장과 절의 제목이 책갈피가 되고,
쪽을 오가던 링크는 책 안의 링크가 됩니다. 차례에 쪽 번호를 적으려면 몇 쪽에 무엇이
있는지 알아야 하므로, 번호가 그대로일 때까지 다시 찍습니다.
"""

import itertools
import re
import shutil
import sys
import tempfile
from pathlib import Path

import leaves
import offered
import pypdf
from playwright.sync_api import sync_playwright

BOOK = offered.BUILD / "transformer-notes.pdf"
PRINT = {"prefer_css_page_size": True, "print_background": True}
PRINT |= {"outline": True, "tagged": True}
#: 차례의 줄마다 쪽 번호를 적습니다. 아직 모르는 것은 비워 둡니다.
NUMBER = """numbers => {
  for (const old of document.querySelectorAll("nav .number")) old.remove()
  for (const link of document.querySelectorAll("nav a")) {
    const number = document.createElement("span")
    number.className = "number"
    number.textContent = numbers[link.getAttribute("href").slice(1)] ?? ""
    link.before(number)
  }
}"""


def main():
    if not (chromium := shutil.which("chromium") or shutil.which("chromium-browser")):
        sys.exit(
            "PDF를 만들 chromium이 없습니다. 데비안이나 우분투라면 "
            "'sudo apt install chromium'으로 설치한 뒤 다시 실행해 주세요."
        )
    book = leaves.read(address)
    with tempfile.TemporaryDirectory(dir=offered.BUILD) as folder:
        files = {"book.xhtml": whole(book).encode()} | leaves.materials(book)
        files["book.css"] += (leaves.OURS / "paper.css").read_bytes()
        for name, content in files.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        new = Path(folder, BOOK.name)
        flags = ["--no-sandbox", "--disable-gpu"]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=flags)
            page = browser.new_page()
            page.goto(Path(folder, "book.xhtml").as_uri())
            links = page.locator("nav a").all()
            listed = [link.get_attribute("href")[1:] for link in links]
            numbers, found = None, {}
            while numbers != found:
                numbers = found
                page.evaluate(NUMBER, numbers)
                page.pdf(path=new, **PRINT)
                found = page_numbers(pypdf.PdfReader(new), listed)
            browser.close()
        describe(new)
        new.replace(BOOK)
    offered.offer()
    print(f"PDF를 만들었습니다: {BOOK}")


def describe(path):
    """제목과 지은이와 주제를 책의 정보에 적습니다. 말(ko)은 chromium이 적었습니다."""
    writer = pypdf.PdfWriter(path, incremental=True)
    about = {"Title": leaves.TITLE, "Author": leaves.TITLE, "Subject": leaves.SUBTITLE}
    writer.add_metadata({f"/{name}": text for name, text in about.items()})
    writer.write(path)


def page_numbers(pdf, listed):
    """차례에 적은 자리마다 그것이 있는 쪽의 번호. 표지가 1쪽입니다.

    나머지는 보지 않습니다. 찍을 때마다 앞뒤 쪽을 오가는 절이 있습니다.
    """
    places = pdf.named_destinations
    return {
        name: pdf.get_destination_page_number(places[f"/{name}"]) + 1 for name in listed
    }


def whole(book):
    """모든 낱장을 이은 XHTML. 묶음이 제목 1, 장이 제목 2가 됩니다."""
    listed = leaves.contents(book, address, deep=False)
    texts = [leaves.cover(), f"<nav>{listed}</nav>"]
    for part, chapters in itertools.groupby(book, key=lambda leaf: leaf.part):
        if part:
            texts.append(f'<h1 class="part">{part}</h1>')
        texts += map(_chapter, chapters)
    return leaves.page(leaves.TITLE, "".join(texts))


def _chapter(leaf):
    for node in leaf.body.query("[id]"):
        if node.namespace == "html":  # 그림 속의 이름은 그 그림만 부릅니다
            node.attrs["id"] = _name(leaf.page, node.attrs["id"])
    for image in leaf.body.query("img"):
        image.attrs["src"] = image.attrs["src"].removeprefix("../")
    text = leaves.xhtml(leaf.body)
    text = re.sub(r"<(/?)h([1-5])\b", lambda m: f"<{m[1]}h{int(m[2]) + 1}", text)
    return f'<div class="leaf" id="{_name(leaf.page, "")}">{text}</div>'


def _name(page, anchor):
    """책 전체에서 하나뿐인 id입니다."""
    return f"{page.replace('/', '-')}.{anchor}"


def address(folder, page, anchor):
    return f"#{_name(page, anchor)}"


if __name__ == "__main__":
    main()
