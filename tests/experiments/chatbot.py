"""「챗봇」이 읽는 것: 한국어 문답 11,823개로 학습한 챗봇을 바르게 잽니다.

자료는 저장소에 없습니다. ``ChatbotData.csv``(songys/Chatbot_data, MIT)를 폴더 하나에
담고 ``TRANSFORMER_NOTES_DATA``로 알립니다. 저장된 결과를 읽거나 낡았는지 보는 데에는
자료가 필요하지 않습니다.

`CHOSEN`은 `grid`의 검증 손실이 가장 낮은 곳입니다. 채점할 문답은 고를 때 쓰지 않습니다.
`grid`는 단계마다 상태를 ``build/experiments``에 두고, 다음 단계가 거기에서 이어 갑니다.
"""

import collections
import functools
import hashlib
import json
import os
import re
import time
import unicodedata
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import ROOT, Experiment
from sacrebleu.metrics import CHRF
from shipping import ship
from sklearn.feature_extraction.text import TfidfVectorizer

from transformer_notes import corpora, decoding, training
from transformer_notes.tokenization import Tokenizer, pad_rows
from transformer_notes.transformer import Transformer, TransformerConfig

SETTINGS = {
    "data": "ChatbotData.csv",
    "split_seed": 11,
    "test": 0.1,
    "validation": 0.05,
    "vocab_size": 4000,
    "normalization": "korean",
    "d_model": 128,
    "num_heads": 4,
    "d_ff": 512,
    "tokens": 1024,
    "warmup_steps": 600,
    "label_smoothing": 0.0,
    "answered_at": [1, 2, 5, 10, 15, 20, 25, 40, 60],  # 답을 만들어 볼 에폭
    "sample": 600,  # 학습한 문답 가운데 손실을 잴 것
    "asked": 300,  # 검증할 물음 가운데 답을 만들 것
    "shown": 30,  # 적어 둘 물음과 답
    "max_extra": 30,
    "width": 39,  # 공개된 예제가 정답을 채우는 길이
}
#: (층의 수, 드롭아웃, 정규화의 자리)마다 학습할 에폭. 칸을 더하거나 늘리면 모자란 것만
#: 이어 합니다.
GRID = {
    (2, 0.1, "post"): 60,
    (2, 0.3, "post"): 60,
    (1, 0.1, "post"): 60,
    (4, 0.1, "post"): 60,
    (2, 0.1, "pre"): 25,
    (4, 0.1, "pre"): 25,
    (2, 0.3, "pre"): 25,
    (6, 0.1, "post"): 25,
}
#: 여기마다 적습니다.
STAGES = 10, 25, 60
#: 시드를 바꾸어 되풀이할 칸과 에폭. 시드 0은 `grid`에 있습니다.
REPEATED = {"cells": [(4, 0.1, "post"), (4, 0.1, "pre")], "epochs": 10}
#: 묶음째 나눈 문답에서 되풀이할 수. 섞어 나눈 것은 한 번만 잽니다.
SEEDS = 3
CHOSEN = {"cell": (2, 0.3, "pre"), "epochs": 9}
#: 공개된 예제들처럼 오래 학습한 것. 시드 0은 `grid`의 그 칸과 같습니다.
LONG = {"cell": (2, 0.1, "pre"), "epochs": 25}
#: 답을 만드는 법.
METHODS = {
    "greedy": {},
    "beam_4": {"beam_size": 4},
    "temperature_0.7": {"temperature": 0.7},
    "temperature_1": {"temperature": 1.0},
    "top_p_0.9": {"temperature": 1.0, "top_p": 0.9},
}
#: 검색이 고를 수 있는, 물음을 나누는 법.
ANALYZERS = [("char_wb", 1, 2), ("char_wb", 2, 3), ("char_wb", 2, 4), ("word", 1, 1)]
#: 채점할 물음에 이보다 닮은 물음이 학습에 있으면 '아주 닮았다'고 셉니다.
NEAR = 0.8
SPLITS = "components", "random"


