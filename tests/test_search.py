"""검색: 배우는 사람이 칠 만한 말이 맞는 쪽으로 이끈다. 진짜 브라우저에서, 파일로 연다.

``search_queries.toml``은 검색을 고칠 때 봅니다. ``search_queries_blind.toml``은 쪽의
글만 보고 적었고 고치기 앞과 뒤에 한 번씩만 재었습니다. ``search_queries_fresh.toml``도
그렇게 적었고, 한 번 잰 뒤에는 고칠 때 보았습니다. ``score``가 그 수를 냅니다.
"""

import gzip
import itertools
import json
import operator
import re
import tomllib

import pytest
from built_site import PHONE, ROOT, SITE, go, new_page
from hypothesis import example, given, settings
from hypothesis import strategies as st
from search import PHRASES, english_names, merged, readable_formula

QUERIES = {
    name: tomllib.loads((ROOT / "tests" / f"{name}.toml").read_text("utf-8"))["queries"]
    for name in ("search_queries", "search_queries_blind", "search_queries_fresh")
}
#: 쪽이 첫째, 셋 안에, 절이 첫째, 셋 안에
LEAST = {
    "search_queries": (0.92, 0.98, 0.87, 0.95),
    "search_queries_blind": (0.84, 0.96, 0.75, 0.86),
    "search_queries_fresh": (0.87, 0.95, 0.79, 0.87),
}
INDEX = SITE / "_static" / "search_index.js"
READY = "(() => { try { return notesSearch.find('어텐션') } catch { return false } })()"


@pytest.fixture(scope="module")
def searching(browser):
    """검색을 열어 색인까지 읽은 쪽"""
    page = go(new_page(browser), "search.html")
    page.wait_for_function(READY)
    yield page
    page.close()


def indexed():
    """쪽마다 색인에 담은 절들."""
    script = INDEX.read_text("utf-8")
    index = json.loads(script.removeprefix("openSearchIndex(").removesuffix(");\n"))
    return dict(index["pages"])


def find(page, query):
    """[쪽, 절의 id, 절의 제목]들을 나은 것부터, 쪽마다 하나씩 냅니다.

    API는 한 쪽입니다.
    """
    return page.evaluate(
        "query => notesSearch.find(query).results.map(({hits: [{section: s}]}) =>"
        " [s.page.replace(/api\\/.*/, 'api'), s.anchor, s.heading])",
        query,
    )


def right_places(query):
    """맞는 (쪽, 절의 id)들. 쪽만 적었으면 id가 비어 있습니다."""
    found = (place.partition("#")[::2] for place in query["right"])
    return {(page, anchor.replace("_", "-")) for page, anchor in found}


def score(page, queries):
    """맞는 쪽이 첫째인 몫과 셋 안에 있는 몫, 맞는 절이 첫째인 몫과 셋 안에 있는 몫."""
    hits = []
    for query in queries:
        found = [(page_, anchor) for page_, anchor, _ in find(page, query["query"])[:3]]
        sections = right_places(query)
        pages = {page_ for page_, _ in sections}
        in_page = [page_ in pages for page_, _ in found]
        in_section = [
            (page_, anchor) in sections or (page_, "") in sections
            for page_, anchor in found
        ]
        hits.append(
            [any(in_page[:1]), any(in_page), any(in_section[:1]), any(in_section)]
        )
    return [sum(column) / len(queries) for column in zip(*hits, strict=True)]


@pytest.mark.parametrize("name, least", LEAST.items())
def test_right_pages_and_sections_come_first(searching, name, least):
    shares = score(searching, QUERIES[name])
    assert all(map(operator.ge, shares, least)), shares


def test_every_right_place_is_one_that_can_be_found():
    known = {
        (re.sub("api/.*", "api", page), anchor)
        for page, entries in indexed().items()
        for anchor in ("", *(entry[0] for entry in entries))
    }
    queries = itertools.chain(*QUERIES.values())
    lost = {query["query"]: right_places(query) - known for query in queries}
    assert {query: places for query, places in lost.items() if places} == {}


def test_the_lecture_that_teaches_a_term_comes_first(searching):
    terms = [e for e in indexed()["reference/glossary"] if e[0].startswith("term-")]
    assert len(terms) > 100
    lost = [
        (term, lesson)
        for _, term, _, lesson in terms
        if "#".join(find(searching, term)[0][:2]) != lesson
    ]
    assert lost == []


def test_what_a_term_means_stands_above_the_results(visit):
    page = visit("search.html", query="?q=어텐션이 뭐예요")
    page.locator("article .search-result").first.wait_for()
    meaning = page.locator("article .search-meaning")
    assert meaning.inner_text().startswith("어텐션 attention. 쿼리와 키의")
    assert "glossary.html#term-" in meaning.locator("a").get_attribute("href")
    results = page.locator("article .search-result a")
    assert "lectures/attention.html" in results.first.get_attribute("href")
    assert not page.locator('article .search-result a[href*="#term-"]').count()
    page.fill("article input", "어텐션은 왜 나누나")
    meaning.wait_for(state="detached")


