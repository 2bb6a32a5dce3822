"""「왜 모두 먼저 배우는가」가 읽는 것: 레이블 없는 글로 먼저 배운 모델과 맨 처음부터
배운 모델을 견줍니다.

자료는 저장소에 없습니다. ``classification.py``의 감상평과 ``translation.py``의 파이썬
문서를 폴더 하나에 담고 ``TRANSFORMER_NOTES_DATA``로 그 폴더를 알립니다. 영화를 통째로
떼어 시험하고, 그 영화의 감상평은 레이블 없이도 읽지 않습니다. 어휘 집합도 떼고 난 글로
배웁니다.

먼저 배운 몸통은 ``build/experiments/pretraining``에 남고, 멈추면 거기서
이어 갑니다.
"""

import functools
import math
import os
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import classification as reviews
import keras
import numpy as np
import tensorflow as tf
from experiment import ROOT, Experiment
from sklearn import metrics

from transformer_notes import corpora, training
from transformer_notes.classification import label_pairs
from transformer_notes.pretraining import (
    FineTuned,
    LanguageModel,
    MaskedBatches,
    NextTokenBatches,
)
from transformer_notes.tokenization import Tokenizer, text_rows
from transformer_notes.transformer import TransformerConfig

SETTINGS = {
    "reviews": reviews.SETTINGS["reviews"],
    "documents": "python_docs.en-ko.tsv.gz",
    "held_out": [reviews.SETTINGS["test"], reviews.SETTINGS["validation"]],
    "tests": 5000,  # 떼어 둔 영화의 감상평에서 아무렇게나
    "vocab_size": 4000,
    "longest": 64,  # 이보다 긴 글은 먼저 배울 때 읽지 않습니다
    "tokens": 2048,
    "sizes": {
        "d_model": 64,
        "num_heads": 4,
        "num_layers": 2,
        "d_ff": 256,
        "norm_first": True,
    },
    # 글을 몇 번 읽는지. 계산의 양이 비슷하도록 정했습니다.
    "passes": {"masked": 5, "causal": 2},
    "peak": 0.002,
    "dropout": 0.1,
    "warmup": 0.1,
    "checks": 5,
    "epochs": 2,  # 레이블로 배울 때. 적어도 `steps`만큼은 배웁니다
    "tuned_on": {"few": 0.01, "many": 0.3},
    "few_below": 0.1,
    "longer": {"times": 4, "shares": [0.003]},
    "shots": [0, 1, 2, 4],
    "shot_tests": 1000,
    "shot_longest": 12,
    "words": [" 최악", " 최고"],
}
SHARES = 0.003, 0.01, 0.03, 0.1, 0.3, 1.0
SEEDS = 1, 2, 3, 4, 5
STARTS = "nothing", "masked", "causal", "causal_nothing", "linear"
#: 검증할 글에서 가장 많이 맞힌 것을 시작마다 고릅니다. 레이블이 많으면 언제나 두 번
#: 읽으므로 앞의 넷만 다르고, 신경망은 그 넷을 견줍니다.
CHOICES = [
    {"peak": peak, "dropout": dropout, "steps": steps}
    for steps in (200, 600)
    for dropout in (0.1, 0.3)
    for peak in (0.0005, 0.002)
]
LINEAR_CHOICES = [
    {"ngrams": list(ngrams), "strength": strength}
    for ngrams in ((1, 4), (2, 5))
    for strength in (1.0, 4.0, 16.0, 64.0)
]
#: 고른 것의 번호. 레이블이 적을 때와 많을 때를 따로 고릅니다.
CHOSEN = {
    "nothing": {"few": 7, "many": 1},
    "masked": {"few": 6, "many": 1},
    "causal": {"few": 6, "many": 1},
    "causal_nothing": {"few": 7},
    "linear": {"few": 2, "many": 1},
}
#: 이 책을 위해 쓴 문장과, 거기서 가릴 토큰의 앞부분.
BLANKS = [
    ["배우들의 연기가 정말 훌륭하다", " 연기"],
    ["돈이 아깝고 시간도 아깝다", " 시간"],
    ["너무 지루해서 보다가 잠들었다", " 지루"],
    ["너무 재미있어서 세 번이나 봤다", " 재미"],
    ["처음에는 지루했지만 끝에서는 펑펑 울었다", " 지루"],
    ["평점에 속았다 내 인생 최악의 영화", " 최악"],
    ["눈물이 나는 내 인생 최고의 영화", " 최고"],
]
#: 앞만 보고 맨 처음부터 배우는 것은 레이블이 적을 때만 봅니다.
UNTRIED = [("causal_nothing", "many")]


