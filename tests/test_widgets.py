"""위젯: 화면의 수는 패키지의 것이고, 손과 글쇠로 움직이며, 스크립트 없이도 남습니다.

브라우저의 시험은 위젯마다 쪽 하나를 열고, 손잡이의 모든 자리를 그 안에서 돌려 봅니다.
"""

import gzip
import itertools
import re
from types import SimpleNamespace
from xml.dom import minidom

import numpy as np
import pytest
import tensorflow as tf

from transformer_notes._tensors import masked_softmax
from transformer_notes.decoder import LayerCache
from transformer_notes.decoding.steps import search_beams
from transformer_notes.figures.widgets import (
    AttentionExplorer,
    DecodingTree,
    HeadSplitter,
    MaskBuilder,
    MergeExplorer,
    PositionExplorer,
    ScheduleExplorer,
    SmoothingExplorer,
    SoftmaxExplorer,
    schedule,
    smoothing,
)
from transformer_notes.figures.widgets.decoding_tree import ALPHAS, BEAM_SIZES
from transformer_notes.figures.widgets.position import D_MODELS
from transformer_notes.figures.widgets.softmax import DIMENSIONS
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.multi_head_attention import Attended, MultiHeadAttention
from transformer_notes.positional_encoding import sinusoidal_encoding
from transformer_notes.tokenization import Tokenizer
from transformer_notes.training import WarmupSchedule, masked_cross_entropy

SOURCE = "나는 어제 책을 읽었다".split()
TARGET = "<bos> I read a book yesterday".split()
ANSWERS = {
    "yesterday I read the book": 13,
    "read": 15,
    "I read a book yesterday": 8,
    "I read the book yesterday": 7,
    "I read books yesterday": 7,
}
COUNTS = {"책을": 5, "책은": 2, "신문을": 3, "신문이": 1}
# 층 둘, 헤드 셋. 행마다 더해서 1입니다.
WEIGHTS = {
    kind: np.random.default_rng(place).dirichlet(np.ones(k), size=(2, 3, q))
    for place, (kind, q, k) in enumerate(
        [("encoder", 4, 4), ("decoder", 6, 6), ("cross", 6, 4)]
    )
}
WIDGETS = {
    "softmax": SoftmaxExplorer,
    # 쌍 12의 사인이 −0.0001입니다
    "position": lambda: PositionExplorer(60, 128, pair=12, position=53),
    "mask": lambda: MaskBuilder(SOURCE, TARGET),
    "decoding_tree": lambda: DecodingTree(ANSWERS),
    "attention": lambda: AttentionExplorer(WEIGHTS, TARGET, SOURCE, token=1),
    "merge": lambda: MergeExplorer(COUNTS, ["신문은"], merges=6, merged=3),
    "heads": lambda: HeadSplitter(num_heads=4, stage=2),
    "schedule": lambda: ScheduleExplorer(d_model=128, warmup_steps=8000),
    "smoothing": lambda: SmoothingExplorer(epsilon=0.2, gap=6.0, vocab_size=4),
}
#: 손잡이를 옮기는 함수. 미끄럼은 값으로, 고르는 것은 고른 번호로 정합니다.
SET = """const set = (root, settings) => {
  const form = root.querySelector("form");
  for (const [name, value] of Object.entries(settings)) {
    const inputs = [...form.querySelectorAll(`[name=${name}]`)];
    if (inputs[0].type === "range") inputs[0].value = value;
    else inputs.forEach((i) => (i.checked = [value].flat().includes(+i.value)));
    inputs[0].dispatchEvent(new Event("input", { bubbles: true }));
  }
};
const out = (root, name) => root.querySelector(`[data-out="${name}"]`).textContent;
const root = document.querySelector(".tn-widget");
"""


@pytest.fixture(scope="module")
def show(browser):
    """위젯 하나나 여럿이 있는 쪽을 엽니다. 오류는 시험을 멈춥니다."""
    pages, trouble = [], []

    def open_page(*widgets, **options):
        page = browser.new_page(viewport={"width": 390, "height": 900}, **options)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: trouble.append(request.url))
        html = "".join(widget._repr_html_() for widget in widgets)
        page.set_content(f"<!DOCTYPE html><html lang='ko'><body>{html}</body></html>")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert trouble == []


