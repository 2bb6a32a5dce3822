"""「브라우저에서 써 보기」가 읽는 것: 답하기까지의 시간과 빠르기, 그리고 되묻는 문턱.

**빠르기(speed).** 바퀴마다 새 쪽을 파일로 엽니다. 모델의 스크립트를 읽기 시작할 때부터
답을 다 쓸 때까지가 첫 답의 시간입니다. 이어서 같은 글에 거듭 답하며 빠르기를 잽니다.
바퀴 가운데 가장 빠른 것을 남깁니다. 끼어든 다른 일은 시간을 늘리기만 합니다.

**되묻기(doubt).** ``cli/remarks.json``의 문턱이 무엇을 거절하고 무엇에 되묻는지 셉니다.
문턱은 검증 자료를 보고 정했고, 시험할 자료는 재기만 합니다. 쪽마다의 나누기를 그대로
쓰므로 배운 것은 어느 쪽에도 없습니다. 자료는 ``TRANSFORMER_NOTES_DATA``에서 읽습니다.

**사라진 것(lost).** 시험할 번역의 문장에서, 소리 없이 내놓던 답의 부호, 이름, 수와
부정하는 말이 얼마나 사라지는지, 견주어 되물으면 얼마나 남는지 셉니다.

**부정(negation).** 시험할 감상평에서 부정하는 낱말이 든 글과 들지 않은 글을 같은 수로
뽑아, 맞힌 몫과 말한 확률을 견줍니다.
"""

import hashlib
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from experiment import ROOT, Experiment
from playwright.sync_api import sync_playwright

from transformer_notes import classification as labelling
from transformer_notes import corpora
from transformer_notes.cli import answers, pairs, trained

sys.path.insert(0, str(ROOT / "conf" / "extensions"))
import model_scripts  # noqa: E402

SETTINGS = {
    "rounds": 5,
    "repeats": 20,
    "texts": {
        "chatbot": "오늘 너무 피곤하다",
        "dates": "이천이십육년 십일월 이십일일 토요일",
        "reviews": "배우는 좋은데 이야기가 아쉽다",
        "translator": "If the key is not in the dictionary, KeyError is raised.",
    },
}
PLAN = [
    {"what": what, "model": name}
    for what in ("speed", "doubt")
    for name in SETTINGS["texts"]
] + [{"what": "negation", "model": "reviews"}]
PLAN += [
    {"what": "lost", "model": "translator", "how": how} for how in ("greedy", "beam")
]
COUNT, SEEDS = 500, {"validation": 5, "test": 6}  # 갈래마다의 글, 뽑는 시드
JAMO = "ㅁㄴㅇㄹㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔㅋㅌㅊㅍㅠㅜㅡ"
NEGATING = re.compile("않|없|못|아니|안 ")
LATIN = "abcdefghijklmnopqrstuvwxyz"
CLOSE = 60  # 사람의 번역과 가까운 답의 chrF
#: 「번역」이 긍정과 부정이 다른지 볼 때의 말
NEGATED = re.compile(r"않|없|(?<!잘)못|(?<!만 )아[니닌닙]|\b안 |마십시오|마세요")
MEASURE = """async ([name, text, repeats]) => {
  const T = notesTransformer
  const start = performance.now()
  await new Promise(done => {
    const script = document.createElement('script')
    script.src = `${name}.js`
    script.onload = done
    document.head.append(script)
  })
  const model = await T.open(notesModels[name])
  const {ids} = T.read(model, text)
  const answer = () => model.task === 'classify'
    ? Array.from(T.classify(model, ids).probabilities)
    : [...T.generate(model, ids)].map(({token}) => token)
  const first = answer()
  const first_answer = performance.now() - start
  const tokens = model.task === 'classify' ? ids.length : first.length
  let best = Infinity
  for (let i = 0; i < repeats; i += 1) {
    const begun = performance.now()
    answer()
    best = Math.min(best, performance.now() - begun)
  }
  return [first, first_answer / 1000, tokens * 1000 / best]
}"""


def visits(name, repeats, rounds):
    """바퀴마다 (답, 첫 답까지의 초, 1초에 쓴 토큰)."""
    code = (ROOT / "conf" / "static" / "transformer.js").read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder, "page.html")
        page_file.write_text(f"<meta charset='utf-8'><script>{code}</script>", "utf-8")
        script = model_scripts.script(model_scripts.MODELS / f"{name}.safetensors")
        Path(folder, f"{name}.js").write_text(script, "ascii")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for _ in range(rounds):
            page = browser.new_page()
            page.set_default_timeout(0)
            page.goto(page_file.as_uri())
            yield page.evaluate(MEASURE, [name, SETTINGS["texts"][name], repeats])
            page.close()
        browser.close()


def measure(what, model, **how):
    measures = {"speed": speed, "doubt": doubt, "negation": negation, "lost": lost}
    return measures[what](model, **how)