def size_of(share):
    return "few" if share < SETTINGS["few_below"] else "many"


PLAN = [
    *({"what": "data", "seed": seed} for seed in SEEDS),
    *({"what": task, "seed": seed} for seed in SEEDS for task in ("masked", "causal")),
    *(
        {"what": "tuning", "start": start, "size": size, "choice": choice}
        for start in STARTS
        for size in SETTINGS["tuned_on"]
        for choice in range(8)
        if (start, size) not in UNTRIED
        and (size == "few" or start == "linear" or choice < 4)
    ),
    *(
        {"what": "reading", "start": start, "share": share, "seed": seed}
        for seed in SEEDS
        for share in SHARES
        for start in STARTS
        if (start, size_of(share)) not in UNTRIED
    ),
    *(
        {"what": "longer", "share": share, "seed": seed}
        for seed in SEEDS
        for share in SETTINGS["longer"]["shares"]
    ),
    *(
        {"what": "blanks", "task": task, "seed": seed}
        for seed in SEEDS
        for task in ("masked", "causal")
    ),
    *({"what": "shots", "seed": seed} for seed in SEEDS),
]


# --- 자료 ----------------------------------------------------------------------------


def split(seed, share=1.0):
    return reviews.split_reviews("film", seed, share)


@functools.lru_cache(1)
def fresh(seed):
    """시험할 감상평을 섞은 것. 먼저 배운 글에 글자 그대로 있는 것은 뺍니다."""
    train, _, test = split(seed)
    learned = {review.text for review in train}
    order = np.random.default_rng(seed).permutation(len(test))
    return [test[i] for i in order if test[i].text not in learned]


@functools.lru_cache(1)
def documentation():
    folder = reviews.path_of_data().parent
    pairs = corpora.load_python_docs(folder / SETTINGS["documents"])
    return [pair.target for pair in pairs]


@functools.lru_cache(1)
def tokenizer_and_rows(seed):
    """시험할 영화와 검증할 영화를 뗀 글로 배운 어휘 집합, 그리고 읽을 글의 번호."""
    train, validation, _ = split(seed)
    texts = [review.text for review in train]
    tokenizer = Tokenizer.train(
        texts + documentation(), SETTINGS["vocab_size"], 2, "korean"
    )

    def short(texts):
        rows = text_rows(tokenizer, texts)
        return [row for row in rows if len(row) < SETTINGS["longest"]]

    held_out = short([review.text for review in validation])
    return tokenizer, short(texts) + short(documentation()), held_out


def described(seed):
    tokenizer, rows, held_out = tokenizer_and_rows(seed)
    train, validation, test = split(seed)
    return {
        "sizes": [len(train), len(validation), len(test)],
        "rows": [len(rows), len(held_out)],
        "tokens": sum(map(len, rows)),
        "vocab_size": tokenizer.vocab_size,
        "fresh": len(fresh(seed)),
    }


# --- 먼저 배우기 ---------------------------------------------------------------------


def new_body(vocab_size, causal, dropout):
    config = TransformerConfig(vocab_size + 1, dropout=dropout, **SETTINGS["sizes"])
    body = LanguageModel(config, causal)
    body.build()
    return body


def blank_batches(tokenizer, rows, seed, causal):
    if causal:
        opened = [[tokenizer.bos_id, *row] for row in rows]
        return NextTokenBatches(opened, SETTINGS["tokens"], seed)
    return MaskedBatches(rows, tokenizer.vocab_size, SETTINGS["tokens"], seed)