def test_asking_what_something_is_asks_for_the_thing(searching):
    for asked in ("어텐션은", "어텐션이란", "어텐션이 뭐야", "어텐션이 무엇인가요?"):
        assert find(searching, asked) == find(searching, "어텐션"), asked


def test_a_command_is_found_by_its_name(searching):
    for asked in ("check", "transformer-notes check"):
        page, anchor, _ = find(searching, asked)[0]
        assert (page, anchor) == ("practice/command_line", "command-line-check")
    for name in ("train", "translate", "evaluate", "classify", "chat", "exercise"):
        found = find(searching, f"transformer-notes {name}")
        assert found[0][0] == "practice/command_line", name


def test_words_that_stand_nowhere_are_found_through_what_they_belong_to(searching):
    assert find(searching, "WMT14")[0][0] == "paper/reading"
    assert find(searching, "Colab")[0][:2] == ["index", "index-run"]


def test_one_thing_is_found_by_all_its_names(searching):
    for queries in (
        ("잔차", "잔차를", "잔차가", "잔차에서"),
        ("위치 인코딩", "위치인코딩", "positional encoding", "positional-encoding"),
        ("빔 탐색", "빔탐색", "빔서치", "beam search", "Beam Search"),
        ("멀티 헤드 어텐션", "멀티헤드어텐션", "MHA", "multi-head attention"),
        ("look_ahead_mask", "LookAheadMask", "look_ahed_mask"),
        ("임베딩", "임배딩", "임딩베", "embedding", "embeddign"),
    ):
        first = {query: find(searching, query)[0][:2] for query in queries}
        assert len({*map(tuple, first.values())}) == 1, first


def test_a_name_of_two_capitals_is_found_however_it_is_typed(searching):
    for typed in ("lora", "LoRA", "LORA"):
        assert find(searching, typed)[0][:2] == ["paper/beyond", "beyond-lora"], typed


def test_what_follows_a_command_does_not_hide_it(searching):
    page, anchor, _ = find(searching, "transformer-notes check my_attention.py")[0]
    assert (page, anchor) == ("practice/command_line", "command-line-check")


def test_a_verb_finds_its_forms(searching):
    for query, forms in {
        "나누나요": "나눕니다 나누는 나눠 나누어",
        "올렸다": "올립니다 올려 올린 올렸습니다",
        "다름": "다릅니다 다른 다르게",
    }.items():
        missing = searching.evaluate(
            "([query, forms]) => { const [{source}] = notesSearch.find(query).terms;"
            " return forms.filter(form => !new RegExp(source).test(form)) }",
            [query, forms.split()],
        )
        assert missing == [], query


def test_a_number_is_not_found_within_another(searching):
    for number, heading in (("실수 4", r"실수 4\b"), ("실수3", r"실수 3\b")):
        assert re.match(heading, find(searching, number)[0][2])


def test_words_in_one_sentence_are_worth_more_than_words_apart(visit):
    page = visit("search.html")
    page.wait_for_function(READY)
    found = page.evaluate("""() => {
      const apart = "가나 다라 마바. 사아 자차 카타."
      const together = "가나 다라 자차. 사아 마바 카타."
      notesSearch.accept({names: [], pages: [["첫", [["a", "앞", "", ""]]],
        ["둘", [["b", "하나", apart, ""], ["c", "둘째", together, ""]]]]})
      const [{hits}] = notesSearch.find("자차 말고 가나").results
      return hits.map(h => h.section.anchor)
    }""")
    assert found == ["c", "b"]


def test_hangul_typed_with_an_english_keyboard_is_read(searching):
    for typed, meant in (("djxpstus", "어텐션"), ("xhzmsghk", "토큰화")):
        assert find(searching, typed) == find(searching, meant)


def test_a_section_is_found_by_words_it_does_not_hold(searching):
    page, anchor, _ = find(searching, "dying ReLU")[0]
    assert (page, anchor) == ("deeper/feed_forward", "feed-forward-exercises")


@settings(max_examples=100)
@example(query="_")
@given(query=st.text("가각뷁aZ_ 09.*+?()[]{}|\\^$/<>\"'√ㅋ\u1112", max_size=12))
def test_any_text_can_be_searched_for(searching, query):
    assert isinstance(find(searching, query), list)


def test_typos_are_mended_and_said(searching):
    searching.fill("article input", "어텐숀")
    status = searching.locator("article .search-status")
    status.filter(has_text="‘어텐숀’ 대신 ‘어텐션’").wait_for()
    assert status.get_attribute("aria-live") == "polite"
    for inflected in (
        "올라간다",
        "설명할",
        "바꾸니",
        "통과하는",
    ):  # 고친 것이 아니라 활용입니다
        assert searching.evaluate("q => notesSearch.find(q).fixed", inflected) == []


def test_nothing_found_is_said(searching):
    searching.fill("article input", "쀍쀍쀍")
    searching.locator(".search-status").filter(
        has_text="나오는 곳이 없습니다"
    ).wait_for()
    assert searching.locator(".search-result").count() == 0