def speed(model):
    """가장 빠른 바퀴의 첫 답까지의 초와 1초에 쓴 토큰."""
    found = list(visits(model, SETTINGS["repeats"], SETTINGS["rounds"]))
    return {
        "first_answer": round(min(seconds for _, seconds, _ in found), 3),
        "tokens_per_second": round(max(speed for *_, speed in found)),
    }


def doubt(model):
    """자료의 쪽마다, 글의 갈래마다 거절하고 되물은 몫과 그 둘을 가른 확신."""
    opened, found = trained.open_model(model), {}
    for side, seed in SEEDS.items():
        rng = random.Random(seed)
        sets = KINDS[model](side, rng)
        judged = {kind: judge(opened, texts) for kind, texts in sets.items()}
        found[side] = {kind: summary(*both) for kind, both in judged.items()}
        own, *others = judged
        for kind in others:  # 배운 갈래의 글보다 확신이 낮고 토큰이 잘게 나뉘는가
            for measure_, sign in (("certainty", 1), ("pieces", -1)):
                ours, theirs = (
                    [sign * row[measure_] for row in judged[k][0]] for k in (own, kind)
                )
                found[side][kind][f"auc_{measure_}"] = auc(ours, theirs)
    return found


def negation(model):
    """부정하는 낱말이 든 글과 들지 않은 글에서 맞힌 몫과 말한 확률."""
    import classification

    opened, rng = trained.open_model(model), random.Random(SEEDS["test"])
    *_, test = classification.split_reviews("film", 1)
    found = {}
    for kind in ("with", "without"):
        drawn = rng.sample(
            [r for r in test if bool(NEGATING.search(r.text)) == (kind == "with")],
            COUNT * 4,
        )
        texts = [(r.text, opened.labels[r.label]) for r in drawn]
        rows, truths = judge(opened, texts)
        right = [row["answer"] == truth for row, truth in zip(rows, truths)]
        sure = [row["certainty"] for row in rows]
        found[kind] = rounded({"right": np.mean(right), "certainty": np.mean(sure)})
    return found


def lost(model, how):
    """확신만 볼 때 되묻지 않던 답에서 사라진 것, 견주어 되묻기 전과 뒤.

    그리디는 시험할 문장 모두를, 오래 걸리는 빔은 부정하는 문장만 옮깁니다.
    """
    import translation

    opened, docs = trained.open_model(model), translation.python_docs()
    rules, (negating, _) = opened.rules, opened.rules["negation"]

    def missing(text, said):
        marks = answers.missing_marks(rules, text, said)
        return bool(marks), answers.misses_negation(rules, text, said)

    texts, size = [(p.source, p.target) for p in docs.test], {}
    if how == "beam":
        size["beam_size"] = translation.SETTINGS["beam_size"]
        texts = [pair for pair in texts if re.search(negating, pair[0])]
    rows, truths = judge(opened, texts, 4 * answers.BATCH, **size)
    score, _ = scoring(truths)
    columns = np.array([
        (
            not row["refused"] and row["certainty"] >= rules["doubt"],
            *missing(row["text"], row["answer"]),
            any(missing(row["text"], truth)),
            bool(re.search(rules["marks"], row["text"])),
            bool(re.search(negating, row["text"])),
            bool(NEGATED.search(row["answer"])) != bool(NEGATED.search(truth)),
            score(row["answer"], truth) >= CLOSE,
        )
        for row, truth in zip(rows, truths)
    ])  # fmt: skip
    silent = columns[:, 0]
    marks, misses, human, marked, negated, turned, close = columns[silent, 1:].T
    asked = marks | misses
    return rounded({
        "sentences": len(texts),
        "silent": silent.sum(),
        "asked": asked.mean(),
        "marked": marked.sum(),
        "marks_lost": marks[marked].mean(),
        "negated": negated.sum(),
        "turned": turned[negated].mean(),
        "turned_after": (turned & ~asked)[negated].mean(),
        "turned_all": turned.mean(),
        "turned_all_after": (turned & ~asked).mean(),
        "close": close.sum(),
        "close_asked": asked[close].mean(),
        "close_needless": (asked & human)[close].mean(),
    }) | {
        f"human_{side}": round(float(np.mean([
            any(missing(p.source, p.target)) for p in getattr(docs, side)
        ])), 4)
        for side in SEEDS
    }  # fmt: skip


