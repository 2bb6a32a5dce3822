"""브라우저 속의 모델은 파이썬의 모델과 같은 답을 하고, 쪽에서 손으로 쓸 수 있다."""

import functools
import random
import re
from pathlib import Path
from pydoc_data.topics import topics

import model_scripts
import numpy as np
import pytest
import tensorflow as tf
from built_site import PHONE, SITE, go

from transformer_notes import corpora, models
from transformer_notes.cli import texts as cli_texts
from transformer_notes.cli import trained
from transformer_notes.cli.korean import BadInput
from transformer_notes.decoding import beam_search, greedy
from transformer_notes.tokenization import pad_rows

ROOT = Path(__file__).resolve().parents[1]
#: 사람이 좀처럼 치지 않는 글을 짓는 글자: 이모지, 자모, 빈칸, 부호, 다른 나라의 글자.
ODD = [
    *"가힣ㅋㅎㅠㅜ!?.~'\"<>eosA0９２Ⅷ①한漢é𝔸",
    *"\t\n\u0085\u00a0\u200b\u3000\ufeff\u0301ᄀ각",
    *("🙂", "👨‍👩‍👧", "ﬁ", "ㅋㅋㅋㅋ", "....", "<eos>", "<unk>", "  ", " 한글", "１２"),
]


def odd_texts(count):
    """가장자리의 글 다섯과, 이상한 글자를 섞은 글 ``count``개."""
    rng = random.Random(13)
    mixed = ["".join(rng.choices(ODD, k=rng.randint(1, 12))) for _ in range(count)]
    return ["", " \u3000\t", "가나다 " * 300, "." * 600, "Ａ" * 470, *mixed]


def sentences(name, count):
    """모델이 읽을 만한 글."""
    if name == "dates":
        return [text for text, _ in corpora.dates(count, seed=20240)]
    if name == "translator":
        text = " ".join(" ".join(topic.split()) for _, topic in sorted(topics.items()))
        found = re.findall(r"[A-Z][^.]{10,80}\.(?= [A-Z])", text)
    else:
        pairs = corpora.conversations()
        found = [text for pair in pairs for text in pair[:2]]
    return random.Random(7).sample(sorted(set(found)), count)


@pytest.fixture(params=[25, pytest.param(500, marks=pytest.mark.slow)])
def count(request):
    """모델마다 견줄 글의 수."""
    return request.param