def tried(page, every, read):
    """손잡이의 자리마다 `read`가 읽은 것의 목록."""
    return page.evaluate(
        f"(every) => {{ {SET} return every.map((settings) => "
        f"{{ set(root, settings); return {read} }}) }}",
        every,
    )


# ---------------------------------------------------------------- 위젯이 모두 함께


@pytest.mark.parametrize("name", WIDGETS)
def test_a_widget_is_one_small_whole_piece_of_html(name):
    widget = WIDGETS[name]()
    html = widget._repr_html_()
    assert minidom.parseString(html).documentElement.tagName == "div"  # XHTML이기도
    assert len(gzip.compress(html.encode())) < 15_000
    assert not re.search(r"\b(src|href)\s*=|\bimport\(|\burl\(", html)
    assert html == WIDGETS[name]()._repr_html_()
    assert "0x" not in repr(widget)  # 빌드마다 같은 글


@pytest.mark.parametrize("name", WIDGETS)
def test_the_script_starts_from_the_still(show, name):
    read = """() => {
      const root = document.querySelector(".tn-widget");
      const of = (what) => [...root.querySelectorAll("*")].map(what);
      const shown = of((e) => e.children.length ? "" : e.textContent);
      const classes = of((e) => (e.getAttribute("class") ?? "").trim());
      const near = ["height", "x2", "y2", "y1"].map((name) =>
        of((e) => Number(e.getAttribute(name) ?? 0).toFixed(2) * 1));
      const hidden = of((e) => e.localName !== "form" && e.hidden === true);
      return [shown, classes, near, hidden, of((e) => e.tabIndex)];
    }"""
    still = show(WIDGETS[name](), java_script_enabled=False).evaluate(read)
    page = show(WIDGETS[name]())
    for _ in range(2):  # 살아난 다음에도, 손잡이를 건드린 다음에도 그대로입니다
        for one, other in zip(still, page.evaluate(read), strict=True):
            assert one == other
        page.evaluate(
            "document.querySelector('form').dispatchEvent(new Event('input'))"
        )
    # 좁은 화면에서 밀리지 않습니다.
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_scripts_the_still_stays_and_the_controls_do_not(show):
    page = show(*(make() for make in WIDGETS.values()), java_script_enabled=False)
    assert page.locator("form:visible").count() == 0
    assert page.locator(".tn-widget [role=status]:visible").count() == len(WIDGETS)
    assert page.get_by_text("yesterday I read the book <eos>: s = −0.94").is_visible()


def test_two_of_a_kind_on_one_page_do_not_mix(show):
    page = show(*(MaskBuilder(SOURCE, TARGET) for _ in range(2)))
    first, second = page.locator(".tn-widget").all()
    first.get_by_label("패딩 (인코더)").check()
    assert first.locator("tbody tr:visible").count() == 4
    assert second.locator("tbody tr:visible").count() == 6
    assert second.get_by_label("둘 다 (디코더)").is_checked()


# ---------------------------------------------------------------- 수는 패키지의 것


def test_softmax_shows_the_weights_and_the_gradients_of_the_package(show):
    widget = SoftmaxExplorer(num_keys=5, seed=3)
    rng = np.random.default_rng(3)
    query, key = rng.standard_normal(512), rng.standard_normal((5, 512))
    every = [{"d_k": place} for place in range(len(DIMENSIONS))]
    bars = """[out(root, "d_k"), Object.fromEntries(
      [...root.querySelectorAll("[data-bars]")].map((g) => [g.dataset.bars,
        [...g.children].map((bar) => Number(bar.getAttribute("height")))])),
      Object.fromEntries([...root.querySelectorAll("td [data-out]")].map(
        (e) => [e.dataset.out, Number(e.textContent)]))]"""
    for d_k, (said, drawn, told) in zip(DIMENSIONS, tried(show(widget), every, bars)):
        assert said == str(d_k)
        for side, divisor in (("scaled", np.sqrt(d_k)), ("plain", 1)):
            scores = tf.constant(key[:, :d_k] @ query[:d_k] / divisor)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(scores)
                weights = masked_softmax(scores)
            jacobian = tape.jacobian(weights, scores, experimental_use_pfor=False)
            assert np.allclose(drawn[f"{side} weight"], weights, atol=1e-4)
            assert np.allclose(drawn[f"{side} slope"], np.diag(jacobian), atol=1e-4)
            assert np.isclose(told[f"{side} largest"], max(weights), atol=6e-4)
            norm = np.linalg.norm(jacobian)
            assert np.isclose(told[f"{side} norm"], norm, atol=6e-5)


