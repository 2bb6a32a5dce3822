"""「날짜 읽기」가 읽는 것: 날짜를 ISO 8601로 바꾸는 모델들을 견줍니다."""

import contextlib
import dataclasses
import hashlib
import json
import os
import random
import tempfile
import time
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment
from shipping import ship

from transformer_notes import corpora, multi_head_attention, training
from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.cli.answers import REMARKS, judged, reply
from transformer_notes.cli.pairs import readable
from transformer_notes.corpora.unreadable_dates import written
from transformer_notes.decoding import greedy
from transformer_notes.seq2seq import Seq2Seq
from transformer_notes.tokenization import SPECIAL_TOKENS, Tokenizer
from transformer_notes.transformer import Transformer, TransformerConfig

#: 「날짜 읽기」가 쪽에서 학습하는 것과 같은 설정입니다. 쪽이 이것을 시험합니다.
SETTINGS = {
    "split_seed": 9,
    "pairs": 80_000,
    "epochs": 1,
    "tokens": 700,
    "peak": 0.003,
    "warmup_steps": 200,
    "d_model": 64,
    "num_heads": 4,
    "num_layers": 2,
    "d_ff": 256,
    "dropout": 0.0,
    "tests_per_form": 500,
    "seq2seq_units": 112,
}
#: 갈래마다 기본과 다른 것. 부품을 견주는 갈래는 짝을 절반만 봅니다. 다 보면 모두 천장에
#: 닿아 차이가 보이지 않습니다.
HALF = {"pairs": 40_000}
VARIANTS = {
    "base": {},
    "fresh": {},  # 기본과 같은 학습. 새 글과 배우지 않은 순서에서 더 잽니다
    "half": HALF,
    "learned": {**HALF, "positions": "learned", "max_length": 64},
    "unscaled": {**HALF, "scaled": False},
    "pre_norm": {**HALF, "norm_first": True},
    "one_head": {**HALF, "num_heads": 1},
    "smoothing": {**HALF, "label_smoothing": 0.1},
    "paper_schedule": {**HALF, "paper_warmup_steps": 300},
    "seq2seq": {"attention": None},
    "seq2seq_additive": {"attention": "additive"},
    "seq2seq_multiplicative": {"attention": "multiplicative"},
    # 있는 날만, 함께 실을 모델만큼 배운 것
    "only_dates": {"source_eos": True, "pairs": 240_000},
    # 함께 실을 모델. `decoding.translate`처럼 글의 끝에도 <eos>를 붙여 배웁니다. 없는
    # 날과 날짜가 아닌 글도 함께 배웁니다
    "shipped": {"source_eos": True, "pairs": 240_000, "unreadable": 0.5},
}
#: 배운 날과 떼어 둔 날을 새 글로 견줄 때, 꼴마다의 글.
FRESH_PER_FORM = 2000
#: 명령줄이 답을 내놓지 않는 규칙.
RULES = REMARKS["rules"]["dates"]
#: 없는 날과 배우지 않은 꼴을 물을 날의 수와, 없는 날을 적을 꼴.
STRANGE_DAYS = 40
LONG_FORMS = "units", "hangul", "dots", "trailing"
#: 늘리면 모자란 것만 잽니다.
SEEDS = 5
#: 시드 하나씩 모든 갈래를 돕니다. 도중에 멈추어도 모든 갈래에 결과가 있습니다.
PLAN = [
    {"what": name, "seed": seed} for seed in range(1, 1 + SEEDS) for name in VARIANTS
]


def prepare(pairs, seed, tokens, source_eos=False, unreadable=0.0):
    """학습할 날로 만든 짝, 그 짝에서만 만든 어휘 집합, 배치.

    unreadable은 더 보여 줄 없는 날과 날짜가 아닌 글의 수를 짝의 수로 나눈 것입니다.
    그런 글의 글자는 어휘 집합에 넣지 않습니다. 모르는 글자로 배웁니다.
    """
    days, _ = corpora.split_days(seed=SETTINGS["split_seed"])
    texts, answers = zip(*corpora.dates(pairs, seed, days))
    learned = texts + answers + (corpora.REFUSAL,) * bool(unreadable)
    size = len(SPECIAL_TOKENS) + len(set(" ".join(learned)))  # 글자 하나가 토큰
    tokenizer = Tokenizer.train(learned, vocab_size=size)
    if unreadable:
        more = zip(*corpora.unreadable_dates(int(pairs * unreadable), seed, days))
        texts, answers = (a + b for a, b in zip((texts, answers), more))
    sources = tokenizer.encode(texts, eos=source_eos)
    targets = tokenizer.encode(answers, bos=True, eos=True)
    return tokenizer, training.Batches(zip(sources, targets), tokens, seed)