PLAN = [
    *({"what": "data", "split": split} for split in SPLITS),
    *({"what": "retrieval", "split": split} for split in SPLITS),
    *(
        {"what": "grid", "layers": n, "dropout": rate, "norm": norm, "upto": stage}
        for (n, rate, norm), last in GRID.items()
        for stage in STAGES
        if stage <= last
    ),
    *(
        {"what": "reads", "layers": n, "dropout": rate, "norm": norm, "upto": stage}
        for (n, rate, norm), last in GRID.items()
        for stage in STAGES
        if stage <= last
    ),
    *(
        {"what": what, "split": split, "seed": first + number}
        for number in range(SEEDS)
        for what, first, splits in (("chosen", 1, SPLITS[:1]), ("long", 0, SPLITS))
        for split in splits[: 1 if number else None]
    ),
    {"what": "shipped"},
    *(
        {"what": "repeated", "layers": n, "dropout": rate, "norm": norm, "seed": seed}
        for seed in (1, 2, 3, 4)
        for n, rate, norm in REPEATED["cells"]
    ),
]


# --- 자료 ----------------------------------------------------------------------------


def path_of_data():
    folder = os.environ.get("TRANSFORMER_NOTES_DATA", ROOT / "build" / "data")
    path = Path(folder) / SETTINGS["data"]
    if not path.exists():
        raise FileNotFoundError(
            f"자료가 없습니다: {path}. 이 파일의 맨 위에 적힌 것을 받아 폴더에 두고 "
            "TRANSFORMER_NOTES_DATA로 그 폴더를 알려 주세요."
        )
    return path


@functools.cache
def conversations():
    """공개된 문답 모두."""
    return corpora.load_chatbot_csv(path_of_data())


def bare(question):
    """부호와 띄어쓰기를 뺀 물음. 이것이 같으면 같은 물음으로 봅니다."""
    return re.sub(r"\W", "", unicodedata.normalize("NFC", question))


def together(pair):
    """같은 물음이나 같은 답을 나누는 문답은 한쪽에만 있습니다."""
    return ("question", bare(pair.question)), ("answer", pair.answer)


def alone(pair):
    """누구나 쓰는 방법: 문답을 하나씩 아무렇게나 나눕니다."""
    return ()


def divide(pairs, split):
    """학습, 검증, 채점할 문답."""
    keys = together if split == "components" else alone
    test, validation = SETTINGS["test"], SETTINGS["validation"]
    seed = SETTINGS["split_seed"]
    rest, tested = corpora.split_groups(pairs, keys, test, seed)
    share = validation / (1 - test)
    kept, validated = corpora.split_groups(rest, keys, share, seed + 1)
    return kept, validated, tested


@functools.cache
def prepared(split):
    """나눈 문답과, 학습할 것에서만 만든 토크나이저."""
    parts = divide(conversations(), split)
    tokenizer = tokenizer_of(parts[0], SETTINGS["vocab_size"])
    return [[normalized(tokenizer, pair) for pair in part] for part in parts], tokenizer


def normalized(tokenizer, pair):
    """토크나이저가 읽는 꼴의 문답. 답을 견줄 때 정규화한 것끼리 견줍니다."""
    question, answer = map(tokenizer.normalize, pair[:2])
    return pair._replace(question=question, answer=answer)


def tokenizer_of(pairs, vocab_size):
    texts = [text for pair in pairs for text in pair[:2]]
    normalization = SETTINGS["normalization"]
    return Tokenizer.train(texts, vocab_size, normalization=normalization)


def encode(tokenizer, pairs):
    """배치가 될 (물음, 답)의 번호."""
    questions, answers, *_ = zip(*pairs)
    sources = tokenizer.encode(questions, eos=True)
    return list(zip(sources, tokenizer.encode(answers, bos=True, eos=True)))


def batches(tokenizer, pairs, seed=0):
    return training.Batches(encode(tokenizer, pairs), SETTINGS["tokens"], seed)


def filled(target, pad):
    """`<bos>` 다음이 `width`자리인 답. 모자라면 채우고 넘치면 자릅니다."""
    width = SETTINGS["width"] + 1
    return pad_rows([target[:width]], pad, width)[0]


def drawn(items, count):
    """시드로 뽑은 것. 실행마다 같습니다."""
    order = np.random.default_rng(SETTINGS["split_seed"]).permutation(len(items))
    return [items[place] for place in sorted(order[:count])]


