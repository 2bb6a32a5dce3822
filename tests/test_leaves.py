"""``make epub``와 ``make pdf``: 지은 사이트가 그대로 책 한 권이 된다."""

import importlib
import os
import posixpath
import re
import time
import xml.etree.ElementTree as ElementTree
from zipfile import ZIP_STORED, ZipFile

import pytest
from built_site import CHROMIUM, ROOT
from others import needs
from pypdf import PdfReader

needs_chromium = needs("chromium", CHROMIUM)
XHTML = "{http://www.w3.org/1999/xhtml}"
DRAWING = """<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"
  "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path id="space"/></svg>
"""
FIRST = r"""
(first-part)=
## 처음

글 속의 $\tfrac{1}{\sqrt{d_k}}$, {ref}`뒤의 쪽 <second-part>`,
{src}`masking.padding_mask`, [밖](https://example.com/).

$$
a &= b \\
c &= d
$$ (eq-both)

![점 하나](dot.svg)

:::{exercise} 물음
:label: ask
무엇입니까?
:::

:::{solution} ask
:class: dropdown
답입니다.
:::

```{raw} html
<style>.still :is(b, i) { color: red } .still b { color: green }</style>
<div class="still tn-widget"><form><input checked></form><b>멈춘 그림<br>아래</b>
<svg viewBox="0 0 9 9" role="group"><a href="second.html"><text>쪽</text></a></svg>
<script>document.write("움직임")</script></div>
```
"""
SECOND = """
(second-part)=
## 나중

{ref}`앞의 쪽 <first-part>`

```text
<글자 그대로> & 둘
```
"""


@pytest.fixture(scope="module")
def whole(shared_book):
    """글꼴까지 지은 작은 책의 EPUB입니다."""
    settings = shared_book.root / "conf" / "conf.py"
    text = settings.read_text("utf-8")
    settings.write_text(text.replace("extensions = [", 'extensions = [\n    "fonts",'))
    shared_book.write(first=FIRST, second=SECOND)
    (shared_book.root / "docs" / "dot.svg").write_text(DRAWING)
    result = shared_book.build()
    assert result.returncode == 0, result.stdout
    index = shared_book.html / "index.html"
    index.write_text(index.read_text("utf-8") + '<p id="offered"></p>', "utf-8")
    (shared_book.root / "build" / "transformer_notes-0.tar.gz").write_bytes(b"")
    result = shared_book.python(shared_book.root / "conf" / "epub.py")
    assert result.returncode == 0, result.stdout
    return shared_book


def epub(book):
    return book.root / "build" / "transformer-notes.epub"