def build(name, tokenizer):
    """갈래의 모델과 레이블 스무딩."""
    changes = dict(VARIANTS[name])
    if "attention" in changes:
        units = SETTINGS["seq2seq_units"]
        return Seq2Seq(tokenizer.vocab_size, units, **changes), 0.0
    smoothing = changes.pop("label_smoothing", 0.0)
    fields = {field.name for field in dataclasses.fields(TransformerConfig)}
    sizes = {key: value for key, value in SETTINGS.items() if key in fields}
    sizes |= {key: value for key, value in changes.items() if key in fields}
    return Transformer(TransformerConfig(tokenizer.vocab_size, **sizes)), smoothing


def schedule(name, steps):
    if paper_warmup_steps := VARIANTS[name].get("paper_warmup_steps"):
        return training.WarmupSchedule(SETTINGS["d_model"], paper_warmup_steps)
    warmup = SETTINGS["warmup_steps"]
    return keras.optimizers.schedules.CosineDecay(
        0.0, steps - warmup, warmup_target=SETTINGS["peak"], warmup_steps=warmup
    )


def optimizer(learning_rate):
    return keras.optimizers.Adam(learning_rate, beta_2=0.98, epsilon=1e-9)


def scaling(name):
    """나누지 않는 갈래에서는 √d_k를 미리 곱해, 뒤에서 나누는 것을 없던 일로 합니다."""
    if VARIANTS[name].get("scaled", True):
        return contextlib.nullcontext()

    def unscaled(query, key, value, mask=None):
        query = query * tf.cast(query.shape[-1], query.dtype) ** 0.5
        return scaled_dot_product_attention(query, key, value, mask)

    return mock.patch.object(
        multi_head_attention, "scaled_dot_product_attention", unscaled
    )


def answer(model, tokenizer, texts, max_length=16, source_eos=False):
    """글마다의 답."""
    ids = tokenizer.encode(texts, eos=source_eos)
    bos_id, eos_id = tokenizer.bos_id, tokenizer.eos_id
    if isinstance(model, Transformer):
        return tokenizer.decode(greedy(model, ids, bos_id, eos_id, 8).numpy())
    state, *memory = model.encode(ids)
    token, answers = np.full((len(ids), 1), bos_id, np.int32), []
    for _ in range(max_length):
        logits, state, _ = model.decode(token, state, *memory)
        token = logits.numpy().argmax(axis=-1).astype(np.int32)
        answers.append(token)
    answers = np.concatenate(answers, axis=1)
    closed = (answers == eos_id).cumsum(axis=1) > 0
    return tokenizer.decode(np.where(closed, tokenizer.pad_id, answers))


def exact_match(model, tokenizer, source_eos=False):
    """떼어 둔 날에서, 꼴마다 답이 글자 하나까지 같은 비율."""
    _, held_out = corpora.split_days(seed=SETTINGS["split_seed"])
    rates = {}
    for form in corpora.DATE_FORMS:
        pairs = corpora.dates(SETTINGS["tests_per_form"], 1, held_out, [form])
        texts, answers = zip(*pairs)
        given = answer(model, tokenizer, texts, source_eos=source_eos)
        rates[form] = float(np.mean([a == b for a, b in zip(given, answers)]))
    return rates