def describe(split):
    """나눈 것의 크기와, 채점할 것이 학습에도 나오는 비율."""
    (train, validation, test), tokenizer = prepared(split)
    questions = {bare(pair.question) for pair in train}
    answers = {pair.answer for pair in train}
    asked = np.array([bare(pair.question) in questions for pair in test])
    told = np.array([pair.answer in answers for pair in test])
    nearest = similarity(ANALYZERS[1], train, test).max(axis=1)
    lengths = [len(target) - 1 for _, target in lean(tokenizer, train)]
    return {
        "pairs": [len(train), len(validation), len(test)],
        "answers": len({pair.answer for pair in conversations()}),
        "vocab_size": tokenizer.vocab_size,
        "unknown": sum(
            tokenizer.unknown_characters([t for p in test for t in p[:2]]).values()
        ),
        "question_seen": rounded(asked.mean()),
        "answer_seen": rounded(told.mean()),
        "either_seen": rounded((asked | told).mean()),
        "near": rounded((nearest > NEAR).mean()),
        "tokens_per_answer": rounded(np.mean(lengths)),
        "longest_answer": max(lengths),
    }


def lean(tokenizer, pairs):
    """패딩을 뗀 (물음, 답)의 번호."""
    pad = tokenizer.pad_id
    return [tuple(r[r != pad] for r in rows) for rows in encode(tokenizer, pairs)]


def rounded(value):
    return round(float(value), 4)


# --- 답을 재기 -----------------------------------------------------------------------


def scores(given, pairs, train):
    """만든 답을 사람의 답과 견주고, 얼마나 여러 가지인지 봅니다."""
    wanted = [pair.answer for pair in pairs]
    learned = {pair.answer for pair in train}
    (common, times), *_ = collections.Counter(given).most_common(1)
    words = [re.sub(r"[^\w\s]", "", text).split() for text in given]
    return {
        "chrf": rounded(CHRF().corpus_score(given, [wanted]).score),
        "exact": rounded(np.mean([a == b for a, b in zip(given, wanted)])),
        "distinct_1": distinct(words, 1),
        "distinct_2": distinct(words, 2),
        "kinds": rounded(len(set(given)) / len(given)),
        "top_share": rounded(times / len(given)),
        "top": common,
        "from_training": rounded(np.mean([text in learned for text in given])),
        "characters": rounded(np.mean([len(text) for text in given])),
        "empty": rounded(np.mean([not text.strip() for text in given])),
    }


def signature():
    """chrF를 어떻게 쟀는지. sacrebleu의 판은 결과의 `versions`에 있습니다."""
    metric = CHRF()
    metric.corpus_score(["답"], [["답"]])
    return str(metric.get_signature()).partition("|version")[0]


def distinct(lines, n):
    """서로 다른 n개짜리 어절의 열을 모든 것의 수로 나눈 것."""
    found = [tuple(w[i : i + n]) for w in lines for i in range(len(w) - n + 1)]
    return rounded(len(set(found)) / max(len(found), 1))


def similarity(analyzer, train, asked):
    """물음과 학습한 물음의 TF-IDF 코사인, (물을 것, 학습한 것)."""
    kind, least, most = analyzer
    known = TfidfVectorizer(analyzer=kind, ngram_range=(least, most))
    vectors = known.fit_transform(pair.question for pair in train)
    return (known.transform(p.question for p in asked) @ vectors.T).toarray()


def retrieved(analyzer, train, asked):
    """학습한 물음 가운데 가장 닮은 것의 답."""
    nearest = similarity(analyzer, train, asked).argmax(axis=1)
    return [train[place].answer for place in nearest]


def retrieval(split):
    """배우지 않는 것들: 가장 닮은 물음의 답, 가장 흔한 답, 아무 답, 사람의 답."""
    (train, validation, test), _ = prepared(split)
    chrf = [
        scores(retrieved(analyzer, train, validation), validation, train)["chrf"]
        for analyzer in ANALYZERS
    ]
    analyzer = ANALYZERS[int(np.argmax(chrf))]
    given = retrieved(analyzer, train, test)
    (common, _), *_ = collections.Counter(p.answer for p in train).most_common(1)
    places = np.random.default_rng(0).integers(len(train), size=len(test))
    rivals = {
        "nearest": given,
        "most_common": [common] * len(test),
        "random": [train[place].answer for place in places],
        "human": [pair.answer for pair in test],
    }
    shown = {}
    if split == "components":
        shown["shown"] = drawn(given, SETTINGS["shown"])
    return {
        "analyzer": list(analyzer),
        "validation_chrf": chrf,
        **shown,
        **{name: scores(answers, test, train) for name, answers in rivals.items()},
    }


