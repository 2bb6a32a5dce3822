"""「날짜 읽기」가 읽는 것: 날짜를 ISO 8601로 바꾸는 모델들을 견줍니다."""

import contextlib
import dataclasses
import hashlib
import json
import os
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
    # 함께 실을 모델. `decoding.translate`처럼 글의 끝에도 <eos>를 붙여 배웁니다
    "shipped": {"source_eos": True},
}
#: 배운 날과 떼어 둔 날을 새 글로 견줄 때, 꼴마다의 글.
FRESH_PER_FORM = 2000
#: 늘리면 모자란 것만 잽니다.
SEEDS = 5
#: 시드 하나씩 모든 갈래를 돕니다. 도중에 멈추어도 모든 갈래에 결과가 있습니다.
PLAN = [
    {"what": name, "seed": seed}
    for seed in range(1, 1 + SEEDS)
    for name in VARIANTS
    if name != "shipped" or seed == 1
]


def prepare(pairs, seed, tokens, source_eos=False):
    """학습할 날로 만든 짝, 그 짝에서만 만든 어휘 집합, 배치."""
    days, _ = corpora.split_days(seed=SETTINGS["split_seed"])
    texts, answers = zip(*corpora.dates(pairs, seed, days))
    characters = set(" ".join((*texts, *answers)))
    size = len(SPECIAL_TOKENS) + len(characters)  # 합칠 자리가 없으니 글자 하나가 토큰
    tokenizer = Tokenizer.train(texts + answers, vocab_size=size)
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


def ship_dates(model, tokenizer, data, seed):
    """모델 파일을 씁니다. 떼어 둔 날을 꼴마다 같은 수로 적어 채점합니다."""
    days, held_out = corpora.split_days(seed=SETTINGS["split_seed"])
    learned = json.dumps(corpora.dates(SETTINGS["pairs"], seed, days))
    pairs = []
    for form in corpora.DATE_FORMS:
        pairs += corpora.dates(SETTINGS["tests_per_form"], 1, held_out, [form])
    texts, answers = zip(*pairs)
    sources = tokenizer.encode(texts, eos=True)
    targets = tokenizer.encode(answers, bos=True, eos=True)
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
    pairs = VARIANTS[what].get("pairs", SETTINGS["pairs"])
    source_eos = VARIANTS[what].get("source_eos", False)
    tokenizer, data = prepare(pairs, seed, SETTINGS["tokens"], source_eos)
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
        if what == "shipped":
            extra = ship_dates(model, tokenizer, data, seed)
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
    return found | {"corpus": corpus_digest()}


def corpus_digest():
    """말뭉치와 떼어 두기의 지문."""
    days, held_out = corpora.split_days(seed=SETTINGS["split_seed"])
    sample = corpora.dates(2000, 1, days), corpora.dates(500, 1, held_out)
    text = json.dumps([sample, list(map(str, held_out))], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def first_losses(name, updates=2):
    """갱신을 두 번 하며 잰 손실 셋. 그래프를 만들지 않아 빠릅니다."""
    keras.utils.set_random_seed(1)
    source_eos = VARIANTS[name].get("source_eos", False)
    tokenizer, data = prepare(200, 1, SETTINGS["tokens"], source_eos)
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