def test_position_shows_the_encoding_of_the_package(show):
    every = [
        {"positions": 2, "model": 0, "pair": 0, "position": 0, "offset": 1},
        {"positions": 128, "model": 7, "pair": 255, "position": 100, "offset": 27},
        {"positions": 50, "model": 4, "pair": 4, "position": 6, "offset": 5},
        {"positions": 77, "model": 2, "pair": 7, "position": 76, "offset": 0},
        {"positions": 33, "model": 3, "pair": 1, "position": 0, "offset": 32},
    ]
    read = """[["sine", "cosine", "moved-sine", "moved-cosine", "likeness"].map(
        (name) => Number(out(root, name).replace("−", "-"))),
      [...root.querySelectorAll("polyline")].map((line) => line.getAttribute("points")
        .split(" ").map((point) => Number(point.split(",")[1])))]"""
    for now, (told, drawn) in zip(every, tried(show(PositionExplorer()), every, read)):
        d_model, pair = D_MODELS[now["model"]], now["pair"]
        table = sinusoidal_encoding(now["positions"], d_model).numpy()
        here, there = now["position"], now["position"] + now["offset"]
        likeness = table @ table[here] / (d_model / 2)
        waves = table[:, 2 * pair : 2 * pair + 2]
        assert np.allclose(
            told, [*waves[here], *waves[there], likeness[there]], atol=6e-4
        )
        for line, value in zip(drawn, [*waves.T, likeness]):
            assert np.allclose(line, value, atol=1e-5)