def texts(name, count):
    odd = odd_texts(count // 5)
    return odd + sentences(name, count - len(odd))


@functools.cache
def opened(name):
    return trained.open_model(name)


def expected_reading(name, text, monkeypatch):
    """명령줄이 그 글을 읽은 번호와 경고, 또는 거절하는 까닭."""
    warnings = []
    monkeypatch.setattr(cli_texts, "warn", warnings.append)
    monkeypatch.setattr(cli_texts.pairs, "shortened", str)
    text = text.strip()
    if not text:
        return {"error": "글이 필요합니다. 받은 것: 빈 글."}
    try:
        text = cli_texts.readable(opened(name), text, "글")
    except BadInput as error:
        return {"error": error.message}
    ids = opened(name).tokenizer.encode(text, eos=True).tolist()
    return {"ids": ids, "warning": "".join(warnings)}


@pytest.fixture(scope="module", params=models.available())
def pair(request, browser, tmp_path_factory):
    """(이름, 그 모델을 연 쪽). 쪽은 파일로 엽니다."""
    name, folder = request.param, tmp_path_factory.mktemp("page")
    code = (ROOT / "conf" / "static" / "transformer.js").read_text("utf-8")
    weights = model_scripts.script(model_scripts.MODELS / f"{name}.safetensors")
    path = folder / "page.html"
    path.write_text(
        f"<meta charset='utf-8'><script>{code}</script><script>{weights}</script>",
        encoding="utf-8",
    )
    page = browser.new_page()
    page.goto(path.as_uri())
    page.evaluate(
        f"async () => {{ model = await notesTransformer.open(notesModels.{name}) }}"
    )
    yield name, page
    page.close()


READ = """texts => texts.map(text => {
  try { return notesTransformer.read(model, text) }
  catch (error) { return {error: error.message} }
})"""
GREEDY = """rows => rows.map(ids => {
  const steps = [...notesTransformer.generate(model, ids)]
  return [steps.map(s => s.token), steps.map(s => s.log[s.token])]
})"""
BEAM = """rows => rows.map(ids => {
  let beams
  for (beams of notesTransformer.searchBeams(model, ids, 4)) ;
  return [beams.map(beam => beam.ids), beams.map(beam => beam.score)]
})"""
CLASSIFY = """rows => rows.map(ids =>
  [...notesTransformer.classify(model, ids).probabilities])"""


def test_the_browser_reads_and_refuses_as_the_command_does(pair, count, monkeypatch):
    name, page = pair
    given = texts(name, count)
    read = page.evaluate(READ, given)
    expected = [expected_reading(name, text, monkeypatch) for text in given]
    refused = " ".join(one.get("error", "") for one in expected)
    assert len(given) == count and "빈 글" in refused and "너무 깁니다" in refused
    for text, ours, python in zip(given, read, expected):
        assert ours == python, repr(text)


def rows_of(name, count, monkeypatch):
    found = [expected_reading(name, text, monkeypatch) for text in texts(name, count)]
    return sorted((one["ids"] for one in found if "ids" in one), key=len)


def batches(rows, size=64):
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def test_answers_and_their_probabilities_are_those_of_python(pair, count, monkeypatch):
    name, page = pair
    rows, model = rows_of(name, count, monkeypatch), opened(name).model
    if opened(name).task == "classify":
        ours = np.array(page.evaluate(CLASSIFY, rows))
        for part, found in zip(batches(rows), batches(ours)):
            ids = pad_rows(part)
            chances = tf.nn.softmax(model((ids, ids[:, :1]))[:, 0, 1:])
            np.testing.assert_allclose(found, chances, rtol=1e-4)
        return
    ours = page.evaluate(GREEDY, rows)
    for part, found in zip(batches(rows), batches(ours)):
        answers = greedy(model, pad_rows(part), 2, 3).numpy()
        inputs = np.insert(answers[:, :-1], 0, 2, axis=1)
        log_p = tf.nn.log_softmax(model((pad_rows(part), inputs))).numpy()
        for ids, (tokens, logs), answer, python in zip(part, found, answers, log_p):
            assert tokens == answer[answer != 0].tolist(), ids
            python = python[np.arange(len(tokens)), tokens]
            np.testing.assert_allclose(np.exp(logs), np.exp(python), rtol=1e-4)


def test_beams_and_their_scores_are_those_of_python(pair, count, monkeypatch):
    name, page = pair
    if opened(name).task == "classify":
        return
    rows = rows_of(name, count, monkeypatch)
    rows = random.Random(1).sample(rows, count // 5)
    ours = page.evaluate(BEAM, rows)
    ids, scores = beam_search(
        opened(name).model, pad_rows(rows), 2, 3, return_beams=True
    )
    for (tokens, found), beams, python in zip(ours, ids.numpy(), scores.numpy()):
        assert tokens == [beam[beam != 0].tolist() for beam in beams]
        np.testing.assert_allclose(np.exp(found), np.exp(python), rtol=1e-4)


# --- 지은 쪽 -------------------------------------------------------------------------

ANSWERED = """expected =>
  document.querySelector('.status').textContent.includes(expected)
  && document.querySelector('[name=stop]').disabled"""


def asked(page, expected):
    page.wait_for_function(ANSWERED, arg=expected)
    return page.inner_text(".answer")


def test_a_model_is_read_only_when_asked_and_the_keyboard_is_enough(visit):
    page, requests = visit("practice/playground.html"), []
    page.on("request", lambda request: requests.append(request.url))
    page.focus(".playground textarea")
    page.keyboard.press("Control+A")
    page.keyboard.type("12월 25일, 2031")
    assert [url for url in requests if url.endswith(".js")] == []
    page.keyboard.press("Enter")
    assert asked(page, "확률") == "2031-12-25"
    (read,) = [url for url in requests if url.endswith(".js")]
    assert read.endswith("_static/models/dates.js") and page.trouble == []
    rows = page.locator(".playground tbody tr")
    assert rows.count() == 12  # 공백, 날짜의 열 글자, <eos>
    page.focus(".playground tbody button[tabindex='0']")
    page.keyboard.press("ArrowUp")
    pressed = page.locator(".playground tbody button[aria-pressed=true]")
    assert pressed.count() == 1 and pressed.inner_text() == "5"
    shown = [float(w) for w in rows.nth(10).locator("td").all_inner_texts()]
    assert sum(shown) == pytest.approx(1, abs=0.01 * len(shown))
    assert "".join(rows.nth(9).locator("td").all_inner_texts()) == ""


#: 감상평의 모델을 다 읽으면 이루어지는 약속.
WATCH = """() => {
  window.loaded = new Promise((done) => document.addEventListener(
    "load", ({ target }) => target.src?.endsWith("reviews.js") && done(), true));
}"""


def test_another_model_and_an_empty_text_leave_no_old_answer(visit):
    page = visit("practice/playground.html")
    page.fill(".playground textarea", "12월 25일, 2031")
    page.click(".playground [type=submit]")
    assert asked(page, "확률") == "2031-12-25"
    page.fill(".playground textarea", "")
    page.click(".playground [type=submit]")
    assert asked(page, "글이 필요합니다") == ""
    assert not page.locator(".playground .attention").is_visible()
    page.fill(".playground textarea", "내가 쓴 글")
    page.check(".playground [value=reviews]")
    assert page.input_value(".playground textarea") == "내가 쓴 글"
    assert page.inner_text(".playground .status") == ""
    page.evaluate(WATCH)
    page.click(".playground [type=submit]")
    page.check(".playground [value=dates]")  # 모델을 읽는 동안 바꿉니다
    page.evaluate("loaded")
    page.wait_for_function("!('reviews' in notesModels)")
    assert page.inner_text(".playground .answer") == ""
    page.click(".playground [data-model=dates]:is(button) >> nth=0")
    page.check(".playground [value=chatbot]")
    assert page.input_value(".playground textarea") == "안녕하세요"
    page.fill(".playground textarea", "가" * 100_000)
    page.click(".playground [type=submit]")
    assert asked(page, "너무 깁니다") == ""
    assert page.trouble == []


#: 첫 토큰이 나오자마자 멈춥니다.
STOP = """async () => {
  document.querySelector('.playground [type=submit]').click();
  while (!document.querySelector('.answer').textContent)
    await new Promise(requestAnimationFrame);
  document.querySelector('[name=stop]').click();
}"""


def test_a_stopped_answer_says_so_and_goes_on(visit):
    page = visit("practice/playground.html")
    page.check(".playground [value=translator]")
    page.evaluate(STOP)
    half = asked(page, "멈추었습니다")
    page.click(".playground [type=submit]")
    whole = asked(page, "확률")
    assert whole.startswith(half) and len(whole) > len(half)
    assert page.trouble == []


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("translator", "목록의 사본을 돌려줍니다.", "로마자가 없는 글"),
        ("reviews", "A film to see twice.", "한글이 없는 글"),
        ("chatbot", "Hello.", "한글이 없는 글"),
    ],
)
def test_a_text_in_another_language_is_told(visit, name, text, said):
    page = visit("practice/playground.html")
    page.check(f".playground [value={name}]")
    for given, told in ((text, True), (text + " 영화 film", False)):
        page.fill(".playground textarea", given)
        page.click(".playground [type=submit]")
        answer = asked(page, said if told else "확률")
        assert (said in page.inner_text(".playground .status")) == told
        assert bool(answer) == (name != "chatbot" or not told)


