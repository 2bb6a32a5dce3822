"""길 찾기: 장의 번호, 여기, 지도, 소스에서 돌아오는 길, 올린 사이트의 소개."""

import re
import tomllib
from pathlib import Path

import pytest
from model_map import small_map

ROOT = Path(__file__).resolve().parents[1]
CELL = "```{code-cell}\nvalue = 41\n```\n"
CHAPTER = """
({name}-goals)=
## 이 장에서 배우는 것

- 배웁니다.

{{ref}}`먼저 <first>` 읽어 주세요.

({name}-formula)=
## 수식

{{eq}}`eq-{name}`, {{numref}}`fig-{name}`, {{numref}}`first`, {{ref}}`ex-{name}`.

```{{math}}
:label: eq-{name}
a = 1
```

```{{figure}} dot.png
:name: fig-{name}
:alt: 점

점 하나.
```

```{{exercise}}
:label: ex-{name}
풀어 보세요. {{src}}`masking.padding_mask`
```
"""
INDEX = """# 책

```{toctree}
:numbered:
:caption: 앞

first
```

```{toctree}
:numbered:
:caption: 뒤

lectures/second
```

```{toctree}
:numbered:
:caption: 부록

extra
```

```{toctree}
:caption: 찾아보기

plain
```
"""


@pytest.fixture(scope="module")
def built(shared_book):
    """장이 셋이고 부록이 하나인 책. example.org/notes에 올립니다."""
    book = shared_book
    docs = book.root / "docs"
    conf = book.root / "conf" / "conf.py"
    base = 'html_baseurl = "https://example.org/notes/"'
    conf.write_text(conf.read_text("utf-8").replace('html_baseurl = ""', base), "utf-8")
    for folder in (docs, docs / "lectures"):
        folder.mkdir(exist_ok=True)
        (folder / "dot.png").write_bytes((ROOT / "docs" / "site.png").read_bytes())
    for path in ("first", "lectures/second", "extra"):
        name = path.rpartition("/")[2]
        text = f"({name})=\n# {name}\n" + CHAPTER.format(name=name) + CELL
        (docs / f"{path}.md").write_text(text, "utf-8")
    english = "---\nlang: en\n---\n\n# plain\n\nEnglish & only.\n"
    (docs / "plain.md").write_text(english, "utf-8")
    (docs / "index.md").write_text(INDEX, "utf-8")
    result = book.build()
    assert result.returncode == 0, result.stdout
    return book


def text_of(book, page):
    return (book.html / f"{page}.html").read_text(encoding="utf-8")


def words(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html))


@pytest.mark.parametrize(
    "page, number", [("first", "1"), ("lectures/second", "2"), ("extra", "A")]
)
def test_numbers_go_on_through_the_book_and_begin_with_the_chapter(built, page, number):
    html, name = text_of(built, page), page.rpartition("/")[2]
    shown = words(html)
    assert f"{number}. {name}" in shown
    assert f'class="eqno">({number}.1)' in html
    assert f"({number}.1), 그림 {number}.1, 1. first, 연습 {number}.1" in shown
    assert f"그림 {number}.1 점 하나." in shown
    notebook = (built.html / f"{page}.ipynb").read_text(encoding="utf-8")
    assert rf"\\tag{{{number}.1}}" in notebook
    assert "2. second" in words(text_of(built, "plain"))


def test_the_top_of_a_chapter_says_where_it_is_and_what_comes_before(built):
    html = text_of(built, "lectures/second")
    top = html[html.index('<div class="here') : html.index('id="second-goals"')]
    assert "2/2 · 뒤" in words(top) and "먼저 읽어 주세요" in words(top)
    assert 'href="second.ipynb"' in top
    assert html.count("읽어 주세요") == 1
    assert "부록 A" in words(text_of(built, "extra"))
    assert 'class="here' not in text_of(built, "plain")


def test_the_previous_and_the_next_chapter_are_named_with_their_numbers(built):
    html = text_of(built, "lectures/second")
    shown = words(html[html.index("prev-next-area") :])
    assert "1. first" in shown and "A. extra" in shown


def test_the_small_map_fills_the_boxes_of_one_chapter_only():
    attention, masking = small_map("lectures/attention"), small_map("lectures/masking")
    here = re.compile(r'class="here-box" d="([^"]+)"')
    assert len(here.findall(attention)[0].split("M")) - 1 == 4
    assert here.findall(masking) == ["M12 118h96v30h-96z"]
    assert here.findall(masking)[0] in attention
    assert small_map("lectures/training") == small_map("practice/dates") == ""


def test_a_source_page_leads_back_to_the_pages_that_show_it(built):
    html = text_of(built, "source/masking")
    assert re.search(r'href="\.\./lectures/second\.html">second</a>', html)
    assert "이 소스를 보이는 쪽" not in text_of(built, "source/embedding")


def test_a_published_page_introduces_itself(built):
    html = text_of(built, "plain")
    assert '<meta name="description" content="English &amp; only." />' in html


def test_a_page_in_another_language_says_so(built):
    assert re.search(r'<div lang="en">\s*<section', text_of(built, "plain"))
    assert '<div lang="en">' not in text_of(built, "first")


def test_the_citation_names_the_package_as_it_is():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"version: {project['version']}\n" in citation
    changes = (ROOT / "docs/reference/changelog.md").read_text(encoding="utf-8")
    assert re.search(r"^## (.+)$", changes, re.MULTILINE)[1] == project["version"]


def test_every_paper_cited_can_be_opened():
    """주소가 없는 것은 종이로 나온 것뿐입니다."""
    entries = re.split(r"\n(?=@)", (ROOT / "conf/references.bib").read_text("utf-8"))
    unlinked = {
        re.match(r"@\w+\{([^,]+)", entry)[1]
        for entry in entries
        if not re.search(r"^  (doi|eprint|url) =", entry, re.MULTILINE)
    }
    assert unlinked == {
        "hangul2017orthography", "nvidia2016p100", "nvidia2020a100", "nvidia2022h100"
    }  # fmt: skip
