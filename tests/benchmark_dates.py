"""``python tests/benchmark_dates.py``: 날짜를 ISO 8601로 바꾸는 모델들을 견줍니다.

「날짜 읽기」의 표가 읽는 ``docs/practice/dates_results.json``을 만듭니다. 모델 하나를
학습할 때마다 결과를 적으므로, 멈추었다가 같은 명령으로 이어 갈 수 있습니다. 다 있으면
아무것도 하지 않습니다. 이름을 주면 그 갈래만 학습합니다. 이름을 나누어 동시에 돌려도
됩니다.

결과가 낡았는지는 코드의 글이 아니라 **계산**으로 가립니다. 말뭉치의 지문, 학습의 설정,
그리고 갈래마다 처음 세 손실을 결과와 함께 적어 둡니다. 말뭉치, 토크나이저, 배치, 모델,
초깃값, 손실, 기울기 가운데 하나라도 달라지면 손실이 달라집니다. 주석이나 이름을 고친
것은 결과를 낡게 하지 않습니다. ``tests/test_corpora.py``가 이것을 시험하고, 이 명령은
낡은 결과를 버리고 다시 학습합니다.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import measuring
import numpy as np
import tensorflow as tf

from transformer_notes import corpora, multi_head_attention, training
from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.decoding import greedy
from transformer_notes.seq2seq import Seq2Seq
from transformer_notes.tokenization import SPECIAL_TOKENS, Tokenizer
from transformer_notes.transformer import Transformer, TransformerConfig

RESULT = Path(__file__).resolve().parents[1] / "docs/practice/dates_results.json"

#: 「날짜 읽기」가 쪽에서 학습하는 것과 같은 설정입니다. 쪽이 이것을 시험합니다.
RECIPE = {
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
    "half": HALF,
    "learned": {**HALF, "positions": "learned", "max_length": 64},
    "unscaled": {**HALF, "scaled": False},
    "pre_norm": {**HALF, "norm_first": True},
    "one_head": {**HALF, "num_heads": 1},
    "smoothing": {**HALF, "label_smoothing": 0.1},
    "paper_schedule": {**HALF, "schedule": "paper"},
    "seq2seq": {"attention": None},
    "seq2seq_additive": {"attention": "additive"},
    "seq2seq_multiplicative": {"attention": "multiplicative"},
}
#: 자료를 다 보는 갈래는 서로 가까워 씨앗이 더 필요합니다.
SEEDS = {name: 2 if "pairs" in changes else 5 for name, changes in VARIANTS.items()}


def prepare(pairs, seed, tokens):
    """학습할 날로 만든 짝, 그 짝에서만 만든 어휘 집합, 배치."""
    days, _ = corpora.split_days(seed=RECIPE["split_seed"])
    texts, answers = zip(*corpora.dates(pairs, seed, days))
    characters = set(" ".join((*texts, *answers)))
    size = len(SPECIAL_TOKENS) + len(characters)  # 합칠 자리가 없으니 글자 하나가 토큰
    tokenizer = Tokenizer.train(texts + answers, vocab_size=size)
    sources = tokenizer.encode(texts)
    targets = tokenizer.encode(answers, bos=True, eos=True)
    return tokenizer, training.Batches(zip(sources, targets), tokens, seed)


def build(name, tokenizer):
    """갈래의 모델과 레이블 스무딩."""
    changes = dict(VARIANTS[name])
    if "attention" in changes:
        units = RECIPE["seq2seq_units"]
        return Seq2Seq(tokenizer.vocab_size, units, **changes), 0.0
    smoothing = changes.pop("label_smoothing", 0.0)
    fields = {field.name for field in dataclasses.fields(TransformerConfig)}
    sizes = {key: value for key, value in RECIPE.items() if key in fields}
    sizes |= {key: value for key, value in changes.items() if key in fields}
    return Transformer(TransformerConfig(tokenizer.vocab_size, **sizes)), smoothing


def optimizer(name, steps):
    if VARIANTS[name].get("schedule") == "paper":
        return training.adam(RECIPE["d_model"], warmup_steps=300)
    warmup = RECIPE["warmup_steps"]
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0, steps - warmup, warmup_target=RECIPE["peak"], warmup_steps=warmup
    )
    return keras.optimizers.Adam(schedule, beta_2=0.98, epsilon=1e-9)


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


def answer(model, tokenizer, texts, max_length=16):
    """글마다의 답."""
    ids = tokenizer.encode(texts)
    bos_id, eos_id = tokenizer.bos_id, tokenizer.eos_id
    if isinstance(model, Transformer):
        return tokenizer.decode(greedy(model, ids, bos_id, eos_id, 8).numpy())
    state, *memory = model.encode(ids)
    token, answers = np.full((len(ids), 1), bos_id, np.int32), []
    for _ in range(max_length):
        logits, state = model.decode(token, state, *memory)
        token = logits.numpy().argmax(axis=-1).astype(np.int32)
        answers.append(token)
    answers = np.concatenate(answers, axis=1)
    closed = (answers == eos_id).cumsum(axis=1) > 0
    return tokenizer.decode(np.where(closed, tokenizer.pad_id, answers))


def exact_match(model, tokenizer):
    """떼어 둔 날에서, 꼴마다 답이 글자 하나까지 같은 비율."""
    _, held_out = corpora.split_days(seed=RECIPE["split_seed"])
    rates = {}
    for form in corpora.DATE_FORMS:
        pairs = corpora.dates(RECIPE["tests_per_form"], 1, held_out, [form])
        texts, answers = zip(*pairs)
        given = answer(model, tokenizer, texts)
        rates[form] = float(np.mean([a == b for a, b in zip(given, answers)]))
    return rates


def run(name, seed):
    keras.utils.set_random_seed(seed)
    pairs = VARIANTS[name].get("pairs", RECIPE["pairs"])
    tokenizer, data = prepare(pairs, seed, RECIPE["tokens"])
    model, smoothing = build(name, tokenizer)
    steps = RECIPE["epochs"] * len(data)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, scaling(name):
        start, processor_start = time.perf_counter(), time.process_time()
        history = training.train(
            model,
            data,
            RECIPE["epochs"],
            folder,
            optimizer=optimizer(name, steps),
            label_smoothing=smoothing,
            save_every=steps // 20,
            progress=False,
        )
        seconds = time.perf_counter() - start
        processor_seconds = time.process_time() - processor_start
        forms = exact_match(model, tokenizer)
        averaged = None
        if isinstance(model, Transformer):
            model.set_weights(training.average_checkpoints(folder, 5))
            averaged = float(np.mean(list(exact_match(model, tokenizer).values())))
    return {
        "exact": round(float(np.mean(list(forms.values()))), 6),
        "forms": forms,
        "exact_averaged": averaged and round(averaged, 6),
        "parameters": model.count_params(),
        "steps": steps,
        "last_loss": round(history[-1]["loss"], 5),
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor_seconds, 1),
        "load_average": [round(load, 1), round(os.getloadavg()[0], 1)],
    }


def corpus_digest():
    """말뭉치와 떼어 두기의 지문."""
    days, held_out = corpora.split_days(seed=RECIPE["split_seed"])
    sample = corpora.dates(2000, 1, days), corpora.dates(500, 1, held_out)
    text = json.dumps([sample, list(map(str, held_out))], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def first_losses(name, updates=2):
    """갱신을 두 번 하며 잰 손실 셋. 그래프를 만들지 않아 빠릅니다."""
    keras.utils.set_random_seed(1)
    tokenizer, data = prepare(200, 1, RECIPE["tokens"])
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


def same(losses, stored):
    """다른 기계의 반올림은 봐주고, 계산이 달라진 것은 봐주지 않습니다."""
    return np.shape(losses) == np.shape(stored) and np.allclose(losses, stored, 1e-3)


def load():
    if RESULT.exists():
        return json.loads(RESULT.read_text(encoding="utf-8"))
    return {}


@contextlib.contextmanager
def stored_result():
    """결과를 읽어 고치고 통째로 바꾸어 씁니다. 함께 도는 다른 명령은 기다립니다."""
    lock = Path(tempfile.gettempdir(), "transformer_notes_dates.lock")
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = load()
        yield result
        measuring.write(RESULT, dict(sorted(result.items())))


def describe():
    """결과와 함께 적을 것: 명령, 기계, 판, 설정, 말뭉치의 지문."""
    return {
        "command": "python tests/benchmark_dates.py",
        "machine": measuring.machine(),
        "versions": measuring.versions(),
        "recipe": RECIPE,
        "corpus": corpus_digest(),
    }


def forget_stale(names):
    """설정이나 계산이 달라진 결과를 버립니다."""
    description = describe()
    with stored_result() as result:
        if any(result.get(key) != description[key] for key in ("recipe", "corpus")):
            result.clear()
        result.update(description)
        variants = result.setdefault("variants", {})
        for name in names:
            losses = first_losses(name)
            if not same(losses, variants.get(name, {}).get("first_losses")):
                variants[name] = {"first_losses": losses, "runs": {}}


def main():
    names = sys.argv[1:] or list(VARIANTS)
    forget_stale(names)
    tf.config.experimental.enable_op_determinism()
    # 씨앗 하나씩 모든 갈래를 돌아, 도중에 멈추어도 모든 갈래에 결과가 있습니다.
    for seed in range(1, 1 + max(SEEDS.values())):
        for name in names:
            if seed > SEEDS[name] or str(seed) in load()["variants"][name]["runs"]:
                continue
            measured = run(name, seed)
            with stored_result() as result:
                result["variants"][name]["runs"][str(seed)] = measured
            print(f"{name} {seed}: {measured}", flush=True)
            keras.backend.clear_session()


if __name__ == "__main__":
    main()
