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
from command_line import run

from transformer_notes import corpora, models
from transformer_notes.cli import answers as cli_answers
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
        found += [text.text for text in corpora.heavy_texts()]
    return random.Random(7).sample(sorted(set(found)), count)


@functools.cache
def opened(name):
    return trained.open_model(name)


def expected_reading(name, text):
    """명령줄이 그 글을 읽은 번호와 경고, 또는 거절하는 까닭."""
    text = text.strip()
    if not text:
        return {"error": cli_answers.remark("empty")}
    try:
        text, refusal, warning = cli_answers.reading(opened(name), text)
    except BadInput as error:
        refusal = error.message
    if refusal:
        return {"error": refusal}
    tokenizer = opened(name).tokenizer
    (hidden,), (spans,) = tokenizer.hide([text])
    ids = tokenizer.encode(hidden, eos=True).tolist()
    return {"ids": ids, "warning": warning, "text": text, "spans": spans}


@functools.cache
def readings(name):
    """모델마다 글 500개와, 명령줄이 읽은 것."""
    odd = odd_texts(100)
    texts = odd + sentences(name, 500 - len(odd))
    return [(text, expected_reading(name, text)) for text in texts]


def rows_of(name):
    """읽은 것의 번호. 짧은 것이 먼저입니다."""
    return sorted((one["ids"] for _, one in readings(name) if "ids" in one), key=len)


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
JUDGE = """pairs => pairs.map(([source, said]) => {
  const {held, asked} = notesTransformer.judge(model, said, 0.9, source)
  return [held, asked]
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


def test_the_browser_reads_and_refuses_as_the_command_does(pair):
    name, page = pair
    read = page.evaluate(READ, [text for text, _ in readings(name)])
    refused = " ".join(one.get("error", "") for _, one in readings(name))
    assert "빈 글" in refused and "너무 깁니다" in refused
    for ours, (text, python) in zip(read, readings(name), strict=True):
        assert ours == python, repr(text)
    texts = [text for text, _ in readings(name)]
    pairs = list(zip(texts, texts[1:]))  # 앞의 글을 뒤의 글로 옮겼다고 합시다
    said = page.evaluate(JUDGE, pairs)
    rules = cli_answers.REMARKS["rules"][opened(name).task]
    for ours, (source, answer) in zip(said, pairs, strict=True):
        python = cli_answers.judged(rules, answer, 0.9, source=source)
        assert tuple(ours) == python, (source, answer)


def batches(rows, size=64):
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def test_answers_and_their_probabilities_are_those_of_python(pair):
    name, page = pair
    rows, model = rows_of(name), opened(name).model
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


def test_beams_and_their_scores_are_those_of_python(pair):
    name, page = pair
    if opened(name).task == "classify":
        return
    rows = random.Random(1).sample(rows_of(name), 50)
    ours = page.evaluate(BEAM, rows)
    ids, scores = beam_search(
        opened(name).model, pad_rows(rows), 2, 3, return_beams=True
    )
    for (tokens, found), beams, python in zip(ours, ids.numpy(), scores.numpy()):
        assert tokens == [beam[beam != 0].tolist() for beam in beams]
        np.testing.assert_allclose(np.exp(found), np.exp(python), rtol=1e-4)


# --- 지은 쪽 -------------------------------------------------------------------------

#: 표에 있는 말이 모두 나오게 고른 글. '답 없음'은 말이 나오지 않는 글입니다.
SAID = {
    "dates": {
        "": "empty", "2026년 " * 200: "long", "☆": "strange",
        "2026년 2월 30일": "no_day", "2055년 5월 5일": "other_year",
        "2031년 3월 9일 nn": "unknown",
        "2031년 13월 9일": "no_day", "21일 11월 2026년": "no_date",
        "2026년 11월 21일 " * 4: "longer", "26.11.21": "",
    },
    "translator": {
        "배고파": "no_english", "asdf qwer zxcv": "broken",
        "The weather is nice today.": "unsure", "The cat sat on the mat.": "doubtful",
        "If no argument is given, nothing is returned.": "turned",
        "The 3 arguments are a string (str), a number (int) and a list (list).":
        "lost",
        "Return a copy of the list.": "",
    },
    "reviews": {
        "A film to see twice.": "no_hangul_review", "뷁쉙 쭝뤠껋": "broken",
        "오늘은 화요일이다.": "doubtful", "두 번 봐도 좋은 영화": "",
    },
    "chatbot": {
        "hello": "no_hangul", "뷁쉙": "strange", "지금 몇 시야?": "doubtful",
        "요즘  죽고싶어": "heavy", "배고파 죽을 것 같아 힘이 없어": "",
        "칼로 팔을 그었어": "heavy", "ㅋㅋ": "", "헐": "doubtful",
        "안녕하세요": "",
    },
}  # fmt: skip


def of_the_command(name, text):
    """명령줄의 답, 확신과 망설인 토큰, 그리고 한 말."""
    if name == "chatbot":
        done = run("chat", stdin=f"{text}\n")
    elif name == "reviews":
        done = run("classify", text)
    else:
        asked = "translate", "--model", name, "--probability", text
        fails = not text or len(text) > 500
        done = run(*asked, code=2 if fails else 0)
    said = re.sub("(?m)^(되묻습니다|경고|오류): ", "", done.stderr)
    answer, *measured = done.stdout.rstrip("\n").split("\t")
    return answer, measured, said.replace("1번째 글", "글").splitlines()


ANSWERED = """expected =>
  document.querySelector('.status').textContent.includes(expected)
  && document.querySelector('[name=stop]').disabled"""


def asked(page, expected):
    page.wait_for_function(ANSWERED, arg=expected)
    return page.inner_text(".answer")


def ask(page, text):
    """글을 넣고 Enter를 누른 답과, 상자가 한 말의 줄."""
    page.fill(".playground textarea", text)
    page.press(".playground textarea", "Enter")
    page.wait_for_function("document.querySelector('[name=stop]').disabled")
    answer = page.inner_text(".answer")
    return answer, page.locator(".status p").all_inner_texts()


@pytest.mark.parametrize("name", SAID)
def test_the_box_says_what_the_command_says(visit, name, monkeypatch):
    """같은 글에 같은 답, 같은 확신, 같은 말. 쪽은 그 모델의 상자로 시작합니다."""
    model = opened(name)
    monkeypatch.setattr(trained, "open_model", lambda *_: model)
    page = visit(f"practice/{PRACTICE[name]}.html")
    assert not page.locator(".models").is_visible()
    words = cli_answers.REMARKS["words"]
    for text, key in SAID[name].items():
        answer, lines = ask(page, text)
        wanted, measured, said = of_the_command(name, text)
        assert answer == wanted, text
        told = " ".join(lines)
        assert all(line in told for line in said), (text, lines, said)
        pieces = [part for part in re.split(r"\{\w+\}", words.get(key, "")) if part]
        assert all(part in told for part in pieces) and (key or len(lines) == 1), lines
        for number in re.findall(r"확신 (\d\.\d+)", told):
            assert not measured or number in measured
    assert page.trouble == []


PRACTICE = {
    "dates": "dates",
    "translator": "translation",
    "reviews": "classification",
    "chatbot": "chatbot",
}


@pytest.mark.parametrize("name", PRACTICE)
def test_a_practice_page_begins_with_three_inputs_that_it_explains(visit, name):
    page = visit(f"practice/{PRACTICE[name]}.html")
    assert page.locator(".playground .examples button").count() == 3
    assert page.locator("section > section .playground").count() == 0  # 첫 절의 앞
    links = page.locator(".playground ~ ul").first.locator("li:has(a[href^='#'])")
    assert links.count() == 3


def test_everything_is_in_the_first_view(visit):
    for options in ({"viewport": {"width": 1440, "height": 900}}, PHONE):
        page = visit("practice/playground.html", **options)
        height = page.viewport_size["height"]
        for part in (".models", "textarea", ".examples", "[type=submit]", ".answer"):
            box = page.locator(f".playground {part}").first.bounding_box()
            assert box["y"] + box["height"] <= height, (part, box)


def test_without_scripts_there_is_a_notice_and_nothing_to_press(tab):
    page = tab(java_script_enabled=False)
    page.goto((SITE / "practice/playground.html").as_uri())
    assert "JavaScript" in page.inner_text(".playground")
    assert page.locator(".playground :is(button, input, textarea):visible").count() == 0


def test_a_model_is_read_only_when_asked_and_the_keyboard_is_enough(visit):
    page, requests = visit("practice/playground.html"), []
    page.on("request", lambda request: requests.append(request.url))
    page.focus(".playground textarea")
    page.keyboard.press("Control+A")
    page.keyboard.type("12월 25일, 2031")
    assert [url for url in requests if url.endswith(".js")] == []
    page.keyboard.press("Enter")
    assert asked(page, "확신") == "2031-12-25"
    (read,) = [url for url in requests if url.endswith(".js")]
    assert read.endswith("_static/models/dates.js") and page.trouble == []
    rows = page.locator(".playground tbody tr")
    assert rows.count() == 12  # 공백, 날짜의 열 글자, <eos>
    pressed = page.locator(".playground tbody button[aria-pressed=true]")
    chances = page.locator(".answer span").evaluate_all(
        "all => all.map(one => Number(one.title.match(/[\\d.e-]+$/)[0]))"
    )
    place = chances.index(min(chances))
    assert page.evaluate(PICKED) == place < 11  # 가장 망설인 토큰이고 <eos>가 아닙니다
    assert f"{min(chances):.4g}" in page.inner_text(".status")
    page.focus(".playground tbody button[tabindex='0']")
    page.keyboard.press("ArrowUp")
    assert pressed.count() == 1 and page.evaluate(PICKED) == place - 1
    shown = [float(w) for w in rows.nth(place - 1).locator("td").all_inner_texts()]
    assert sum(shown) == pytest.approx(1, abs=0.01 * len(shown))
    assert "".join(rows.nth(place).locator("td").all_inner_texts()) == ""
    page.locator(".answer span").nth(2).click()
    assert page.evaluate(PICKED) == 2


#: 고른 행의 자리. 표의 머리에 가려 있으면 안 됩니다.
PICKED = """() => {
  const picked = document.querySelector('.map [aria-pressed=true]').closest('tr')
  const [row, head] = [picked, picked.closest('table').tHead].map(
    (node) => node.getBoundingClientRect())
  if (row.top < head.bottom - 1) throw Error('표의 머리에 가렸습니다')
  return picked.sectionRowIndex
}"""
#: 감상평의 모델을 다 읽으면 이루어지는 약속.
WATCH = """() => {
  window.loaded = new Promise((done) => document.addEventListener(
    "load", ({ target }) => target.src?.endsWith("reviews.js") && done(), true));
}"""


SWITCH = """() => ['[type=submit]', '[value=chatbot]'].forEach(
  (one) => document.querySelector(`.playground ${one}`).click())"""


def test_another_model_and_an_empty_text_leave_no_old_answer(visit):
    page = visit("practice/playground.html")
    assert ask(page, "12월 25일, 2031")[0] == "2031-12-25"
    assert ask(page, "")[0] == ""
    assert not page.locator(".playground .attention").is_visible()
    page.fill(".playground textarea", "나는 오늘 너무 피곤하다")
    page.check(".playground [value=reviews]")
    assert page.input_value(".playground textarea") == "나는 오늘 너무 피곤하다"
    assert page.inner_text(".playground .status") == ""
    page.evaluate(WATCH)
    page.evaluate(SWITCH)  # 모델을 읽는 동안 바꿉니다
    page.evaluate("loaded")
    page.wait_for_function("!('reviews' in notesModels)")
    asked(page, "확신")  # 바꾼 모델이 처음부터 답합니다
    assert page.locator(".detail").count() == 1
    page.check(".playground [value=dates]")
    page.click(".playground [data-model=dates]:is(button) >> nth=0")
    asked(page, "확신")
    page.check(".playground [value=chatbot]")
    assert page.input_value(".playground textarea") == "안녕하세요"
    assert page.trouble == []


#: 첫 토큰이 나오자마자 무엇을 합니다.
SOON = """async (act) => {
  document.querySelector('.playground [type=submit]').click();
  while (!document.querySelector('.answer').textContent)
    await new Promise(requestAnimationFrame);
  eval(act);
}"""


def test_a_stopped_answer_goes_on_and_a_new_text_starts_anew(visit):
    page = visit("practice/playground.html")
    page.check(".playground [value=translator]")
    page.evaluate(SOON, "document.querySelector('[name=stop]').click()")
    half = asked(page, "멈추었습니다")
    page.click(".playground [type=submit]")
    whole = asked(page, "확신")
    assert whole.startswith(half) and len(whole) > len(half)
    other = "Return True if the file exists."
    page.evaluate(
        SOON,
        f"document.querySelector('.playground textarea').value = '{other}';"
        "document.querySelector('.playground form').requestSubmit()",
    )
    assert asked(page, "확신") == of_the_command("translator", other)[0]
    assert page.trouble == []


def test_one_token_at_a_time_by_touch_on_a_phone(visit):
    page = visit("practice/playground.html", **PHONE)
    for count in (1, 2):
        page.tap("[name=step]")
        page.wait_for_function(
            "n => document.querySelectorAll('.playground tbody tr').length === n",
            arg=count,
        )
    page.tap(".how summary")
    page.tap(".playground [value=beam]")
    page.tap("[type=submit]")
    assert asked(page, "확신") == "2026-11-21"
    assert page.locator(".beams li").count() == 4
    # 작은 확률도 네 자리로 적습니다
    assert re.search(r"0\.0+[1-9]\d{3}\b", page.inner_text(".detail"))
    page.tap(".playground tbody tr:nth-child(3) button")
    assert "많이 본 토큰" in page.inner_text(".detail")
    page.select_option("[name=kind]", "self")
    assert page.locator(".playground thead th").first.inner_text() == "<bos>"
    small = page.evaluate(
        """[...document.querySelector('.playground').querySelectorAll(
          'button, select, label, summary')]
        .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24)
        .map(e => e.outerHTML)"""
    )
    assert small == [] and page.evaluate("document.body.scrollWidth") <= 390


def test_a_wrong_number_that_is_hidden_stops_no_answer(visit):
    page = visit("practice/playground.html")
    page.click(".how summary")
    page.fill("[name=beams]", "99")
    page.check(".playground [value=reviews]")
    page.click(".playground [type=submit]")
    assert asked(page, "확신") in {"긍정", "부정"}
    assert page.trouble == []


def test_what_cannot_be_read_is_told_and_can_be_asked_again(tab):
    page = tab()
    page.route("**/models/reviews.js", lambda route: route.abort())
    go(page, "practice/classification.html")
    page.click(".playground [type=submit]")
    assert asked(page, "_static/models/reviews.js를 읽지 못했습니다") == ""
    page.unroute_all()
    page.click(".playground [type=submit]")
    asked(page, "확신")


def test_only_a_page_with_a_box_reads_the_code():
    for path in SITE.rglob("*.html"):
        text = path.read_text("utf-8")
        assert ("playground.js" in text) == ('class="playground"' in text), path