def test_position_gives_back_what_another_slider_took(show):
    start = {"positions": 50, "model": 4, "pair": 20, "position": 6, "offset": 5}
    tried_out = [start, {"position": 49}, {"position": 47}, {"position": 6}]
    tried_out += [{"model": 0}, {"model": 4}, {"positions": 4}, {"positions": 50}]
    read = '["pair", "position", "offset"].map((name) => Number(out(root, name)))'
    assert tried(show(PositionExplorer()), tried_out, read) == [
        [20, 6, 5], [20, 49, 0], [20, 47, 2], [20, 6, 5],
        [D_MODELS[0] // 2 - 1, 6, 5], [20, 6, 5], [20, 3, 0], [20, 6, 5],
    ]  # fmt: skip


def test_mask_shows_the_masks_of_the_package_for_all_lengths_and_kinds(show):
    every = [
        {"kind": kind, "source": source, "target": target}
        for kind, source, target in itertools.product(
            range(4), range(1, len(SOURCE) + 1), range(1, len(TARGET) + 1)
        )
    ]
    read = """[...root.querySelectorAll("tbody tr")].filter((row) => !row.hidden).map(
      (row) => [...row.querySelectorAll("td")].filter((cell) => !cell.hidden).map(
        (cell) => Number(cell.textContent)
          * (cell.className === "tn-see" ? 1 : 0)
          + (cell.textContent === "1" && cell.className !== "tn-see" ? 9 : 0)))"""

    def ids(real, length):
        return tf.constant([[7] * real + [0] * (length - real)])

    for now, shown in zip(every, tried(show(MaskBuilder(SOURCE, TARGET)), every, read)):
        source = padding_mask(ids(now["source"], len(SOURCE)))
        target = padding_mask(ids(now["target"], len(TARGET)))
        future = look_ahead_mask(len(TARGET))
        mask = (source, future, target & future, source)[now["kind"]]
        rows = len(SOURCE) if now["kind"] == 0 else len(TARGET)
        expected = np.broadcast_to(mask[0, 0], (rows, mask.shape[-1]))
        assert np.array_equal(shown, expected), now


class TableModel:
    """답의 앞부분에서 다음 토큰의 확률을 찾는, `search_beams`가 부르는 만큼의 모델."""

    def __init__(self, tree):
        nodes = tree.nodes
        words = dict.fromkeys(w for node in nodes for w in node.words)
        self.words = ["<pad>", "<bos>", *words]
        self.next = {
            n.words: {self.words.index(c.words[-1]): c.p / n.p for c in n.children}
            for n in nodes
        }
        self.config = SimpleNamespace(pad_id=0, vocab_size=len(self.words))

    def encode(self, source_ids):
        return tf.zeros((1, 1, 1))

    def start_cache(self, memory, memory_mask, slots):
        return [LayerCache(own=tf.zeros((slots,), tf.int32), memory=memory)]

    def decode(self, last, memory, mask, attention_mask, position, cache, slot):
        own, beams = cache[0].own.numpy(), last.shape[1]
        own[int(slot) : int(slot) + beams] = last[0]
        logits = np.zeros((1, beams, len(self.words)), np.float32)
        for beam, seen in enumerate(attention_mask[0, 0].numpy()):
            prefix = tuple(self.words[i] for i in own[seen][1:])  # <bos>를 뺍니다
            if found := self.next.get(prefix):
                logits[0, beam] = -np.inf
                for token, p in found.items():
                    logits[0, beam, token] = np.log(p)
        grown = [cache[0]._replace(own=tf.constant(own))]
        return Attended(tf.constant(logits), [], grown)


def test_the_tree_shows_the_beams_of_the_package(show):
    tree = DecodingTree(ANSWERS)
    model = TableModel(tree)
    every = [
        {"beam": beam, "alpha": alpha, "step": 99}
        for beam, alpha in itertools.product(range(len(BEAM_SIZES)), range(len(ALPHAS)))
    ]
    lines = """[...root.querySelectorAll("ol li")].filter((line) => !line.hidden).map(
      (line) => line.textContent)"""
    for now, shown in zip(every, tried(show(tree), every, lines)):
        ids, scores = search_beams(
            model,
            tf.constant([[1]]),
            tf.constant(ALPHAS[now["alpha"]], tf.float32),
            beam_size=BEAM_SIZES[now["beam"]],
            bos_id=1,
            eos_id=model.words.index("<eos>"),
            max_extra=5,
        )
        expected = [
            f"{' '.join(model.words[i] for i in row if i)}: s = {score:.2f}"
            for row, score in zip(ids[0].numpy(), scores[0].numpy())
            if np.isfinite(score)
        ]
        assert [line.replace("−", "-") for line in shown] == expected, now


def test_the_tree_goes_step_by_step(show):
    page = show(DecodingTree(ANSWERS, beam_size=2, length_penalty=0.0))
    page.locator("[name=step]").focus()
    page.keyboard.press("Home")
    assert page.locator(".tn-kept text").all_text_contents()[0] == "<bos>"
    kept = []
    for _ in range(2):
        page.keyboard.press("ArrowRight")
        kept.append(
            [text.split(":")[0] for text in page.locator("li").all_inner_texts()]
        )
    assert kept[0][:2] == ["I", "read"]
    assert kept[1][:2] == ["I read", "read <eos>"]
    assert page.locator(".tn-dropped").count() == 1  # yesterday


def test_merging_shows_the_tokens_of_a_tokenizer_that_learned_as_much(show):
    page = show(MergeExplorer(COUNTS, ["신문은"], merges=6))
    read = """[[...root.querySelectorAll("tbody td")].map(
        (cell) => [...cell.children].map((piece) => piece.textContent)),
      ["vocabulary", "length", "last"].map((name) => out(root, name)),
      [...new Set([...root.querySelectorAll(".tn-see")].map((e) => e.textContent))]]"""
    corpus = [eojeol for eojeol, count in COUNTS.items() for _ in range(count)]
    shown = tried(page, [{"merged": merged} for merged in range(7)], read)
    for size, (rows, (vocabulary, length, last), made) in enumerate(shown, 11):
        tokenizer = Tokenizer.train(corpus, vocab_size=size)
        spaced = [[token.replace("▁", " ") for token in row] for row in rows]
        assert spaced == [tokenizer.tokenize(one) for one in (*COUNTS, "신문은")]
        assert int(vocabulary) == len(tokenizer.vocabulary)
        assert int(length) == sum(map(len, map(tokenizer.tokenize, corpus)))
        new = tokenizer.vocabulary[-1].replace(" ", "▁")
        assert (size == 11 and last == "글자뿐입니다.") or made == [new]
    assert [last.split()[-2] for _, (*_, last), _ in shown[1:]] == [
        "7번", "5번", "4번", "4번", "3번", "2번"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="merges"):
        MergeExplorer({"책": 1}, merges=9).still()


def test_heads_are_split_and_joined_by_the_layer_of_the_package(show):
    named = 10 * np.arange(1, 4)[:, np.newaxis] + np.arange(1, 5)
    every = [{"heads": h, "stage": s} for h in range(3) for s in range(5)]
    read = """[[...root.querySelectorAll(".tn-block")].map((block) =>
        [...block.querySelectorAll(".tn-row")].map((row) =>
          [...row.children].map((cell) => Number(cell.textContent)))),
      out(root, "shape")]"""
    for now, (blocks, shape) in zip(every, tried(show(HeadSplitter()), every, read)):
        heads, blocks = (1, 2, 4)[now["heads"]], np.array(blocks)
        layer = MultiHeadAttention(4, heads)
        split = layer.split_heads(named[np.newaxis], heads)
        expected = [
            named[np.newaxis],
            named.reshape(3, heads, -1),
            split[0],
            layer.join_heads(split),
            named.reshape(heads, 3, -1),
        ][now["stage"]]
        assert np.array_equal(blocks, expected)
        sizes = blocks.shape[now["stage"] in (0, 3) :]
        assert shape == f"({', '.join(map(str, sizes))})"


def test_the_schedule_shows_the_rates_of_the_package(show):
    places, last = np.float64(schedule.PLACES), len(schedule.PLACES) - 1
    every = [
        {"d_model": d, "warmup": w, "step": s}
        for d, w, s in itertools.product((0, 3, 4), (0, 3, 5), (0, 17, last))
    ]
    read = """[["now", "peak", "times"].map((name) => Number(out(root, name))),
      [...root.querySelectorAll("polyline")].map((line) => line.getAttribute("points")
        .split(" ").map((point) => Number(point.split(",")[1])))]"""
    paper = WarmupSchedule(*schedule.PAPER)
    base = float(paper(np.float64(schedule.PAPER[1])))
    for now, (told, drawn) in zip(every, tried(show(ScheduleExplorer()), every, read)):
        warmup = schedule.WARMUPS[now["warmup"]]
        rate = WarmupSchedule(schedule.D_MODELS[now["d_model"]], warmup)
        peak = float(rate(np.float64(warmup)))
        expected = [rate(places[now["step"]]), peak, peak / base]
        assert np.allclose(told, expected, atol=[6e-7, 6e-7, 6e-3])
        high = max(peak, base)
        curves = [[one(place) / high for place in places] for one in (paper, rate)]
        assert np.allclose(drawn, curves, atol=1e-5)


def test_smoothing_shows_the_losses_of_the_package(show):
    every = [
        {"epsilon": e, "gap": g, "vocab": v}
        for e, g, v in itertools.product((0, 2, 10), (0, 15, 48), range(4))
    ]
    read = """[["q", "q-other", "p", "p-other", "loss"].map(
        (name) => Number(out(root, name))), out(root, "lowest"),
      [...root.querySelectorAll("polyline")].map((line) => line.getAttribute("points")
        .split(" ").map((point) => Number(point.split(",")[1])))]"""
    page = show(SmoothingExplorer())
    for now, (told, lowest, drawn) in zip(every, tried(page, every, read)):
        epsilon, size = now["epsilon"] / 20, smoothing.SIZES[now["vocab"]]
        logits = np.zeros((len(smoothing.GAPS), size))
        logits[:, 0], logits[:, 1] = -1e9, smoothing.GAPS
        curves = [
            [
                float(masked_cross_entropy([[1]], [[z]], label_smoothing=e))
                for z in logits
            ]
            for e in (0, epsilon)
        ]
        p = tf.nn.softmax(logits[now["gap"]]).numpy()
        expected = [1 - epsilon, epsilon / (size - 2), p[1], p[2]]
        expected.append(curves[1][now["gap"]])
        assert np.allclose(told, expected, atol=6e-4)
        high = max(curves[1][0], curves[1][-1])
        assert np.allclose(drawn, np.array(curves) / high, atol=1e-5)
        if epsilon:  # 적어 둔 가장 작은 손실보다 작은 것은 곡선에 없습니다
            least = float(lowest.split("작아 ")[1].removesuffix("입니다."))
            assert least - 6e-4 <= min(curves[1]) <= least + 0.02


def test_attention_shows_the_mean_of_the_chosen_heads(show):
    page = show(AttentionExplorer(WEIGHTS, TARGET, SOURCE))
    every = [
        {"kind": kind, "layer": layer, "head": list(heads)}
        for kind, layer, heads in itertools.product(
            range(3), range(2), [(0,), (2,), (0, 1), (0, 1, 2)]
        )
    ]
    read = """(() => {
      const panel = root.querySelector("[data-kind]:not([hidden])");
      return [...panel.querySelectorAll("button")].map((button) => {
        button.click();
        return [...panel.querySelectorAll("ol:last-child li")].map(
          (key) => [Number(key.lastChild.textContent),
                    Number(key.style.getPropertyValue("--weight"))]);
      });
    })()"""
    for now, shown in zip(every, tried(page, every, read)):
        weights = list(WEIGHTS.values())[now["kind"]][now["layer"]]
        mean = weights[now["head"]].mean(axis=0)
        assert np.allclose(np.array(shown)[..., 0], mean, atol=6e-3)
        assert np.allclose(np.array(shown)[..., 1], mean, atol=6e-4)


# ---------------------------------------------------------------- 손가락과 글쇠


@pytest.mark.parametrize(
    "act",
    [
        lambda page, button: button.hover(),
        lambda page, button: button.tap(),
        lambda page, button: page.keyboard.press("ArrowDown"),
    ],
    ids=["mouse", "touch", "keyboard"],
)
@pytest.mark.parametrize("name", ["attention", "mask"])
def test_a_token_is_chosen_by_mouse_touch_and_keyboard(show, name, act):
    page = show(WIDGETS[name](), has_touch=True)
    buttons = page.locator("button:visible")
    page.locator("button[aria-pressed=true]:visible").focus()
    chosen = page.locator("button:visible").evaluate_all(
        "all => all.findIndex(b => b.getAttribute('aria-pressed') === 'true')"
    )
    after = buttons.nth(chosen + 1)
    act(page, after)
    assert after.get_attribute("aria-pressed") == "true"
    assert page.locator("[data-out=query]").inner_text() == after.inner_text()
    assert page.locator("button[tabindex='0']:visible").count() == 1
    small = buttons.evaluate_all(
        "all => all.filter(b => b.getBoundingClientRect().height < 24)"
    )
    assert small == []


def test_at_least_one_head_stays_chosen(show):
    page = show(WIDGETS["attention"]())
    for box in page.locator("[name=head]").all():
        box.click()
    assert page.locator("[name=head]:checked").count() == 1


# ---------------------------------------------------------------- 잘못된 입력


def test_what_cannot_be_shown_is_refused():
    flat, twice = np.ones((2, 6, 4)), np.full((1, 1, 6, 4), 2.0)
    for name, make in [
        ("beam_size", lambda: DecodingTree(ANSWERS, beam_size=9)),
        ("weights", lambda: AttentionExplorer({"cross": flat}, TARGET, SOURCE)),
        ("weights", lambda: AttentionExplorer({"cross": twice}, TARGET, SOURCE)),
    ]:
        with pytest.raises(ValueError, match=name):
            make()