# --- 모델 ----------------------------------------------------------------------------


def build(tokenizer, layers, dropout, norm):
    names = "d_model", "num_heads", "d_ff"
    sizes = {name: SETTINGS[name] for name in names}
    sizes |= {"num_layers": layers, "dropout": dropout, "norm_first": norm == "pre"}
    model = Transformer(TransformerConfig(tokenizer.vocab_size, **sizes))
    model.build()
    return model


def stepper(model):
    """옵티마이저와, 한 스텝을 학습하는 함수."""
    adam = training.adam(SETTINGS["d_model"], SETTINGS["warmup_steps"])
    adam.build(model.trainable_variables)
    return adam, training.update_step(model, adam, SETTINGS["label_smoothing"])


def scorer(model):
    """배치들의 토큰당 손실과 정확도를 내는 함수. 그래프는 하나입니다."""
    ids = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[((ids, ids), ids)])
    def sums(batch):
        inputs, labels = batch
        logits = model(inputs, training=False)
        losses, real = training.token_losses(labels, logits)
        hits, _ = training.token_hits(labels, logits)
        return [tf.reduce_sum(x) for x in (losses, hits, real)]

    def score(data):
        loss, hits, real = np.sum([sums(batch) for batch in data.epoch()], 0, float)
        return rounded(loss / real), rounded(hits / real)

    return score


def reply(model, tokenizer, questions, beam_size=None, seed=0, **drawing):
    """물음마다의 답. 길이가 비슷한 것끼리 64개씩 만듭니다."""
    rows = [tokenizer.encode(question, eos=True) for question in questions]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    special = tokenizer.bos_id, tokenizer.eos_id, SETTINGS["max_extra"]
    answers = [""] * len(rows)
    for start in range(0, len(order), 64):
        places = order[start : start + 64]
        ids = pad_rows([rows[place] for place in places], tokenizer.pad_id)
        if beam_size:
            made, _ = decoding.beam_search(model, ids, *special, beam_size=beam_size)
        elif drawing:
            made = decoding.sample(model, ids, *special, seed=seed + start, **drawing)
        else:
            made = decoding.greedy(model, ids, *special)
        for place, text in zip(places, tokenizer.decode(made.numpy())):
            answers[place] = text
    return answers


def learn(update, data, first, last, every_epoch=lambda epoch: None):
    """first 다음의 에폭부터 last까지, 에폭마다 `every_epoch`를 부르며 배웁니다."""
    start, processor_start = time.perf_counter(), time.process_time()
    for epoch in range(first + 1, last + 1):
        for step in range((epoch - 1) * len(data), epoch * len(data)):
            loss, _, healthy = update(data.at(step))
            if not healthy:
                raise FloatingPointError(f"{step}번째 스텝의 손실 {float(loss)}")
        every_epoch(epoch)
    return {
        "steps": last * len(data),
        "seconds": round(time.perf_counter() - start, 1),
        "processor_seconds": round(time.process_time() - processor_start, 1),
    }


def state_of(cell, stage, model, adam, data):
    """`grid`의 칸마다, 단계마다 모델과 옵티마이저의 상태를 두는 곳."""
    home = f"chatbot-{digest(SETTINGS)[:8]}"
    name = "-".join(map(str, (*cell, stage)))
    folder = EXPERIMENT.unfinished.parent / home / name
    return training.Checkpoints(folder, model, adam, data, 1, False)


def grid(layers, dropout, norm, upto):
    """에폭이 늘 때의 손실, 그리고 검증할 물음에 하는 답. 앞 단계에서 이어 갑니다."""
    (train, validation, _), tokenizer = prepared("components")
    cell = layers, dropout, norm
    model = build(tokenizer, *cell)
    adam, update = stepper(model)
    data = batches(tokenizer, train, 1)
    asked = drawn(validation, SETTINGS["asked"])
    seen = batches(tokenizer, drawn(train, SETTINGS["sample"]))
    unseen = batches(tokenizer, validation)
    score, curves, at = scorer(model), collections.defaultdict(list), {}

    before = max((stage for stage in STAGES if stage < upto), default=0)
    first = state_of(cell, before, model, adam, data).restore() // len(data)

    def every_epoch(epoch):
        if epoch <= before:
            return
        for part_name, part in (("training", seen), ("validation", unseen)):
            loss, accuracy = score(part)
            curves[f"{part_name}_loss"].append(loss)
            curves[f"{part_name}_accuracy"].append(accuracy)
        if epoch in SETTINGS["answered_at"]:
            given = reply(model, tokenizer, [pair.question for pair in asked])
            at[str(epoch)] = scores(given, asked, train)

    spent = learn(update, data, first, upto, every_epoch)
    reached = {"step": spent["steps"], "loss": curves["validation_loss"][-1]}
    state_of(cell, upto, model, adam, data).save(reached)
    return {
        "parameters": model.count_params(),
        "epochs": list(range(before + 1, upto + 1)),
        **spent,
        **curves,
        "at": at,
    }


