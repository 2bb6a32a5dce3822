"""「한 문장을 끝까지」: 단계의 벡터가 파이썬의 것이고, 손으로 다 넘겨 볼 수 있다."""

import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from built_site import PHONE

from transformer_notes import models

PAGE = "practice/step_through.html"
TEXT = "11월 21일, 2026"


@pytest.fixture(scope="module")
def python():
    """파이썬의 모델이 그 글에서 계산한 것."""
    opened = models.load("dates")
    model, source = opened.model, opened.tokenizer.encode([TEXT], eos=True)
    (answer,) = opened.translate([TEXT])
    written = np.insert(answer.ids[:-1], 0, opened.tokenizer.bos_id)[np.newaxis]
    return model, source, written, answer


STAGES = """async text => {
  const model = await notesModel("dates")
  const stages = notesStages(model, notesTransformer.read(model, text).ids)
  const plain = value => ArrayBuffer.isView(value) ? [...value]
    : Array.isArray(value) ? value.map(plain) : value
  return stages.map(stage =>
    Object.fromEntries(Object.entries(stage).map(([k, v]) => [k, plain(v)])))
}"""


def close(ours, python):
    ours, python = np.squeeze(ours), np.squeeze(python)
    np.testing.assert_allclose(ours, python, rtol=1e-4, atol=2e-5)


def walk(layers, x, stages, sublayers):
    """층마다 하위 층과 잔차를 차례로 계산하며 단계와 견줍니다. x를 돌려줍니다."""
    for layer in layers:
        for kind, sublayer, norm in sublayers(layer):
            attended, added = next(stages), next(stages)
            assert (attended["kind"], added["of"]) == (kind, kind)
            made = sublayer(x)
            close(added["before"], x)
            if kind == "feedForward":
                w1, b1, *_ = layer.feed_forward.weights
                close(attended["hidden"], tf.nn.relu(x @ w1 + b1))
                close(added["changed"], made)
            else:
                close(attended["weights"], made.weights)
                close(added["changed"], made.output)
            x = norm(x, lambda _, made=made: getattr(made, "output", made))
            close(added["out"], x)
    return x


def test_every_vector_is_that_of_python(visit, python):
    model, source, written, answer = python
    stages = iter(visit(PAGE).evaluate(STAGES, TEXT))

    def embed(ids, position):
        tokens, embedded, placed = next(stages), next(stages), next(stages)
        assert tokens["rows"] == embedded["rows"] == ids[0].tolist()
        close(embedded["out"], model.source_embedding(ids))
        x = model.positions(model.source_embedding(ids), position=position)
        close(placed["out"], x)
        return x

    def reading(layer):
        def attend(x):
            return layer.self_attention(x, x, x, return_weights=True)

        yield "self", attend, layer.self_attention_norm
        yield "feedForward", layer.feed_forward, layer.feed_forward_norm

    x = embed(source, np.arange(source.shape[1]))
    memory = walk(model.encoder.layers, x, stages, reading)
    close(memory, model.encode(source))

    inputs = [[] for _ in model.decoder.layers]  # 층마다 지금까지의 입력

    def writing(layer):
        seen = inputs[model.decoder.layers.index(layer)]

        def attend(x):
            seen.append(x)
            whole = tf.concat(seen, axis=1)
            return layer.self_attention(x, whole, whole, return_weights=True)

        def look(x):
            return layer.cross_attention(x, memory, memory, return_weights=True)

        yield "self", attend, layer.self_attention_norm
        yield "cross", look, layer.cross_attention_norm
        yield "feedForward", layer.feed_forward, layer.feed_forward_norm

    logits = model.decode(written, memory)[0]
    for time, token in enumerate(answer.ids):
        x = embed(written[:, [time]], [time])
        walk(model.decoder.layers, x, stages, writing)
        choice = next(stages)
        close(choice["logits"], logits[time])
        np.testing.assert_allclose(
            choice["chances"], tf.nn.softmax(logits[time]), rtol=1e-4, atol=1e-7
        )
        assert choice["best"][0] == token
    assert list(stages) == []