def learn(model, data, epochs, peak, folder, validation=None):
    """웜업과 코사인으로 끝까지 배우고, 마지막 가중치를 씁니다."""
    steps = epochs * len(data)
    warmup = int(SETTINGS["warmup"] * steps)
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0, steps - warmup, warmup_target=peak, warmup_steps=warmup
    )
    start, processor = time.perf_counter(), time.process_time()
    history = training.train(
        model,
        data,
        epochs,
        folder,
        validation=validation,
        optimizer=keras.optimizers.Adam(schedule, beta_2=0.98, epsilon=1e-9),
        label_smoothing=0.0,
        save_every=math.ceil(steps / (SETTINGS["checks"] if validation else 1)),
        keep=1,
        progress=False,
    )
    return {
        "epochs": epochs,
        "steps": steps,
        "seconds": round(time.perf_counter() - start, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "history": [[round(value, 4) for value in r.values()] for r in history],
    }


def taught(task, seed):
    """먼저 배운 몸통과 그 기록. 배운 것이 폴더에 있으면 그것입니다."""
    tokenizer, rows, held_out = tokenizer_and_rows(seed)
    keras.utils.set_random_seed(seed)
    causal = task == "causal"
    body = new_body(tokenizer.vocab_size, causal, SETTINGS["dropout"])
    found = learn(
        body,
        blank_batches(tokenizer, rows, seed, causal),
        SETTINGS["passes"][task],
        SETTINGS["peak"],
        ROOT / "build" / "experiments" / "pretraining" / f"{task}-{seed}",
        blank_batches(tokenizer, held_out, 0, causal),
    )
    return body, found | {"parameters": body.count_params()}


def pretrained(task, seed):
    body, found = taught(task, seed)
    tokenizer = tokenizer_and_rows(seed)[0]
    scores = training.evaluate(
        body, blank_batches(tokenizer, tokenizer_and_rows(seed)[2], 0, task == "causal")
    )
    return found | {"loss": rounded(scores.loss), "accuracy": rounded(scores.accuracy)}


def filled(body, tokenizer, text, start, count=5):
    """`start`로 시작하는 첫 토큰을 가렸을 때, 그 자리에 올 토큰과 확률."""
    tokens = tokenizer.tokenize(text)
    place = next(i for i, token in enumerate(tokens) if token.startswith(start))
    ids = tokenizer.encode([text], eos=True)
    answer = ids[0, place]
    if body.causal:  # 앞의 토큰만 읽습니다
        ids = np.insert(ids, 0, tokenizer.bos_id, axis=1)
    else:
        ids[0, place] = tokenizer.vocab_size
    logits = body((ids, np.array([[place]], np.int32)))
    p = tf.nn.softmax(logits).numpy()[0, 0]
    names = [*tokenizer.vocabulary, "<mask>"]
    best = np.argsort(-p)[:count]
    return {
        "text": "".join([*tokens[:place], " ▢", *tokens[place + 1 :]]).strip(),
        "answer": [tokens[place], rounded(p[answer])],
        "best": [[names[i], rounded(p[i])] for i in best],
    }


# --- 레이블로 배우기 -----------------------------------------------------------------


def read(start, share, seed, choice, asked, times=1):
    """레이블의 `share`만큼으로 배우고, `asked`에서 긍정의 확률을 냅니다.

    `times`는 고른 스텝의 몇 배를 배울지입니다.
    """
    train, *_ = split(seed, share)
    texts, labels = reviews.texts_and_labels(train)
    if start == "linear":
        begun = time.perf_counter()
        model = reviews.linear(texts, labels, **LINEAR_CHOICES[choice])
        spent = {"seconds": round(time.perf_counter() - begun, 1)}
        return model.predict_proba(asked)[:, 1], spent | {"train": len(train)}
    how = CHOICES[choice]
    tokenizer = tokenizer_and_rows(seed)[0]
    keras.utils.set_random_seed(seed)
    causal = start.startswith("causal")
    body = new_body(tokenizer.vocab_size, causal, how["dropout"])
    if start in SETTINGS["passes"]:
        body.set_weights(weights_of(start, seed))
    model = FineTuned(body, 2)
    model.build()
    pairs = label_pairs(tokenizer, texts, labels)
    data = training.Batches(pairs, SETTINGS["tokens"], seed)
    epochs = max(SETTINGS["epochs"], math.ceil(times * how["steps"] / len(data)))
    with tempfile.TemporaryDirectory() as folder:
        found = learn(model, data, epochs, how["peak"], folder)
    p = reviews.reading(model)(tokenizer.encode(asked, eos=True))
    return p, found | {"train": len(train)}


@functools.lru_cache(2)
def weights_of(task, seed):
    return taught(task, seed)[0].get_weights()


def tuned(start, size, choice):
    share = SETTINGS["tuned_on"][size]
    texts, truth = reviews.texts_and_labels(split(1)[1])
    p, found = read(start, share, 1, choice, texts)
    return found | brief(p, truth)


def measured(start, share, seed, times=1):
    texts, truth = reviews.texts_and_labels(fresh(seed)[: SETTINGS["tests"]])
    choice = CHOSEN[start][size_of(share)]
    p, found = read(start, share, seed, choice, texts, times)
    return found | brief(p, truth)


def brief(p, truth):
    scores = reviews.scored(p, truth)
    return {name: scores[name] for name in ("accuracy", "loss", "ece")}


# --- 보기를 몇 개 보여 주고 묻기 -----------------------------------------------------


def shots(seed):
    """보기를 앞에 이어 적고, 뒤에 '최고'와 '최악' 가운데 어느 것이 올지 봅니다.

    보기마다 글과 그 낱말을 적습니다. 보기의 수는 쪽마다의 것입니다.
    """
    tokenizer = tokenizer_and_rows(seed)[0]
    body = taught("causal", seed)[0]
    names = tokenizer.vocabulary
    words = [names.index(word) for word in SETTINGS["words"]]
    train = split(seed)[0]

    def short(part):
        rows = text_rows(tokenizer, [review.text for review in part])
        kept = [i for i, row in enumerate(rows) if len(row) <= SETTINGS["shot_longest"]]
        return [(rows[i][:-1], part[i].label) for i in kept]

    shown, asked = short(train[:20_000]), short(fresh(seed))[: SETTINGS["shot_tests"]]
    truth = np.array([label for _, label in asked])
    found = {}
    for count in SETTINGS["shots"]:
        rng = np.random.default_rng([seed, count])
        margins = []
        for row, _ in asked:
            prompt = [tokenizer.bos_id]
            for label in rng.permutation([0, 1] * count):
                same = [ids for ids, other in shown if other == label]
                prompt += [*same[rng.integers(len(same))], words[label]]
            ids = np.array([[*prompt, *row]], np.int32)
            logits = body((ids, np.array([[ids.shape[1] - 1]], np.int32)))
            negative, positive = (float(logits[0, 0, word]) for word in words)
            margins.append(positive - negative)
        margins = np.array(margins)
        found[str(count)] = {
            "accuracy": rounded(((margins > 0) == truth).mean()),
            "positive": rounded((margins > 0).mean()),
            "auc": rounded(metrics.roc_auc_score(truth, margins)),
        }
    return {"by_count": found, "tests": len(asked), "majority": rounded(truth.mean())}


def rounded(value):
    return round(float(value), 5)


def measure(what, seed=None, **labels):
    if what == "data":
        return described(seed)
    if what == "tuning":
        return tuned(**labels)
    if what == "reading":
        return measured(seed=seed, **labels)
    if what == "longer":
        return measured(
            "nothing", seed=seed, times=SETTINGS["longer"]["times"], **labels
        )
    if what == "shots":
        return shots(seed)
    if what == "blanks":
        body, tokenizer = taught(labels["task"], seed)[0], tokenizer_and_rows(seed)[0]
        return {"filled": [filled(body, tokenizer, *blank) for blank in BLANKS]}
    return pretrained(what, seed)


def probe():
    """우리가 쓴 문장에서, 과제마다의 처음 세 손실과 분류의 처음 세 손실."""
    texts = [text for text, _ in BLANKS]
    labels = np.arange(len(texts)) % 2
    tokenizer = Tokenizer.train(texts, SETTINGS["vocab_size"], 2, "korean")
    rows = text_rows(tokenizer, texts)
    found = {"blanks": BLANKS, "chosen": [CHOSEN, CHOICES, LINEAR_CHOICES]}
    for causal in (False, True):
        keras.utils.set_random_seed(1)
        body = new_body(tokenizer.vocab_size, causal, 0.0)
        data = blank_batches(tokenizer, rows, 1, causal)
        found[f"causal={causal}"] = reviews.first_losses(body, data)
        pairs = label_pairs(tokenizer, texts, labels)
        data = training.Batches(pairs, SETTINGS["tokens"])
        found[f"reading, causal={causal}"] = reviews.first_losses(
            FineTuned(body, 2), data
        )
    return found


EXPERIMENT = Experiment(
    __file__, SETTINGS, PLAN, measure, probe, packages=("scikit-learn",)
)

if __name__ == "__main__":
    EXPERIMENT.main()