def reads(layers, dropout, norm, upto):
    """그 단계의 모델이 물음을 읽는지: 제 물음의 손실과 다른 물음을 짝지은 손실."""
    (train, validation, _), tokenizer = prepared("components")
    cell = layers, dropout, norm
    model = build(tokenizer, *cell)
    adam, data = stepper(model)[0], batches(tokenizer, train, 1)
    state_of(cell, upto, model, adam, data).restore()
    return losses(model, tokenizer, validation)


def losses(model, tokenizer, pairs):
    """제 물음의 손실과, 다른 물음을 짝지은 손실. 물음을 읽지 않으면 같습니다."""
    score = scorer(model)
    others = [(pairs[place - 1].question, p.answer) for place, p in enumerate(pairs)]
    return {
        "loss": score(batches(tokenizer, pairs))[0],
        "loss_wrong_question": score(batches(tokenizer, others))[0],
    }


def repeated(layers, dropout, norm, seed):
    """다른 시드로 배운 것이 물음을 읽는지, 검증할 물음에 몇 가지로 답하는지."""
    (train, validation, _), tokenizer = prepared("components")
    model = build(tokenizer, layers, dropout, norm)
    _, update = stepper(model)
    data = batches(tokenizer, train, seed + 1)
    spent = learn(update, data, 0, REPEATED["epochs"])
    asked = drawn(validation, SETTINGS["asked"])
    given = reply(model, tokenizer, [pair.question for pair in asked])
    found = losses(model, tokenizer, validation)
    return {**spent, **found, **scores(given, asked, train)}


def chosen(split, seed):
    """고른 설정으로 학습하고, 떼어 둔 문답에서 잽니다."""
    (train, _, _), tokenizer = prepared(split)
    model = build(tokenizer, *CHOSEN["cell"])
    _, update = stepper(model)
    spent = learn(update, batches(tokenizer, train, seed), 0, CHOSEN["epochs"])
    shown = SETTINGS["shown"] if (split, seed) == ("components", 1) else 0
    return {**spent, **judged(model, split, seed, shown)}