@pytest.fixture(scope="module")
def inside(whole):
    with ZipFile(epub(whole)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pages(inside):
    return {
        name: ElementTree.fromstring(content)
        for name, content in inside.items()
        if name.endswith(".xhtml")
    }


def test_the_type_comes_first_and_stored_and_the_language_is_korean(whole, inside):
    with ZipFile(epub(whole)) as archive:
        first = archive.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", ZIP_STORED)
    assert inside["mimetype"] == b"application/epub+zip"
    package = inside["book/content.opf"].decode()
    assert "<dc:language>ko</dc:language>" in package
    assert "<dc:title>트랜스포머 노트</dc:title>" in package
    assert all(page.get("lang") == "ko" for page in pages(inside).values())


def test_the_list_names_every_file_and_the_reading_order(inside):
    package = inside["book/content.opf"].decode()
    named = dict(re.findall(r'id="(f\d+)" href="([^"]+)"', package))
    kept = {name.removeprefix("book/") for name in inside if name.startswith("book/")}
    assert {*named.values()} == kept - {"content.opf"}
    order = [named[item] for item in re.findall(r'idref="(\w+)"', package)]
    names = ["cover", "nav", "index", "first", "second"]
    assert order == [f"{name}.xhtml" for name in names]
    assert re.search(r'href="first.xhtml"[^>]* properties="mathml svg"', package)


def test_every_link_in_the_book_leads_somewhere(inside):
    found = pages(inside)
    ids = {
        name: {node.get("id") for node in page.iter()} for name, page in found.items()
    }
    links = []
    for name, page in found.items():
        for node in page.iter():
            address = node.get("href") or node.get("src") or ""
            if ":" not in address and address:
                path, _, anchor = address.partition("#")
                target = posixpath.normpath(
                    posixpath.join(posixpath.dirname(name), path)
                )
                assert target in inside, (name, address)
                assert not anchor or anchor in ids[target], (name, address)
                links.append(address)
    assert "second.xhtml#second-part" in links and "first.xhtml#first-part" in links
    assert not any("source/" in link for link in links)


def test_formulas_pictures_and_words_stay_and_scripts_do_not(inside):
    first = inside["book/first.xhtml"].decode()
    for kept in (
        "<msqrt>",
        "답입니다",
        "멈춘 그림<br/>",
        "이 상자는 사이트에서 움직입니다.",
        "padding_mask",
        "_images/dot",
    ):
        assert kept in first
    assert "&lt;글자 그대로&gt; &amp; 둘" in inside["book/second.xhtml"].decode()
    for name, page in pages(inside).items():
        for tag in ("script", "form", "style"):
            assert page.find(f".//{XHTML}{tag}") is None, name
    assert b"DOCTYPE" not in inside["book/_images/dot.svg"]
    css = inside["book/book.css"].decode()
    assert ".still b {" in css and ":is(" not in css


def test_korean_fonts_come_along(inside):
    css = inside["book/book.css"].decode()
    fonts = re.findall(r'url\("(fonts/[^"]+)"\)', css)
    assert "fonts/NotesSans-Regular.woff2" in fonts and len(set(fonts)) == 5
    assert all(inside[f"book/{name}"][:4] == b"wOF2" for name in fonts)


def test_the_first_page_leads_to_what_was_made_and_to_nothing_else(whole):
    index = (whole.html / "index.html").read_text("utf-8")
    (links,) = re.findall('<p id="offered">.*?</p>', index)
    names = re.findall('href="([^"]+)"', links)
    kinds = [name.rpartition(".")[2] for name in names]
    assert kinds == ["whl", "epub", *["pdf"] * pdf(whole).exists(), "gz"]
    assert all((whole.html / name).exists() for name in names)


def test_what_is_older_than_the_site_is_not_offered(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "conf")
    offered = importlib.import_module("offered")
    monkeypatch.setattr(offered, "BUILD", tmp_path)
    monkeypatch.setattr(offered, "SITE", tmp_path / "html")
    for name in ("html/index.html", "doctrees/inputs", "wheel/0/transformer_notes.whl"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text('<p id="offered"></p>')
    for kind, age in (("epub", -9), ("pdf", 9)):
        book = tmp_path / f"transformer-notes.{kind}"
        book.write_bytes(b"")
        os.utime(book, (time.time() + age,) * 2)
    offered.offer()
    index = (tmp_path / "html" / "index.html").read_text("utf-8")
    links = re.findall(r'href="[^"]+\.(\w+)"', index)
    assert links == ["whl", "pdf"]


def plant(folder, body):
    """무엇이라고 답할지 정한 epubcheck를 놓습니다."""
    folder.mkdir(exist_ok=True)
    tool = folder / "epubcheck"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)


def test_the_same_site_gives_the_same_bytes_with_and_without_a_checker(
    whole, tmp_path, monkeypatch
):
    before = epub(whole).read_bytes()
    monkeypatch.setenv("PATH", str(tmp_path))
    result = whole.python(whole.root / "conf" / "epub.py")
    assert result.returncode == 0, result.stdout
    assert epub(whole).read_bytes() == before


def test_what_the_checker_refuses_does_not_replace_the_book(
    whole, tmp_path, monkeypatch
):
    before = epub(whole).stat().st_ino
    plant(tmp_path, "echo ERROR; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    result = whole.python(whole.root / "conf" / "epub.py")
    assert result.returncode == 1 and "epubcheck가 잘못을 찾았습니다" in result.stdout
    assert epub(whole).stat().st_ino == before
    assert not [*(whole.root / "build").glob("tmp*")]


# PDF ------------------------------------------------------------------------------


def pdf(book):
    return book.root / "build" / "transformer-notes.pdf"


def test_a_missing_tool_is_told_in_one_line(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = whole.python(whole.root / "conf" / "pdf.py")
    assert result.returncode == 1
    assert result.stdout.count("\n") == 1 and "apt install chromium" in result.stdout
    assert not pdf(whole).exists()


def test_a_missing_site_is_told_in_one_line(book):
    for name in ("epub.py", "pdf.py"):
        result = book.python(book.root / "conf" / name)
        assert result.returncode == 1 and result.stdout.count("\n") == 1


@pytest.fixture(scope="module")
def made(whole):
    result = whole.python(whole.root / "conf" / "pdf.py")
    assert result.returncode == 0, result.stdout
    return PdfReader(pdf(whole))


@needs_chromium
def test_the_pdf_has_bookmarks_links_and_korean_that_can_be_copied(made):
    titles = [bookmark.title for bookmark in flattened(made.outline)]
    assert {"차례", "처음", "나중"} <= {*titles}
    links = [note for page in made.pages for note in links_of(page)]
    inside = {link["/Dest"] for link in links if "/Dest" in link}
    assert {"/first.first-part", "/second.second-part"} <= inside
    assert inside <= made.named_destinations.keys()
    assert "https://example.com/" in [link.get("/A", {}).get("/URI") for link in links]
    text = "\n".join(page.extract_text() for page in made.pages)
    for words in ("처음", "나중", "멈춘 그림", "답입니다."):
        assert words in text
    assert made.root_object["/Lang"] == "ko" and "/MarkInfo" in made.root_object
    about = made.metadata
    assert about.title == about.author == "트랜스포머 노트"
    assert about.subject == "실행되는 코드로 배우는 Attention Is All You Need"


@needs_chromium
def test_the_contents_of_the_pdf_say_the_page(made):
    texts = [page.extract_text() for page in made.pages]
    place = next(n for n, text in enumerate(texts, 1) if "차례" in text)
    own, *said = map(int, re.findall(r"(?m)^\d+$", texts[place - 1]))
    assert own == place  # 쪽의 아래에 적힌 번호
    for number, words in zip(said, ("책", "무엇입니까?", "글자"), strict=True):
        assert words in texts[number - 1]


@needs_chromium
def test_only_what_the_contents_name_is_asked_of_a_printing(made, monkeypatch):
    """절은 찍을 때마다 앞뒤 쪽을 오가기도 합니다. 견주면 끝나지 않습니다."""
    monkeypatch.syspath_prepend(ROOT / "conf")
    found = importlib.import_module("pdf").page_numbers(made, ["second."])
    assert found.keys() == {"second."} and 1 < found["second."] <= len(made.pages)
    assert "/first.first-part" in made.named_destinations


def flattened(bookmarks):
    for bookmark in bookmarks:
        yield from flattened(bookmark) if isinstance(bookmark, list) else [bookmark]


def links_of(page):
    notes = (note.get_object() for note in page.get("/Annots", []))
    return [note for note in notes if note["/Subtype"] == "/Link"]