def teacher_forced(model, tokenizer, pairs):
    """답을 넣어 주고 잰 토큰당 손실과, 답의 모든 토큰을 맞힌 비율.

    앞이 모두 맞아야 다음도 맞으므로 이 비율은 그리디의 완전 일치와 같습니다.
    """
    losses, tokens, right = 0.0, 0, 0
    for start in range(0, len(pairs), 1000):
        texts, answers = zip(*pairs[start : start + 1000])
        ids = tokenizer.encode(answers, bos=True, eos=True)
        logits = model((tokenizer.encode(texts), ids[:, :-1]))
        labels, real = ids[:, 1:], ids[:, 1:] != tokenizer.pad_id
        log_p = tf.nn.log_softmax(logits)
        chosen = tf.gather(log_p, labels, batch_dims=2).numpy()
        losses, tokens = losses - chosen[real].sum(), tokens + real.sum()
        hits = (log_p.numpy().argmax(axis=-1) == labels) | ~real
        right += hits.all(axis=1).sum()
    return round(float(losses / tokens), 6), round(float(right / len(pairs)), 6)


def seen_or_not(model, tokenizer, seed):
    """새 글에서의 점수: 학습에 답으로 나온 날과, 떼어 둔 날. 꼴의 몫은 같습니다."""
    days, held_out = corpora.split_days(seed=SETTINGS["split_seed"])
    learned = corpora.dates(SETTINGS["pairs"], seed, days)
    seen_texts = {text for text, _ in learned}
    seen = {answer for _, answer in learned}
    met = [day for day in days if day.isoformat() in seen]
    assert not seen & {day.isoformat() for day in held_out}
    found, wanted = {}, FRESH_PER_FORM
    for name, chosen in (("seen", met), ("held_out", held_out)):
        pairs = []
        for form in corpora.DATE_FORMS:
            drawn = corpora.dates(2 * wanted, 1000 + seed, chosen, [form])
            fresh = [pair for pair in drawn if pair[0] not in seen_texts]
            assert len(fresh) >= wanted
            pairs += fresh[:wanted]
        loss, exact = teacher_forced(model, tokenizer, pairs)
        found |= {f"loss_{name}": loss, f"exact_{name}": exact}
    return found


def swapped(model, tokenizer):
    """'21일 11월, 2026'에서 무엇을 달로 적는지. 배우지 않은 순서입니다."""
    _, held_out = corpora.split_days(seed=SETTINGS["split_seed"])
    days = [day for day in held_out if day.day <= 12 and day.day != day.month]
    given = answer(
        model, tokenizer, [f"{day.day}일 {day.month}월, {day.year}" for day in days]
    )
    months = [text[5:7] for text in given]

    def rate(hits):
        return round(float(np.mean(list(hits))), 4)

    return {
        "month_by_unit": rate(m == f"{d.month:02}" for m, d in zip(months, days)),
        "month_by_place": rate(m == f"{d.day:02}" for m, d in zip(months, days)),
        "swapped_exact": rate(text == d.isoformat() for text, d in zip(given, days)),
    }


def foreign(day, rng):
    """학습에 없는 꼴로 적은 글과 그 옳은 답. 옳은 답이 없으면 빈 글입니다."""
    year, month, dom, iso = day.year, day.month, day.day, day.isoformat()
    name, hour = f"{day:%B}", rng.randrange(24)
    numeral = "".join("〇一二三四五六七八九"[int(digit)] for digit in str(year))
    return {
        "영어": [(f"{name} {dom}, {year}", iso), (f"{dom} {name[:3]} {year}", iso)],
        "한자": [(f"{year}年 {month}月 {dom}日", iso),
               (f"{numeral}年 {month}月 {dom}日", iso)],
        "시각": [(f"{year}.{month:02}.{dom:02} {hour:02}:30", iso),
               (f"{iso}T{hour:02}:00:00Z", iso),
               (f"{year}년 {month}월 {dom}일 오후 {hour % 12 + 1}시", iso)],
        "다른 달력": [(f"음력 {month}월 {dom}일", ""),
                  (f"단기 {year + 2333}년 {month}월 {dom}일", iso),
                  (f"{year}-W{day.isocalendar().week:02}-{day.isoweekday()}", iso),
                  (f"{year}-{day:%j}", iso)],
        "다른 순서": [(f"{month}/{dom}/{year}", iso), (f"{dom}.{month}.{year}", iso)],
        "모자란 날": [(f"{year}년 {month}월", ""), (f"{month}월 {dom}일", ""),
                  (rng.choice(["내일", "다음 주 금요일", "설날", "지난달 말일"]), "")],
        "여러 날": [(f"{year}.{month}.{dom}~{month}.{dom % 28 + 1}", ""),
                 (f"{year}년 {month}월 {dom}일부터 {dom % 28 + 1}일까지", "")],
        "다른 수": [(f"010-{year}-{rng.randrange(1000, 10_000)}", ""),
                 (f"{dom},{rng.randrange(100, 1000)}원", ""),
                 (f"{rng.randrange(10_000, 100_000)}", ""),
                 (f"{month}.{dom}.{rng.randrange(10)}", ""),
                 (f"{year % 100}학년 {month}반 {dom}번", "")],
        "글 속의 날": [(f"생일은 {year}년 {month}월 {dom}일", iso),
                   (f"{year} 년 {month} 월 {dom} 일", iso)],
    }  # fmt: skip