def test_one_token_at_a_time_by_touch_on_a_phone(visit):
    page = visit("practice/playground.html", **PHONE)
    for count in (1, 2):
        page.tap("[name=step]")
        page.wait_for_function(
            "n => document.querySelectorAll('.playground tbody tr').length === n",
            arg=count,
        )
    page.tap(".playground [value=beam]")
    page.tap("[type=submit]")
    assert asked(page, "확률") == "2026-11-21"
    assert page.locator(".beams li").count() == 4
    assert re.search(r"\d\.\de-\d", page.inner_text(".detail"))  # 아주 작은 확률
    page.tap(".playground tbody tr:nth-child(3) button")
    assert "많이 본 토큰" in page.inner_text(".detail")
    page.select_option("[name=kind]", "self")
    assert page.locator(".playground thead th").first.inner_text() == "<bos>"
    small = page.evaluate(
        """[...document.querySelectorAll('.playground :is(button, select, label)')]
        .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24)
        .map(e => e.outerHTML)"""
    )
    assert small == [] and page.evaluate("document.body.scrollWidth") <= 390


def test_what_cannot_be_read_is_told_and_can_be_asked_again(tab):
    page = tab()
    page.route("**/models/reviews.js", lambda route: route.abort())
    go(page, "practice/playground.html")
    page.check(".playground [value=reviews]")
    page.click("[type=submit]")
    assert asked(page, "_static/models/reviews.js를 읽지 못했습니다") == ""
    page.unroute_all()
    page.click("[type=submit]")
    assert asked(page, "확률 부정") == "긍정"
    page.fill(".playground textarea", "재미 " * 600)
    page.click("[type=submit]")
    asked(page, "너무 깁니다")


def test_no_other_page_reads_the_models():
    for path in SITE.rglob("*.html"):
        found = "transformer.js" in path.read_text("utf-8")
        assert found == (path.stem in {"playground", "step_through"}), path