def test_the_answer_is_the_greedy_one_of_the_playground(visit):
    page = visit(PAGE)
    for text in ("26. 11. 21(토)", "월월월 일일일"):
        assert page.evaluate(
            """async text => {
              const T = notesTransformer, model = await notesModel("dates")
              const { ids } = T.read(model, text)
              const chosen = notesStages(model, ids)
                .filter(({kind}) => kind === "choice").map(({best}) => best[0])
              const answer = [...T.generate(model, ids)].map(({token}) => token)
              return `${chosen}` === `${answer}`
            }""",
            text,
        )


#: 단계마다 [제목, 글, 링크, 켜진 상자의 [이름, 켜진 수], 답의 칸]
SHOWN = """() => {
  const find = name => [...document.querySelectorAll(`.stepper ${name}`)]
  const text = name => find(name).map(one => one.textContent).join("")
  const lit = find(".lit")
  return [text(".now"), text(".told"), find(".learn")[0].href,
    lit[0].parentElement.textContent, lit.length, text(".skips button")]
}"""
READY = "document.querySelector('.stepper [name=at]').max > 0"
AT = "document.querySelector('.stepper .count').textContent.split('/')[0]"


def at(page, place):
    page.wait_for_function(f"place => {AT} == place", arg=place)


def test_every_stage_is_reached_by_keyboard_and_leads_to_its_lecture(visit, python):
    model, source, _, _ = python
    x = model.positions(model.source_embedding(source))
    attend = model.encoder.layers[0].self_attention
    most = np.max(attend(x, x, x, return_weights=True).weights)
    page = visit(PAGE)
    page.wait_for_function(READY)
    slider = page.locator(".stepper [name=at]")
    slider.focus()
    count, found = int(slider.get_attribute("max")) + 1, []
    for place in range(1, count + 1):
        at(page, place)
        found.append(page.evaluate(SHOWN))
        page.keyboard.press("ArrowRight")
    titles, told, links, boxes, lit, answers = zip(*found)
    assert count == 11 + 12 * 16 and set(lit) == {1}
    for title, box in zip(titles, boxes):
        named = title.rpartition(" · ")[2]
        assert named in box or box == "토큰화", (title, box)
    for link in set(links):
        path, _, anchor = link.removeprefix("file://").partition("#")
        assert f'id="{anchor}"' in Path(path).read_text("utf-8"), link
    assert answers[0] == "읽기" + "·" * 12 and answers[-1] == "읽기␣2026-11-21끝"
    assert f"가중치가 {most:.2f}입니다" in told[3]
    assert "memory" in told[10] and "‘2026-11-21’" in told[-1]
    assert not re.search("undefined|NaN", "".join(told + titles))
    for key, place in (("Home", 1), ("PageDown", 12), ("PageDown", 28), ("PageUp", 12)):
        page.keyboard.press(key)
        at(page, place)
    assert page.trouble == []


def test_another_text_and_a_refused_one_by_touch_on_a_phone(visit):
    page = visit(PAGE, **PHONE | {"viewport": {"width": 390, "height": 844}})
    page.wait_for_function(READY)
    at(page, 1)
    box = page.locator(".stepper").bounding_box()
    assert box["y"] + box["height"] <= 844
    page.tap(".stepper [name=forward]")
    at(page, 2)
    page.tap(".stepper .skips button:last-child")
    at(page, 11 + 11 * 16 + 1)
    page.fill(".stepper [name=text]", "21년 3월 5일")
    page.tap(".stepper [type=submit]")
    at(page, 1)
    assert "토큰 11개" in page.inner_text(".stepper .told")
    page.fill(".stepper [name=text]", "")
    page.tap(".stepper [type=submit]")
    page.wait_for_function(
        "document.querySelector('.status').textContent.includes('빈 글')"
    )
    small = page.evaluate(
        """[...document.querySelectorAll('.stepper :is(button, input, a.learn)')]
        .filter(e => e.getBoundingClientRect().height < 20).map(e => e.outerHTML)"""
    )
    assert small == [] and page.evaluate("document.body.scrollWidth") <= 390


def test_without_scripts_there_are_stills_and_no_box(visit):
    page = visit(PAGE, java_script_enabled=False)
    assert not page.locator(".stepper").is_visible()
    assert "아래의 그림이 멈추어" in page.locator("noscript p").first.inner_text()
    stills = page.locator("figure img")
    assert stills.count() == 7 and all(image.is_visible() for image in stills.all())
    assert all(len(image.get_attribute("alt")) > 40 for image in stills.all())