def judge(opened, texts, size=answers.BATCH, **how):
    """`(글마다 잰 것, 글마다의 정답)`. 정답은 글에만 있습니다."""
    texts, truths = zip(*sorted(texts, key=lambda pair: len(pair[0])))
    rows = []
    for group in pairs.groups(texts, size):
        if opened.task == "classify":
            chances = labelling.classify(opened.model, opened.tokenizer, group)
            said = [(opened.labels[row.argmax()], float(row.max())) for row in chances]
        else:
            replies = answers.reply(opened.model, opened.tokenizer, group, **how)
            said = [(one.text, one.certainty) for one in replies]
        for text, (answer, certainty) in zip(group, said):
            _, refusal, _ = answers.reading(opened, text)
            held, asked = answers.judged(opened.rules, answer, certainty, source=text)
            letters = len(opened.tokenizer.normalize(text).replace(" ", ""))
            hidden, _ = opened.tokenizer.hide([text])
            rows.append({
                "text": text, "answer": answer, "certainty": certainty,
                "pieces": opened.tokenizer.encode(hidden).size / letters,
                "refused": bool(refusal or held), "asked": bool(asked and not refusal),
            })  # fmt: skip
    return rows, truths


def summary(rows, truths):
    """거절한 몫, 되물은 몫. 정답이 있으면 그것과 견준 점수도 적습니다."""
    refused, asked = (
        np.array([row[key] for row in rows]) for key in ("refused", "asked")
    )
    found = {"refused": refused.mean(), "asked": asked.mean()}
    if truths[0] is None:
        return rounded(found)
    score, name = scoring(truths)
    scores = np.array([score(row["answer"], truth) for row, truth in zip(rows, truths)])
    for kind, chosen in (("sure", ~(refused | asked)), ("asked", refused | asked)):
        found[f"{name}_{kind}"] = scores[chosen].mean() if chosen.any() else None
    return rounded(found)


def scoring(truths):
    """번역과 챗봇의 긴 답은 chrF로, 날과 레이블은 맞았는지로 채점합니다."""
    if max(map(len, truths)) > len("2026-11-21"):
        from sacrebleu.metrics import CHRF

        metric = CHRF()
        return lambda said, truth: metric.sentence_score(said, [truth]).score, "chrf"
    return lambda said, truth: said == truth, "right"


def auc(ours, theirs):
    """아무 우리 글의 수가 아무 남의 글의 수보다 클 확률."""
    above = np.subtract.outer(ours, theirs)
    return round(float((above > 0).mean() + (above == 0).mean() / 2), 4)


def rounded(found):
    return {k: None if v is None else round(float(v), 4) for k, v in found.items()}


def words(rng, letters):
    """낱말의 꼴로 늘어놓은 아무 글자."""
    lengths = [rng.randint(2, 8) for _ in range(rng.randint(1, 6))]
    return " ".join("".join(rng.choices(letters, k=n)) for n in lengths)


def nonsense(rng, letters):
    return [(words(rng, letters), None) for _ in range(COUNT)]


def translator_texts(side, rng):
    import translation

    docs = getattr(translation.python_docs(), side)
    captions = getattr(translation.multi30k(), side)
    return {
        "translator": rng.sample([(p.source, p.target) for p in docs], COUNT),
        "captions": [(p.target, None) for p in rng.sample(captions, COUNT)],
        "letters": nonsense(rng, LATIN),
    }


def chatbot_texts(side, rng):
    import chatbot

    _, *parts = chatbot.divide(chatbot.conversations(), "components")
    talks = parts[list(SEEDS).index(side)]
    return {
        "chatbot": rng.sample([(t.question, t.answer) for t in talks], COUNT),
        "syllables": nonsense(rng, [chr(c) for c in range(0xAC00, 0xD7A4)]),
        "jamo": nonsense(rng, JAMO),
    }


def reviews_texts(side, rng):
    import classification

    hard = {text for pair in corpora.minimal_pairs() for text in pair[1:]}
    assert hard.isdisjoint(r.text for r in classification.reviews())
    _, *parts = classification.split_reviews("film", 1)
    found = rng.sample(parts[list(SEEDS).index(side)], COUNT * 4)
    labels = trained.open_model("reviews").labels
    return {
        "reviews": [(review.text, labels[review.label]) for review in found],
        "syllables": nonsense(rng, [chr(c) for c in range(0xAC00, 0xD7A4)]),
        "jamo": nonsense(rng, JAMO),
    }


def dates_texts(side, rng):
    import dates

    _, days = corpora.split_days(seed=dates.SETTINGS["split_seed"])
    return {"dates": corpora.dates(COUNT * 4, SEEDS[side], days)}


KINDS = {
    "translator": translator_texts,
    "chatbot": chatbot_texts,
    "reviews": reviews_texts,
    "dates": dates_texts,
}


def probe():
    """모델마다 그 글의 답."""
    texts = SETTINGS["texts"]
    content = (
        path.read_bytes() for path in sorted(model_scripts.MODELS.glob("*.safetensors"))
    )
    models = [hashlib.sha256(one).hexdigest()[:16] for one in content]
    rules = answers.REMARKS["rules"]
    return {
        "answers": {name: next(visits(name, 0, 1))[0] for name in texts},
        "doubt": {"count": COUNT, "seeds": SEEDS, "rules": rules, "models": models},
        "lost": {"close": CLOSE, "rules": rules["translate"], "models": models},
    }


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