def impossible(day, rng):
    """배운 꼴로 적은 없는 달, 없는 날, 범위 밖의 해."""
    numbers = {
        "13월–99월": (day.year, rng.randrange(13, 100), day.day),
        "32일–99일": (day.year, day.month, rng.randrange(32, 100)),
        "달력에 없는 날": (day.year, *rng.choice([(2, 30), (4, 31), (9, 31)])),
        "범위 밖의 해": (rng.choice([1850, 1949, 2050, 2143]), day.month, day.day),
    }
    return {
        kind: [(written(rng, *parts, [form])[0], "") for form in LONG_FORMS]
        for kind, parts in numbers.items()
    }


def trusted(model, tokenizer):
    """없는 날과 배우지 않은 꼴을 물었을 때, 갈래마다의 수와 틀린 날을 내놓은 글.

    되묻는 규칙은 명령줄의 것 그대로입니다. 배운 꼴에서 내놓은 비율도 잽니다.
    """

    def given(texts):
        texts = [readable(tokenizer, text) for text in texts]
        for start in range(0, len(texts), 64):
            for found in reply(model, tokenizer, texts[start : start + 64]):
                held, _ = judged(RULES, found.text, found.certainty)
                yield "" if held else found.text

    _, held_out = corpora.split_days(seed=SETTINGS["split_seed"])
    rng, asked = random.Random(0), {}
    for write in (impossible, foreign):
        for day in rng.sample(held_out, STRANGE_DAYS):
            for kind, rows in write(day, rng).items():
                asked.setdefault(kind, []).extend(rows)
    found = {}
    for kind, rows in asked.items():
        texts, wanted = zip(*rows)
        told = list(given(texts))
        wrong = [t for t, w, g in zip(texts, wanted, told) if g and g != w]
        found[kind] = {
            "asked": len(rows),
            "answered": sum(map(bool, told)),
            "wrong": wrong,
        }
    texts, wanted = zip(*corpora.dates(STRANGE_DAYS * 100, 3, held_out))
    told = list(given(texts))
    known = {
        "answered": float(np.mean([bool(g) for g in told])),
        "right": float(np.mean([g == w for g, w in zip(told, wanted)])),
        "wrong": float(np.mean([g not in ("", w) for g, w in zip(told, wanted)])),
    }
    return {"strange": found, "known": known}


def ship_dates(model, tokenizer, data, seed):
    """모델 파일을 씁니다. 떼어 둔 날을 꼴마다 같은 수로 적어 채점합니다."""
    days, held_out = corpora.split_days(seed=SETTINGS["split_seed"])
    count = VARIANTS["shipped"]["pairs"]
    more = int(count * VARIANTS["shipped"]["unreadable"])
    learned = corpora.dates(count, seed, days)
    learned = json.dumps(learned + corpora.unreadable_dates(more, seed, days))
    tests = []
    for form in corpora.DATE_FORMS:
        tests += corpora.dates(SETTINGS["tests_per_form"], 1, held_out, [form])
    texts, wanted = zip(*tests)
    sources = tokenizer.encode(texts, eos=True)
    targets = tokenizer.encode(wanted, bos=True, eos=True)
    return ship(
        "dates",
        model,
        tokenizer,
        "dates",
        __file__,
        data={
            "name": "transformer_notes.corpora.dates",
            "sha256": hashlib.sha256(learned.encode()).hexdigest(),
            "license": "MIT. 이 패키지가 만듭니다",
        },
        batches=data,
        held_out=training.Batches(zip(sources, targets), tokens=4096),
        score=lambda model: {"exact": mean(exact_match(model, tokenizer, True))},
    )