def test_results_show_page_section_and_marked_words(visit):
    page = visit("search.html", query="?q=왜 루트 dk로 나누나")
    page.locator("article .search-result").first.wait_for()
    first = page.locator("article .search-result").first
    where, snippet = first.locator(".where"), first.locator(".snippet")
    assert where.inner_text().startswith("스케일드 닷 프로덕트 어텐션 — ")
    assert snippet.locator("mark").count() > 0
    assert len(snippet.inner_text()) < 200
    assert page.trouble == []


def test_the_whole_path_by_keyboard(visit):
    page = visit("lectures/attention.html")
    loaded = (
        "[...document.scripts].filter(s => /search_(index|engine)/.test(s.src)).length"
    )
    assert page.evaluate(loaded) == 0  # 열기 전에는 읽지 않습니다
    page.keyboard.press("Control+k")
    page.keyboard.type("잔차 연결이 왜")
    results = page.locator("#pst-search-dialog .search-result a")
    results.first.wait_for()
    assert page.evaluate(loaded) == 2
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    focused = "document.activeElement.getAttribute('href')"
    target = page.evaluate(focused)
    assert target == results.first.get_attribute("href")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.press("Escape")
    assert not page.locator("#pst-search-dialog").is_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("잔차 연결이 왜")
    page.keyboard.press("Enter")
    page.wait_for_url("**#*")
    page.locator(".clear-marks").wait_for()
    anchor = page.evaluate("decodeURIComponent(location.hash.slice(1))")
    top = page.evaluate(
        "id => document.getElementById(id).getBoundingClientRect().top", anchor
    )
    assert 0 <= top < 900
    assert page.trouble == []


def test_every_hit_is_marked_on_arrival_and_a_button_takes_the_marks_off(visit):
    marks = "CSS.highlights.get('found')?.size ?? 0"
    for name, word in (("index.html", "쿼리"), ("lectures/overview.html", "인코더")):
        page = visit(name, query=f"?highlight={word}", **PHONE)
        clear = page.locator(".clear-marks")
        clear.wait_for()
        shown = page.locator("article").evaluate(
            "(article, word) => [...article.querySelectorAll('script, style, noscript,"
            " title, desc, textarea, .headerlink, .clear-marks')].reduce("
            "(rest, {textContent}) => rest - textContent.split(word).length + 1,"
            " article.textContent.split(word).length - 1)",
            word,
        )
        assert page.evaluate(marks) == shown > 3
        assert "highlight" not in page.url
        box = clear.bounding_box()
        assert box["height"] >= 44 and box["x"] + box["width"] <= 390
        clear.tap()
        assert page.evaluate(marks) == clear.count() == 0
        assert page.trouble == []


def test_a_name_in_a_heading_or_in_code_is_marked_on_arrival(visit):
    page = visit("search.html", query="?q=padding_mask")
    link = page.locator("article .search-result a").first
    link.wait_for()
    assert "highlight=padding_mask#" in link.get_attribute("href")


def test_a_long_list_stays_within_the_window_on_a_phone(visit):
    page = visit("index.html")
    page.set_viewport_size({"width": 390, "height": 800})
    page.keyboard.press("Control+k")
    page.keyboard.type("어텐션")
    page.locator("#pst-search-dialog .search-result").first.wait_for()
    box = page.locator("#pst-search-dialog").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert box["y"] >= 0 and box["y"] + box["height"] <= 800
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_index_is_small():
    assert len(gzip.compress(INDEX.read_bytes())) < 360_000


def test_every_phrase_stands_with_its_section():
    kept = [e[4] for entries in indexed().values() for e in entries if e[4:]]
    assert sorted(kept) == sorted(tomllib.loads(PHRASES.read_text("utf-8")).values())


def test_every_entry_of_the_index_exists():
    for name, entries in indexed().items():
        page = (SITE / f"{name}.html").read_text("utf-8")
        missing = [e[0] for e in entries if f'id="{e[0]}"' not in page]
        assert missing == [], name


def test_no_page_reads_the_search_of_sphinx():
    assert not (SITE / "searchindex.js").exists()
    for name in ("searchtools.js", "sphinx_highlight.js"):
        assert not (SITE / "_static" / name).exists()
    for name in ("index.html", "search.html", "lectures/attention.html"):
        page = (SITE / name).read_text("utf-8")
        assert "searchtools" not in page and "sphinx_highlight" not in page
        assert "search_index" not in page


def test_names_come_from_the_glossary():
    assert english_names("attention. 가중치로") == ["attention"]
    assert english_names("확률이 높은 토큰 k개에서만") == []
    groups = [["쿼리", "query"], ["키", "key"], ["질의", "Query"], ["키", "질의"]]
    assert merged(groups) == [["쿼리", "query", "질의", "Query", "키", "key"]]


def test_formulas_are_indexed_as_people_type_them():
    for latex, typed in (
        (r"\sqrt{d_k}", "√d_k"),
        (r"\frac{1}{\sqrt{d_{\mathrm{model}}}}", "1/√d_model"),
        (r"10000^{2i/d_{\text{model}}}", "10000^2i/d_model"),
    ):
        assert readable_formula(latex) == typed
