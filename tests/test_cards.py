"""맞혀 보는 문제: 첫 답만 옳고, 적은 수는 셈한 것이고, 틀리면 다시 볼 문제에 남는다."""

import re
import tomllib
from pathlib import Path

from built_site import go
from playwright.sync_api import expect
from tied_numbers import agrees, find
from typed_numbers import typed

ROOT = Path(__file__).resolve().parents[1]
CARDS = {
    path.stem: tomllib.loads(path.read_text("utf-8"))
    for path in sorted((ROOT / "docs" / "cards").glob("*.toml"))
}


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
    assert [*typed("card.md", f"{prose}\n\n```{{code-cell}}\n{shown}\n```\n")] == []


def test_a_missed_card_waits_on_the_review_page_until_its_first_answer_is_right(tab):
    review = go(tab(), "reference/review.html")
    missed = review.locator(".asked li li:visible")
    with review.expect_popup() as opened:
        review.evaluate("open('../lectures/attention.html')")
    lecture = opened.value

    def choose(*verdicts):
        go(lecture, "lectures/attention.html")
        box = lecture.locator("#card-attention-axis")
        box.locator("summary").click()
        reasons = box.locator("details li").all_inner_texts()
        for verdict in verdicts:
            place = [text.split(".")[0] for text in reasons].index(verdict)
            box.get_by_role("button").nth(place).press("Enter")
            assert box.get_by_role("status").inner_text() == reasons[place]

    def waits(count):  # 열려 있는 쪽도, 다시 연 쪽도
        expect(missed).to_have_count(count, timeout=60_000)
        go(review, "reference/review.html")
        expect(missed).to_have_count(count, timeout=60_000)

    waits(0)
    choose("아닙니다", "맞습니다")  # 둘째로 고른 것은 세지 않습니다
    waits(1)
    choose("맞습니다")
    waits(0)
    choose("아닙니다")
    waits(1)
    missed.get_by_role("link").click()
    assert review.url.endswith("lectures/attention.html#card-attention-axis")
    go(review, "reference/review.html")
    review.get_by_role("button", name="모두 잊기").click()
    assert review.locator(".asked li:visible").count() == 0
    waits(0)
    # 뒤로 가기로 돌아오면 쪽은 떠날 때의 모습 그대로 다시 보입니다
    review.evaluate("""() => {
      localStorage.setItem("notes-missed", '["card-attention-axis"]')
      dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))
    }""")
    expect(missed).to_have_count(1)