def measure(what, seed):
    keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)
    count = VARIANTS[what].get("pairs", SETTINGS["pairs"])
    source_eos = VARIANTS[what].get("source_eos", False)
    unreadable = VARIANTS[what].get("unreadable", 0.0)
    tokenizer, data = prepare(count, seed, SETTINGS["tokens"], source_eos, unreadable)
    model, smoothing = build(what, tokenizer)
    steps = SETTINGS["epochs"] * len(data)
    extra, averaged = {}, {}
    with tempfile.TemporaryDirectory() as folder, scaling(what):
        start, processor_start = time.perf_counter(), time.process_time()
        history = training.train(
            model,
            data,
            SETTINGS["epochs"],
            folder,
            optimizer=optimizer(schedule(what, steps)),
            label_smoothing=smoothing,
            save_every=steps // 20,
            progress=False,
        )
        seconds = time.perf_counter() - start
        processor_seconds = time.process_time() - processor_start
        forms = exact_match(model, tokenizer, source_eos)
        if what in ("only_dates", "shipped"):
            extra = trusted(model, tokenizer)
        if (what, seed) == ("shipped", 1):
            extra |= ship_dates(model, tokenizer, data, seed)
        if what == "fresh":
            extra = seen_or_not(model, tokenizer, seed) | swapped(model, tokenizer)
        if isinstance(model, Transformer):
            model.set_weights(training.average_checkpoints(folder, 5))
            averaged["exact_averaged"] = mean(exact_match(model, tokenizer, source_eos))
    return {
        "parameters": model.count_params(),
        "steps": steps,
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor_seconds, 1),
        "last_loss": round(history[-1]["loss"], 5),
        "forms": forms,
        "exact": mean(forms),
        **averaged,
        **extra,
    }


def mean(rates):
    """꼴마다의 비율의 평균."""
    return round(float(np.mean(list(rates.values()))), 6)


def probe():
    """말뭉치의 지문, 갈래마다 바꾼 것과 학습률과 처음 세 손실."""
    rates = {name: schedule(name, 1000) for name in VARIANTS}
    found = {
        name: {
            "changes": changes,
            "rates": [round(float(rates[name](step)), 7) for step in (1, 500, 800)],
            "first_losses": first_losses(name),
        }
        for name, changes in VARIANTS.items()
    }
    found["fresh"]["fresh_per_form"] = FRESH_PER_FORM
    asked = {"strange_days": STRANGE_DAYS, "rules": RULES}
    found["only_dates"] |= asked
    found["shipped"] |= asked | {"corpus": unreadable_digest()}
    return found | {"corpus": corpus_digest()}


def corpus_digest():
    """말뭉치와 떼어 두기의 지문."""
    days, held_out = corpora.split_days(seed=SETTINGS["split_seed"])
    sample = corpora.dates(2000, 1, days), corpora.dates(500, 1, held_out)
    text = json.dumps([sample, list(map(str, held_out))], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def unreadable_digest():
    """없는 날과 날짜가 아닌 글의 지문."""
    days, _ = corpora.split_days(seed=SETTINGS["split_seed"])
    sample = json.dumps(corpora.unreadable_dates(2000, 1, days), ensure_ascii=False)
    return hashlib.sha256(sample.encode()).hexdigest()


def first_losses(name, updates=2):
    """갱신을 두 번 하며 잰 손실 셋. 그래프를 만들지 않아 빠릅니다."""
    keras.utils.set_random_seed(1)
    source_eos = VARIANTS[name].get("source_eos", False)
    unreadable = VARIANTS[name].get("unreadable", 0.0)
    tokenizer, data = prepare(200, 1, SETTINGS["tokens"], source_eos, unreadable)
    model, smoothing = build(name, tokenizer)
    inputs, labels = data.at(0)
    adam, losses = keras.optimizers.Adam(0.01), []
    with scaling(name):
        for _ in range(updates + 1):
            with tf.GradientTape() as tape:
                logits = model(inputs, training=True)
                loss = training.masked_cross_entropy(labels, logits, smoothing)
            losses.append(round(float(loss), 5))
            gradients = tape.gradient(loss, model.trainable_variables)
            adam.apply(gradients, model.trainable_variables)
    return losses


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
