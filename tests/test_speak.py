"""첫 쪽의 상자: 모델이 먼저 말하고, 그은 선은 파이썬의 모델이 본 비율이다."""

import numpy as np
from built_site import PHONE, SITE

from transformer_notes import models
from transformer_notes.cli.answers import REMARKS

SAID = "text => document.querySelector('.speak .status').textContent.includes(text)"
#: 그린 것: 글과, 칸의 너비와 비율과 선의 자리.
DRAWN = r"""() => {
  const all = [...document.querySelectorAll('.speak :is(li, path, .seen, .status)')]
  return [all.map(e => [e.textContent.replace(/\s+/g, ' '), e.matches('.chosen')]),
    all.flatMap(e => ['--width', '--weight'].map(name =>
      Number(e.style.getPropertyValue(name))).concat(
      (e.getAttribute('d') ?? '').match(/-?[\d.]+/g)?.map(Number) ?? []))]
}"""


def ask(page, text, expected):
    page.fill(".speak [name=text]", text)
    page.press(".speak [name=text]", "Enter")
    page.wait_for_function(SAID, arg=expected)


def first_answer(page):
    """스크립트가 다 썼는가. 멈춘 그림의 토큰은 단추가 아닙니다."""
    page.locator(".speak .written button").first.wait_for(state="attached")
    page.wait_for_function(SAID, arg="2026-11-21")


def seen(text):
    """답의 토큰마다, 마지막 층의 헤드를 평균한 크로스 어텐션."""
    opened = models.load("dates")
    source = opened.tokenizer.encode([text], eos=True)
    (answer,) = opened.translate([text])
    written = np.insert(answer.ids[:-1], 0, opened.tokenizer.bos_id)[np.newaxis]
    memory = opened.model.encode(source)
    decoded = opened.model.decode(written, memory, return_weights=True)
    return decoded.weights[-1].cross_attention[0].numpy().mean(axis=0)


def test_the_model_speaks_first_and_draws_what_it_saw(visit):
    page = visit("index.html")
    first_answer(page)
    weights = seen(page.input_value(".speak [name=text]"))
    for row, token in enumerate(page.locator(".speak .written button").all()):
        token.focus()
        drawn = page.locator(".speak path").evaluate_all(
            "paths => paths.map(p => Number(p.style.getPropertyValue('--weight')))"
        )
        np.testing.assert_allclose(drawn, weights[row], atol=1e-3)
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(".speak .chosen") == "1"
    ask(page, "2031년 13월 9일", REMARKS["words"]["no_day"].split("(")[0][-10:])
    page.fill(".speak [name=text]", "Return the length of the string.")
    page.check("[value=translator]")
    page.wait_for_function(SAID, arg="문자열의 길이를 반환합니다.")
    ask(page, "배고파", "영어 낱말이 없습니다")
    assert page.locator(".speak :is(li, path)").count() == 0  # 앞의 답은 없습니다
    assert page.trouble == []


def test_the_answer_and_the_doors_are_in_the_first_view(visit):
    for options in ({"viewport": {"width": 1440, "height": 900}}, PHONE):
        page = visit("index.html", **options)
        page.wait_for_function(SAID, arg="2026-11-21")
        height = page.viewport_size["height"]
        parts = [".speak .status", *[f".doors a >> nth={n}" for n in range(3)]]
        for part in parts:
            box = page.locator(part).locator("..").bounding_box()
            assert box["y"] + box["height"] <= height, (part, box)
        words = page.locator(".doors p").all()
        assert len(words) == 6 and all(word.is_visible() for word in words)
    page.set_viewport_size({"width": 320, "height": 640})  # 가장 좁은 폰
    stage = page.locator(".speak .stage")
    assert stage.evaluate("stage => stage.scrollWidth <= stage.clientWidth")
    # 긴 답에서는 골라 둔 토큰이 보이는 자리로 갑니다
    page.fill(
        ".speak [name=text]",
        "Return True if the file exists and the directory is not empty.",
    )
    page.check("[value=translator]")
    page.wait_for_function(SAID, arg="True를 반환합니다.")
    chosen, box = page.locator(".speak .chosen").bounding_box(), stage.bounding_box()
    assert box["x"] <= chosen["x"]
    assert chosen["x"] + chosen["width"] <= box["x"] + box["width"]


def test_without_scripts_the_box_shows_the_answer_that_the_script_ends_with(visit, tab):
    page = visit("index.html")
    first_answer(page)
    still = tab(java_script_enabled=False)
    still.goto((SITE / "index.html").as_uri())
    assert still.locator(".speak path").first.is_visible()
    assert still.locator(".speak :is(button, input):visible").count() == 0
    (words, numbers), (ended, drawn) = still.evaluate(DRAWN), page.evaluate(DRAWN)
    assert words == ended
    np.testing.assert_allclose(numbers, drawn, atol=0.011)