def long(split, seed):
    """오래 학습하고, 떼어 둔 문답에서 잽니다."""
    (train, _, _), tokenizer = prepared(split)
    model = build(tokenizer, *LONG["cell"])
    adam, update = stepper(model)
    data, first = batches(tokenizer, train, seed + 1), 0
    if (split, seed) == ("components", 0):
        first = state_of(*LONG.values(), model, adam, data).restore()
    spent = learn(update, data, first // len(data), LONG["epochs"])
    shown = SETTINGS["shown"] if (split, seed) == ("components", 0) else 0
    return {**spent, **judged(model, split, seed, shown)}


def shipped():
    """오래 학습한 시드 0의 모델을 패키지에 싣고, 묶음째 떼어 둔 문답에서 채점합니다."""
    (train, _, test), tokenizer = prepared("components")
    model = build(tokenizer, *LONG["cell"])
    data = batches(tokenizer, train, 1)
    adam, _ = stepper(model)
    state_of(*LONG.values(), model, adam, data).restore()

    def chrf(model):
        given = reply(model, tokenizer, [pair.question for pair in test])
        return {"chrf": scores(given, test, train)["chrf"]}

    return ship(
        "chatbot",
        model,
        tokenizer,
        "chat",
        __file__,
        data={
            "name": "songys/Chatbot_data ChatbotData.csv",
            "sha256": hashlib.sha256(path_of_data().read_bytes()).hexdigest(),
            "license": "MIT",
        },
        batches=data,
        held_out=batches(tokenizer, test),
        score=chrf,
    )


def judged(model, split, seed, count):
    """떼어 둔 문답의 손실과, 만든 답의 점수. 앞의 답 몇을 적어 둡니다."""
    (train, _, test), tokenizer = prepared(split)
    score = scorer(model)
    seen = drawn(train, SETTINGS["sample"])
    found = {}
    for name, pairs in (("training", seen), ("test", test)):
        loss, accuracy = score(batches(tokenizer, pairs))
        published_loss, published_accuracy, real = published(model, tokenizer, pairs)
        found[name] = {
            "loss": loss,
            "perplexity": rounded(np.exp(loss)),
            "accuracy": accuracy,
            "published_loss": published_loss,
            "published_accuracy": published_accuracy,
            "real_share": real,
        }
    found["test"] |= losses(model, tokenizer, test)
    questions = [pair.question for pair in test]
    given = {
        name: reply(model, tokenizer, questions, seed=seed, **how)
        for name, how in METHODS.items()
    }
    found["decoding"] = {n: scores(texts, test, train) for n, texts in given.items()}
    remembered = reply(model, tokenizer, [pair.question for pair in seen])
    found["training"] |= scores(remembered, seen, train)
    if count:
        shown = zip(drawn(test, count), drawn(given["greedy"], count))
        found["shown"] = [[p.question, p.answer, answer] for p, answer in shown]
    return {"parameters": model.count_params(), **found}


def published(model, tokenizer, pairs):
    """공개된 예제가 재는 대로: 39자리로 채우고 39로 나눈 손실과 정확도, 진짜의 비율."""
    width, pad = SETTINGS["width"], tokenizer.pad_id
    rows = encode(tokenizer, pairs)
    totals = np.zeros(3)
    for start in range(0, len(rows), 64):
        sources, targets = zip(*rows[start : start + 64])
        targets = np.array([filled(target, pad) for target in targets])
        labels = targets[:, 1:]
        logits = model((pad_rows(sources, pad), targets[:, :-1]), training=False)
        losses, real = training.token_losses(labels, logits)
        hits = logits.numpy().argmax(axis=-1) == labels
        totals += [float(tf.reduce_sum(losses)), hits.sum(), float(tf.reduce_sum(real))]
    return [rounded(total / (len(rows) * width)) for total in totals]


MEASURES = {
    "data": describe,
    "retrieval": retrieval,
    "grid": grid,
    "reads": reads,
    "chosen": chosen,
    "long": long,
    "shipped": shipped,
    "repeated": repeated,
}


def measure(what, **labels):
    keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(labels.get("seed", 0))
    return MEASURES[what](**labels)


def probe():
    """실린 문답에서 다시 셈하는 것: 나눈 것의 지문, 검색한 답, 점수, 처음 몇 손실."""
    pairs = corpora.conversations()
    parts = {split: divide(pairs, split) for split in SPLITS}
    train, validation, test = parts["components"]
    tokenizer = tokenizer_of(train, 1500)
    keras.utils.set_random_seed(1)
    model = build(tokenizer, 1, 0.1, "post")
    (adam, update), data = stepper(model), batches(tokenizer, train, 1)
    losses = [round(float(update(data.at(step))[0]), 4) for step in range(3)]
    rates = [round(float(adam.learning_rate), 7)]
    nearest = retrieved(ANALYZERS[1], train, test[:20])
    return {
        "split": {name: digest(found) for name, found in parts.items()},
        "first": {"losses": losses, "rates": rates, "score": scorer(model)(data)},
        "chrf": signature(),
        "data": {
            "above": NEAR,
            "near": rounded(similarity(ANALYZERS[1], train, test).max(1).mean()),
        },
        "retrieval": {
            "analyzers": ANALYZERS,
            "answers": nearest[:3],
            "scores": scores(nearest, test[:20], train),
        },
        "chosen": {
            **CHOSEN,
            "methods": METHODS,
            "published": published(model, tokenizer, test[:3]),
        },
        "long": {**LONG, "methods": METHODS},
        "repeated": REPEATED,
    }


def digest(value):
    text = json.dumps(value, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


EXPERIMENT = Experiment(
    __file__,
    SETTINGS,
    PLAN,
    measure,
    probe,
    packages=("tokenizers", "sacrebleu", "scikit-learn"),
)

if __name__ == "__main__":
    EXPERIMENT.main()
