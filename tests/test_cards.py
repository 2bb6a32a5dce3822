"""맞혀 보는 문제: 첫 답만 옳고, 적은 수는 셈한 것이고, 틀리면 다시 볼 문제에 남는다."""

import re
import tomllib
from pathlib import Path

from built_site import go
from tied_numbers import agrees, find
from typed_numbers import typed

ROOT = Path(__file__).resolve().parents[1]
CARDS = {
    path.stem: tomllib.loads(path.read_text("utf-8"))
    for path in sorted((ROOT / "docs" / "cards").glob("*.toml"))
}
CARD = "card-attention-axis"


def test_every_lecture_asks_three_times_where_its_file_says():
    lectures = {path.stem: path for path in (ROOT / "docs" / "lectures").glob("*.md")}
    assert CARDS.keys() == lectures.keys()
    for name, cards in CARDS.items():
        text = lectures[name].read_text("utf-8")
        asked = re.findall(r"^```\{ask\} (\S+)\n```$", text, re.MULTILINE)
        assert sorted(asked) == sorted(cards) and len(asked) == 3, name


def test_the_first_answer_holds_and_no_other_does(subtests):
    for page, cards in CARDS.items():
        for name, card in cards.items():
            with subtests.test(f"{page} {name}"):
                answers_hold(card)


def answers_hold(card):
    code = card.get("code", "") + card.get("check", "")
    namespace = {}
    exec(code, namespace)
    texts = [text.replace("`", "") for text, *_ in card["answers"]]
    assert len(set(texts)) == len(card["answers"]) == 4
    for place, (_, expression, why) in enumerate(card["answers"]):
        value = eval(expression, namespace)
        # 참과 거짓이면 그 말이 옳은가이고, 아니면 적힌 그대로여야 합니다.
        truth = str(value) in {"True", "False"}
        said = place == 0 if truth else texts[place]
        assert str(value) == str(said), (texts[place], value)
        assert why.endswith(("다.", "요.", ")."))
    prose = "\n\n".join([card["ask"], *(why for *_, why in card["answers"])])
    for _, written, expression in find(prose):
        assert agrees(written, eval(expression, namespace)), written
    shown = "\n".join([code, *(expression for _, expression, _ in card["answers"])])
    assert [*typed(f"{prose}\n\n```{{code-cell}}\n{shown}\n```\n")] == []


def test_a_card_is_missed_when_its_first_answer_is_wrong(tab):
    def missed(before, *verdicts):
        page = go(tab(), "lectures/attention.html")
        page.evaluate(f"notesMemory.mark('missed', '{CARD}', {before})")
        box = page.locator(f"#{CARD}")
        box.locator("summary").click()
        reasons = box.locator("details li").all_inner_texts()
        for verdict in verdicts:
            place = [text.split(".")[0] for text in reasons].index(verdict)
            box.get_by_role("button").nth(place).press("Enter")
            assert box.get_by_role("status").inner_text() == reasons[place]
        return page.evaluate(f"notesMemory.has('missed', '{CARD}')")

    assert missed("false", "아닙니다", "맞습니다")  # 둘째로 고른 것은 세지 않습니다
    assert missed("true", "아닙니다")
    assert not missed("true", "맞습니다", "아닙니다")


def test_the_review_page_shows_the_missed_cards_of_this_moment(visit):
    page = visit("reference/review.html")
    missed = page.locator(".asked li:visible li:visible")
    assert missed.count() == 0

    # 다른 탭에서 바뀔 때의 소식과, 뒤로 가기로 돌아올 때의 소식
    for answered, news in (
        ([CARD], "StorageEvent('storage')"),
        ([], "StorageEvent('storage')"),
        ([CARD], "PageTransitionEvent('pageshow')"),
    ):
        page.evaluate(
            f"""names => {{
              localStorage.setItem("notes-missed", JSON.stringify(names))
              dispatchEvent(new {news})
            }}""",
            answered,
        )
        assert missed.count() == len(answered)

    missed.get_by_role("link").click()
    page.wait_for_url(f"**/lectures/attention.html#{CARD}")
    go(page, "reference/review.html")
    page.get_by_role("button", name="모두 잊기").click()
    assert page.locator(".asked li:visible").count() == 0
    assert page.evaluate(f"notesMemory.has('missed', '{CARD}')") is False
