"""「감상평 읽기」가 읽는 것: 영화 감상평의 긍정과 부정을 가르는 모델들을 견줍니다.

자료는 저장소에 없습니다. ``nsmc_raw_200k.tsv.gz``를 폴더에 담고
``TRANSFORMER_NOTES_DATA``로 그 폴더를 알립니다. e9t/nsmc의 ``raw``(커밋 cc0670e8)에서
그 말뭉치의 방법대로 뽑은 감상평 20만 개이고, 줄마다 (영화, 번호, 별점, 글)입니다.
저장된 결과를 읽거나 낡았는지 보는 데에는 자료가 필요하지 않습니다.

실행 하나는 두 코어에서 30분을 넘지 않습니다. 차례는 도중에 멈추어도 쓸 것이 남도록
두었습니다: 값싼 모델과 고르기, 머리 줄의 시드 하나, 학습 곡선, 나머지 시드.
"""

import collections
import contextlib
import functools
import hashlib
import itertools
import math
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import ROOT, Experiment
from kiwipiepy import Kiwi
from scipy import sparse, stats
from shipping import ship
from sklearn import metrics
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from transformer_notes import corpora, training
from transformer_notes.classification import Classifier, label_pairs
from transformer_notes.tokenization import Tokenizer, pad_rows
from transformer_notes.transformer import TransformerConfig

SETTINGS = {
    "reviews": "nsmc_raw_200k.tsv.gz",
    "test": 0.1,  # 감상평의 비율. 영화를 통째로 떼어 이만큼에 닿게 합니다
    "validation": 0.05,  # 시험을 떼고 남은 것에서
    "random_test": 50_000,
    "bins": 10,
    "samples": 12,
    "removed": [1, 2, 4],
    "removal_reviews": 1000,
    "removal_least_tokens": 12,
    "random_draws": 5,
}
#: 신경망 셋이 함께 쓰는 것. 바꾸면 신경망만 다시 학습합니다.
TRAINING = {
    "normalization": "korean",
    "vocab_size": 8000,
    "tokens": 2048,
    "epochs": 4,
    "least_steps": 300,  # 자료가 적으면 에폭을 늘려 이만큼은 학습합니다
    "warmup": 0.1,  # 스텝의 비율
    "checks": 10,  # 검증하는 횟수. 손실이 가장 낮은 가중치를 씁니다
}
SIZES = {
    "d_model": 128,
    "num_heads": 4,
    "num_layers": 2,
    "d_ff": 512,
    "norm_first": True,
}
LSTM_UNITS = 167  # 방향마다. 파라미터의 수를 트랜스포머와 맞춥니다
BAG_WIDTH = 177
NEURAL = "transformer", "lstm", "bag"
PEAKS = {"transformer": (0.001, 0.002), "lstm": (0.001, 0.003), "bag": (0.003, 0.01)}
SCHEDULES = "cosine", "inverse root"
#: 드롭아웃과 학습률을 바꾼 여섯에서 검증 손실이 가장 낮은 것의 번호.
BETTER = {"transformer": 0, "lstm": 4, "bag": 4}


def choices(name):
    """신경망의 열둘: 드롭아웃과 학습률을 바꾼 여섯과, 가장 나은 것에서 바꾼 여섯.

    뒤의 여섯은 스케줄과 에폭을 바꾼 다섯과 학습률을 반으로 줄인 하나입니다.
    """
    found = [{"dropout": d, "peak": p} for d in (0.1, 0.3, 0.5) for p in PEAKS[name]]
    better = found[BETTER[name]]
    for schedule, epochs in itertools.product(SCHEDULES, (2, 4, 8)):
        if (schedule, epochs) != (SCHEDULES[0], TRAINING["epochs"]):
            found.append(better | {"schedule": schedule, "epochs": epochs})
    return [*found, better | {"peak": better["peak"] / 2}]


#: 모델마다 같은 자료에서 해 보고 검증 손실이 가장 낮은 것을 씁니다. 신경망마다 열둘,
#: 선형 모델은 여섯입니다.
CHOICES = {name: choices(name) for name in NEURAL}
CHOICES["linear"] = [
    {"ngrams": list(ngrams), "strength": strength}
    for ngrams in ((1, 4), (2, 5))
    for strength in (4.0, 16.0, 64.0)
]
#: 고른 것의 번호. 쪽이 저장된 검증 손실과 맞는지 시험합니다.
CHOSEN = {"linear": 1, "transformer": 0, "lstm": 4, "bag": 9}
TUNING_SHARE = 0.1

SHARES = 0.01, 0.03, 0.1, 0.3, 1.0
SEEDS = 1, 2, 3
VOCABULARIES = "bpe", "character", "morpheme"


def row(what, seed, split="film", share=1.0, vocabulary="bpe"):
    labels = {"what": what, "split": split, "share": share, "seed": seed}
    return labels | ({"vocabulary": vocabulary} if what in NEURAL else {})


def planned():
    """실행의 차례. 되풀이되는 것은 처음의 것만 남깁니다."""
    for seed, split in itertools.product(SEEDS, ("film", "random")):
        yield {"what": "data", "split": split, "seed": seed}
    for model in ("linear", *NEURAL):
        for choice in range(len(CHOICES[model])):
            yield {"what": "tuning", "model": model, "choice": choice, "seed": 0}
    yield from (row("linear", 1, share=share) for share in SHARES)
    yield {"what": "words", "seed": 1}
    yield from (row(what, 1, share=0.1) for what in NEURAL)
    yield from (row(what, 1) for what in NEURAL)
    yield from (row("transformer", 1, share=share) for share in SHARES)
    yield from (row("linear", seed) for seed in SEEDS)
    yield from (row("transformer", seed) for seed in SEEDS)
    yield from (row("transformer", 1, share=0.3, vocabulary=v) for v in VOCABULARIES)
    yield from (row(what, 1, "random") for what in ("linear", *NEURAL))
    for seed, share in itertools.product(SEEDS, SHARES):
        yield from (row(what, seed, share=share) for what in ("linear", "transformer"))
    for seed in SEEDS:
        yield from (row(what, seed) for what in ("lstm", "bag"))
        yield row("linear", seed, "random")
        yield row("transformer", seed, "random")


PLAN = []
for labels in planned():
    if labels not in PLAN:
        PLAN.append(labels)


#: 이 책을 위해 쓴 감상평. 한 줄은 비꼰 글이고 다음 줄은 같은 뜻의 곧은 글입니다.
NEGATIVE = """\
덕분에 밀린 잠을 두 시간 푹 잤습니다. 베개를 챙겨 갈 걸 그랬어요.
너무 지루해서 두 시간 내내 졸았습니다. 돈이 아까워요.
감독님 천재시네요. 이 좋은 배우들을 모아 이렇게 만들기도 쉽지 않은데.
좋은 배우들을 모아 놓고 이렇게밖에 못 만들다니 실망입니다.
팝콘이 참 맛있었습니다. 기억나는 건 그것뿐이네요.
기억에 남는 장면이 하나도 없는 영화였습니다.
올해 최고의 코미디. 공포 영화라고 해서 갔는데 배꼽 빠지는 줄 알았다.
공포 영화인데 하나도 무섭지 않고 유치하다.
이 영화 덕분에 제 시간이 얼마나 소중한지 깊이 깨달았습니다.
시간 낭비였습니다. 보지 마세요.
엔딩 크레딧이 가장 감동적이었다. 드디어 집에 갈 수 있다니.
언제 끝나나 기다리기만 했다. 정말 지겨웠다.
별 다섯 개 드립니다. 백 개 만점에.
별 하나도 아깝습니다.
옆자리 연인의 다툼이 더 흥미진진했어요. 그쪽 결말이 궁금합니다.
이야기가 하나도 흥미롭지 않고 결말도 궁금하지 않아요.
원작을 사랑하는 분께 추천합니다. 원작이 얼마나 위대한지 알게 됩니다.
원작을 망쳐 놓았습니다. 원작 팬이라면 보지 마세요.
예고편이 정말 훌륭합니다. 예고편만 보세요.
예고편에 속았습니다. 영화는 형편없어요.
이런 작품을 이제야 보다니. 평생 안 봐도 됐을 텐데.
평생 안 봐도 되는 졸작입니다.
배우들이 어찌나 자연스러운지 대본 넘기는 소리까지 들리더라.
배우들 연기가 국어책을 읽는 것처럼 어색하더라.
"""
POSITIVE = """\
감독님 책임지세요. 눈이 퉁퉁 부어서 내일 출근 못 합니다.
눈이 붓도록 울었습니다. 정말 감동적인 영화입니다.
절대 혼자 보지 마세요. 끝나고 붙잡고 이야기할 사람이 없으면 미칩니다.
함께 보고 오래 이야기하고 싶은 좋은 영화입니다.
욕하면서 봤다. 악역이 얼마나 얄밉던지 화면에 들어가 때려 주고 싶더라.
악역의 연기가 훌륭해서 몰입해서 봤다. 추천한다.
표 값 물어내라. 두 시간짜리라더니 십 분 만에 끝난 것 같다.
두 시간이 금방 지나갈 만큼 재미있었다.
이 영화 때문에 다른 영화는 다 시시해졌다. 어떻게 보상할 거냐.
다른 영화와 비교할 수 없을 만큼 훌륭한 영화다.
휴지를 안 챙겨 간 게 올해 가장 큰 실수였다.
감동받아서 많이 울었다. 올해 가장 좋은 영화다.
망했다. 벌써 세 번째 보고 있다. 내 주말 돌려줘.
세 번이나 볼 만큼 재미있습니다.
이걸 졸작이라던 친구와 오늘부로 절교했습니다.
졸작이라는 말은 틀렸습니다. 정말 좋은 영화입니다.
"""
IRONY = [
    (ironic, plain, label)
    for label, lines in enumerate((NEGATIVE.splitlines(), POSITIVE.splitlines()))
    for ironic, plain in zip(lines[::2], lines[1::2])
]


# --- 자료 ----------------------------------------------------------------------------


def path_of_data():
    folder = os.environ.get("TRANSFORMER_NOTES_DATA", ROOT / "build" / "data")
    return Path(folder) / SETTINGS["reviews"]


@functools.cache
def reviews():
    return corpora.load_reviews(path_of_data())


def split_reviews(split, seed, share=1.0):
    """학습, 검증, 시험. "film"은 영화를 통째로, "random"은 감상평을 하나씩 가릅니다.

    학습과 검증은 섞은 다음 앞에서부터 `share`만큼만 씁니다. 시험은 언제나 모두입니다.
    """
    found, rng = reviews(), np.random.default_rng(seed)
    if split == "random":
        order = rng.permutation(len(found))
        cut = SETTINGS["random_test"]
        rest, test = ([found[i] for i in part] for part in (order[cut:], order[:cut]))
        cut = int(len(rest) * SETTINGS["validation"])
        train, validation = rest[cut:], rest[:cut]
    else:
        rest, test = by_film(found, SETTINGS["test"], seed)
        train, validation = by_film(rest, SETTINGS["validation"], seed)
        films = [{review.film for review in part} for part in (train, validation, test)]
        assert all(a.isdisjoint(b) for a, b in itertools.combinations(films, 2))

    def some(part):
        order = rng.permutation(len(part))[: math.ceil(share * len(part))]
        return [part[i] for i in order]

    return some(train), some(validation), test


def by_film(found, rate, seed):
    return corpora.split_groups(found, lambda review: [review.film], rate, seed)


def texts_and_labels(part):
    return [review.text for review in part], np.array([r.label for r in part])


def described(split, seed):
    """자료의 크기, 길이, 되풀이되는 글, 언제나 한쪽이라고 할 때의 점수."""
    train, validation, test = split_reviews(split, seed)
    counted = collections.Counter(review.text for review in reviews())
    learned, labels = texts_and_labels(train)
    texts, truth = texts_and_labels(test)
    constant = np.full(len(truth), float(labels.mean() > 0.5))
    content = path_of_data().read_bytes()
    lengths = np.array([len(text) for text in counted.elements()])
    return {
        "data": hashlib.sha256(content).hexdigest()[:16],
        "sizes": [len(train), len(validation), len(test)],
        "films": [len({r.film for r in part}) for part in (train, validation, test)],
        "lengths": [int(np.percentile(lengths, q)) for q in (5, 50, 95, 100)],
        "most_repeated": counted.most_common(5),
        "repeated_texts": sum(n > 1 for n in counted.values()),
        "repeated_reviews": sum(n for n in counted.values() if n > 1),
        "disagreeing": disagreeing(reviews()),
        "seen_tests": int(seen(texts, learned).sum()),
        "one_group": one_group(reviews()),
        **{k: v for k, v in scored(constant, truth).items() if k != "bins"},
    }


def seen(texts, learned):
    """글자 그대로 학습에도 있는 글."""
    learned = set(learned)
    return np.array([text in learned for text in texts])


def disagreeing(found):
    """긍정과 부정에 모두 있는 글의 수."""
    sides = [{r.text for r in found if r.label == label} for label in (0, 1)]
    return len(sides[0] & sides[1])


def one_group(found):
    """영화와 글을 모두 열쇠로 쓸 때, 가장 큰 덩어리에 드는 감상평의 비율."""
    films, texts = (
        np.unique(keys, return_inverse=True)[1]
        for keys in ([r.film for r in found], [r.text for r in found])
    )
    size = films.max() + 1 + texts.max() + 1
    edges = np.ones(len(found)), (films, films.max() + 1 + texts)
    _, groups = sparse.csgraph.connected_components(
        sparse.coo_matrix(edges, shape=(size, size)), directed=False
    )
    return rounded(np.bincount(groups[films]).max() / len(found))


# --- 모델 ----------------------------------------------------------------------------


class Other(keras.Model):
    """견줄 신경망: 임베딩, 문장을 벡터 하나로 줄이는 층, 선형 변환.

    `train`이 `Classifier`와 똑같이 부릅니다. 0번은 패딩이라 확률이 0입니다.
    """

    def __init__(self, vocab_size, width, summary, dropout):
        super().__init__()
        self.embedding = keras.layers.Embedding(vocab_size, width, mask_zero=True)
        self.summary = summary
        self.dropout = keras.layers.Dropout(dropout)
        self.scores = keras.layers.Dense(2)

    def call(self, inputs, training=None):
        x = self.dropout(self.embedding(inputs[0]), training=training)
        x = self.summary(x, mask=self.embedding.compute_mask(inputs[0]))
        scores = self.scores(self.dropout(x, training=training))
        return tf.pad(scores, [[0, 0], [1, 0]], constant_values=-1e9)[:, tf.newaxis]


def build(what, vocab_size, dropout):
    if what == "transformer":
        return Classifier(TransformerConfig(vocab_size, dropout=dropout, **SIZES), 2)
    if what == "lstm":
        both = keras.layers.Bidirectional(keras.layers.LSTM(LSTM_UNITS))
        return Other(vocab_size, SIZES["d_model"], both, dropout)
    mean = keras.layers.GlobalAveragePooling1D()
    return Other(vocab_size, BAG_WIDTH, mean, dropout)


@functools.cache
def kiwi():
    return Kiwi(num_workers=1)


def written(vocabulary, texts):
    """어휘 집합이 읽을 글. 형태소 사이를 띄어 서브워드가 넘지 않게 합니다."""
    if vocabulary != "morpheme":
        return texts
    return [" ".join(t.form for t in tokens) for tokens in kiwi().tokenize(texts)]


def learn_vocabulary(vocabulary, texts):
    """학습할 글에서만 배웁니다. 글자 하나가 토큰이려면 아무것도 합치지 않습니다."""
    least = 10**9 if vocabulary == "character" else 2
    size, normalization = TRAINING["vocab_size"], TRAINING["normalization"]
    return Tokenizer.train(texts, size, least, normalization)


def batches(tokenizer, texts, labels, seed=0):
    pairs = label_pairs(tokenizer, texts, labels)
    return training.Batches(pairs, TRAINING["tokens"], seed)


def rates(schedule, peak, steps):
    """스텝마다의 학습률."""
    warmup = int(TRAINING["warmup"] * steps)
    if schedule == "inverse root":  # 가장 높은 곳이 peak가 되는 d_model을 줍니다
        return training.WarmupSchedule(1 / (peak**2 * warmup), warmup)
    return keras.optimizers.schedules.CosineDecay(
        0.0, steps - warmup, warmup_target=peak, warmup_steps=warmup
    )


def fit(model, data, validation, peak, schedule=SCHEDULES[0], epochs=None):
    """학습하고 검증 손실이 가장 낮았던 가중치를 둡니다."""
    epochs = epochs or TRAINING["epochs"]
    epochs = max(epochs, math.ceil(TRAINING["least_steps"] / len(data)))
    steps = epochs * len(data)
    optimizer = keras.optimizers.Adam(
        rates(schedule, peak, steps), beta_2=0.98, epsilon=1e-9
    )
    start, processor = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        history = training.train(
            model,
            data,
            epochs,
            folder,
            validation=validation,
            optimizer=optimizer,
            label_smoothing=0.0,
            save_every=max(1, steps // TRAINING["checks"]),
            keep=1,
            progress=False,
        )
        model.set_weights(training.best_checkpoint(folder))
    return {
        "parameters": model.count_params(),
        "epochs": epochs,
        "steps": steps,
        "seconds": round(time.perf_counter() - start, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "history": [[round(value, 4) for value in r.values()] for r in history],
        "validation_loss": round(min(r["validation_loss"] for r in history), 5),
    }


def reading(model):
    """글의 번호를 받아 줄마다 긍정의 확률을 내는 함수. 그래프는 하나입니다."""

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def positive(ids):
        return tf.nn.softmax(model((ids, ids[:, :1]), training=False))[:, 0, 2]

    def probabilities(ids):
        lengths = (ids != Tokenizer.pad_id).sum(axis=1)
        order, found = np.argsort(lengths, kind="stable"), np.zeros(len(ids))
        for rows in np.array_split(order, math.ceil(len(ids) / 500)):
            found[rows] = positive(ids[rows, : lengths[rows].max()])
        return found

    return probabilities


def linear(texts, labels, ngrams, strength):
    vectorizer = TfidfVectorizer(
        analyzer="char",
        ngram_range=tuple(ngrams),
        min_df=2,
        sublinear_tf=True,
        dtype=np.float32,
    )
    model = make_pipeline(vectorizer, LogisticRegression(C=strength, max_iter=1000))
    return model.fit(texts, labels)


# --- 지워 보기 -----------------------------------------------------------------------


def removal(model, probabilities, tokenizer, ids, other, seed):
    """토큰을 지우면 처음에 고른 쪽의 확률이 얼마나 주는지, 지울 것을 고르는 법마다."""
    rng = np.random.default_rng(seed)
    lengths = (ids != tokenizer.pad_id).sum(axis=1)
    long = np.flatnonzero(lengths > SETTINGS["removal_least_tokens"])
    chosen = rng.permutation(long)[: SETTINGS["removal_reviews"]]
    rows = [ids[i, : lengths[i]] for i in chosen]
    positive = probabilities(pad_rows(rows))
    side = positive > 0.5

    def drops(shorter, places):
        """처음의 확률에서, places번째 글을 줄인 것의 확률을 뺀 값."""
        p = probabilities(pad_rows(shorter)) - positive[places]
        return np.where(side[places], -p, p)

    counts = [len(row) - 1 for row in rows]  # <eos>는 지우지 않습니다
    places, cuts = np.repeat(np.arange(len(rows)), counts), np.cumsum(counts)[:-1]
    shorter = [np.delete(row, place) for row in rows for place in range(len(row) - 1)]
    scores = [other.decision_function(tokenizer.decode(r)) for r in (rows, shorter)]
    by_linear = (scores[0][places] - scores[1]) * np.where(side[places], 1, -1)
    kinds = attended(model, rows)
    kinds["one_out"] = np.split(drops(shorter, places), cuts)
    kinds["linear"] = np.split(by_linear, cuts)
    ranks = {
        name: rounded(np.nanmean(list(map(agree, values, kinds["one_out"]))))
        for name, values in kinds.items()
    }
    shown = examples(tokenizer, rows, positive, kinds)
    for draw in range(SETTINGS["random_draws"]):
        kinds[f"random {draw}"] = [rng.random(count) for count in counts]
    found = {}  # 고르는 법과 k마다 (준 확률, 뒤집힌 비율). random은 여러 번의 평균
    for name, k in itertools.product(kinds, SETTINGS["removed"]):
        tops = [np.argsort(-values, kind="stable")[:k] for values in kinds[name]]
        gone = drops(list(map(np.delete, rows, tops)), np.arange(len(rows)))
        flipped = gone > np.where(side, positive, 1 - positive) - 0.5
        table = found.setdefault(name.split()[0], {})
        table.setdefault(str(k), []).append([gone.mean(), flipped.mean()])
    for table in found.values():
        table |= {k: [rounded(x) for x in np.mean(v, axis=0)] for k, v in table.items()}
    return {
        "reviews": len(rows),
        "by": found,
        "ranks": ranks,
        "examples": shown,
    }


def attended(model, rows):
    """마지막 층의 가중치를 헤드와 쿼리로 평균한 것과, 층을 이어 곱한 것(rollout)."""
    found = {"attention": [], "rollout": []}
    for row in rows:
        whole = model((row[np.newaxis], row[np.newaxis, :1]), return_weights=True)
        maps = [layer[0].numpy().mean(axis=0) for layer in whole.weights]  # (쿼리, 키)
        flow = np.eye(len(row))
        for weights in maps:
            flow = (weights + np.eye(len(row))) @ flow / 2  # 잔차는 제자리를 봅니다
        found["attention"].append(maps[-1].mean(axis=0)[:-1])
        found["rollout"].append(flow.mean(axis=0)[:-1])
    return found


def agree(a, b):
    """두 차례가 얼마나 같은가: 스피어만의 순위 상관."""
    return stats.spearmanr(a, b).statistic if np.ptp(a) and np.ptp(b) else np.nan


def examples(tokenizer, rows, positive, kinds, count=3, longest=15):
    """그림에 쓸 짧은 감상평: 토큰마다의 가중치와, 그것을 뺄 때 준 확률."""
    names = tokenizer.vocabulary
    return [
        {
            "tokens": [names[token] for token in rows[i][:-1]],
            "positive": rounded(positive[i]),
            **{k: [rounded(x) for x in kinds[k][i]] for k in ("attention", "one_out")},
        }
        for i in [i for i, row in enumerate(rows) if len(row) <= longest][:count]
    ]


@contextlib.contextmanager
def uniform_attention(model):
    """쿼리를 0으로 두어 모든 토큰을 고르게 보게 합니다. 끝나면 되돌립니다."""
    layers = [layer.self_attention for layer in model.encoder.layers]
    kept = [layer.get_weights() for layer in layers]
    for layer, (query, *rest) in zip(layers, kept):
        layer.set_weights([0 * query, *rest])
    yield
    for layer, weights in zip(layers, kept):
        layer.set_weights(weights)


# --- 재기 ----------------------------------------------------------------------------


def scored(p, truth):
    """긍정의 확률을 채점합니다. 확률의 칸마다 (수, 평균 확률, 긍정의 비율)도 냅니다."""
    said = (p > 0.5).astype(int)
    places = np.minimum((p * SETTINGS["bins"]).astype(int), SETTINGS["bins"] - 1)
    bins = []
    for place in range(SETTINGS["bins"]):
        inside = places == place
        rates = (p[inside].mean(), truth[inside].mean()) if inside.any() else (0, 0)
        bins.append([int(inside.sum()), *(round(float(rate), 4) for rate in rates)])
    gaps = [count * abs(mean - rate) for count, mean, rate in bins]
    loss = metrics.log_loss(truth, np.clip(p, 1e-7, 1 - 1e-7), labels=[0, 1])
    return {
        "accuracy": rounded((said == truth).mean()),
        "macro_f1": rounded(metrics.f1_score(truth, said, average="macro")),
        "loss": rounded(loss),
        "ece": rounded(sum(gaps) / len(p)),
        "confusion": metrics.confusion_matrix(truth, said, labels=[0, 1]).tolist(),
        "bins": bins,
    }


def rounded(value):
    return round(float(value), 5)


def reported(p, tests, learned):
    """시험 전체의 점수, 학습에 없는 글에서의 점수, 아무렇게나 뽑은 틀린 글."""
    texts, truth = texts_and_labels(tests)
    fresh = ~seen(texts, learned)
    alone = scored(p[fresh], truth[fresh])
    rng, wrong = np.random.default_rng(0), np.flatnonzero((p > 0.5) != truth)
    shown = rng.permutation(wrong)[: SETTINGS["samples"]]
    return scored(p, truth) | {
        "fresh": int(fresh.sum()),
        "fresh_accuracy": alone["accuracy"],
        "fresh_macro_f1": alone["macro_f1"],
        "wrong": [[texts[i], int(truth[i]), rounded(p[i])] for i in shown],
    }


def ironic(positive):
    """비꼰 글과 곧은 글의 확률."""
    return {
        kind: [rounded(p) for p in positive([pair[place] for pair in IRONY])]
        for place, kind in ((0, "ironic"), (1, "plain"))
    }


def measure_linear(split, share, seed):
    train, _, test = split_reviews(split, seed, share)
    texts, labels = texts_and_labels(train)
    start = time.perf_counter()
    model = linear(texts, labels, **chosen("linear"))
    seconds = round(time.perf_counter() - start, 1)

    def positive(texts):
        return model.predict_proba(texts)[:, 1]

    return {
        "train": len(train),
        "parameters": model[-1].coef_.size + 1,
        "seconds": seconds,
        **reported(positive(texts_and_labels(test)[0]), test, texts),
        **ironic(positive),
    }


def heaviest(seed):
    """선형 모델이 가장 무겁게 세는 글자 묶음. 서로 품은 것은 하나만 적습니다."""
    train, _, _ = split_reviews("film", seed)
    model = linear(*texts_and_labels(train), **chosen("linear"))
    names, weights = model[0].get_feature_names_out(), model[-1].coef_[0]
    found = {}
    for side, sign in (("negative", 1), ("positive", -1)):
        kept = found[side] = []
        for name in (names[i].strip() for i in np.argsort(sign * weights)):
            inside = any(name in other or other in name for other in kept)
            if len(name) > 1 and not inside and len(kept) < SETTINGS["samples"]:
                kept.append(name)
    return found


def chosen(what):
    return CHOICES[what][CHOSEN[what]]


def measure_neural(what, split, share, vocabulary, seed):
    train, validation, test = split_reviews(split, seed, share)
    (texts, labels), (asked, truth) = map(texts_and_labels, (train, test))
    assert not {text for pair in IRONY for text in pair[:2]} & {*texts, *asked}
    read = written(vocabulary, texts)
    tokenizer = learn_vocabulary(vocabulary, read)
    given = tokenizer, read, labels, validation, seed, vocabulary, chosen(what)
    model, found = trained(what, *given)

    def encode(texts):
        return tokenizer.encode(written(vocabulary, texts), eos=True)

    ids, probabilities = encode(asked), reading(model)
    p = probabilities(ids)
    found |= {
        "train": len(train),
        "vocab_size": tokenizer.vocab_size,
        "mean_tokens": rounded((ids != tokenizer.pad_id).sum(axis=1).mean()),
        **reported(p, test, texts),
        **ironic(lambda texts: probabilities(encode(texts))),
    }
    labels_of_run = what, split, share, vocabulary, seed
    if labels_of_run == ("transformer", "film", 1.0, "bpe", 1):
        found |= ship_reader(model, tokenizer, batches(tokenizer, read, labels), test)
    explained = split == "film" and vocabulary == "bpe" and share >= TUNING_SHARE
    if what == "transformer" and explained:
        other = linear(texts, labels, **chosen("linear"))
        right = [(q > 0.5) == truth for q in (other.predict_proba(asked)[:, 1], p)]
        found["agreement"] = metrics.confusion_matrix(*right).tolist()
        found["removal"] = removal(model, probabilities, tokenizer, ids, other, seed)
        with uniform_attention(model):
            found["uniform"] = scored(probabilities(ids), truth)["accuracy"]
    return found


def ship_reader(model, tokenizer, data, test):
    """모델 파일을 쓰고 떼어 둔 영화에서 채점합니다."""
    return ship(
        "reviews",
        model,
        tokenizer,
        "classify",
        __file__,
        data={
            "name": f"e9t/nsmc {SETTINGS['reviews']}",
            "sha256": hashlib.sha256(path_of_data().read_bytes()).hexdigest(),
            "license": "CC0 1.0",
        },
        batches=data,
        held_out=batches(tokenizer, *texts_and_labels(test)),
        labels=["부정", "긍정"],
    )


def trained(what, tokenizer, texts, labels, validation, seed, vocabulary, choice):
    keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)
    dropout, rest = choice["dropout"], {k: choice[k] for k in choice if k != "dropout"}
    model = build(what, tokenizer.vocab_size, dropout)
    held, answers = texts_and_labels(validation)
    data = batches(tokenizer, texts, labels, seed)
    held = batches(tokenizer, written(vocabulary, held), answers)
    return model, fit(model, data, held, **rest)


def tuned(model, choice, seed):
    """고르기: 학습할 자료의 일부로 배우고 검증할 자료 모두에서 잽니다."""
    train, validation, _ = split_reviews("film", seed)
    texts, labels = texts_and_labels(train[: math.ceil(TUNING_SHARE * len(train))])
    if model != "linear":
        tokenizer = learn_vocabulary("bpe", texts)
        given = (
            tokenizer,
            texts,
            labels,
            validation,
            seed,
            "bpe",
            CHOICES[model][choice],
        )
        return trained(model, *given)[1]
    start = time.perf_counter()
    fitted = linear(texts, labels, **CHOICES[model][choice])
    held, truth = texts_and_labels(validation)
    found = scored(fitted.predict_proba(held)[:, 1], truth)
    seconds = round(time.perf_counter() - start, 1)
    return {"seconds": seconds, "validation_loss": found["loss"]}


def measure(what, seed, split="film", share=1.0, vocabulary="bpe", **choice):
    if what == "data":
        return described(split, seed)
    if what == "tuning":
        return tuned(seed=seed, **choice)
    if what == "linear":
        return measure_linear(split, share, seed)
    if what == "words":
        return heaviest(seed)
    return measure_neural(what, split, share, vocabulary, seed)


def probe():
    """우리가 쓴 감상평에서, 모델마다의 처음 세 손실과 선형 모델의 확률."""
    texts = [text for pair in IRONY for text in pair[:2]]
    labels = np.array([pair[2] for pair in IRONY for _ in range(2)])
    found = {"irony": [texts, labels.tolist()]}
    model = linear(texts, labels, **chosen("linear"))
    found["linear"] = [rounded(p) for p in model.predict_proba(texts[:5])[:, 1]]
    for name in NEURAL:
        keras.utils.set_random_seed(1)
        read = written("morpheme" if name == "bag" else "bpe", texts)
        tokenizer = learn_vocabulary("character" if name == "lstm" else "bpe", read)
        network = build(name, tokenizer.vocab_size, chosen(name)["dropout"])
        tokens = tokenizer.tokenize("최고!!!! ㅋㅋㅋㅋ １０점")
        losses = first_losses(network, batches(tokenizer, read, labels))
        found[name] = [chosen(name), tokens, losses, network.count_params(), TRAINING]
    found["transformer"].append(chosen("linear"))  # 지울 것을 고르는 법의 하나입니다
    learned = [[rounded(rates(s, 1.0, 100)(i)) for i in (0, 50)] for s in SCHEDULES]
    found["tuning"] = [CHOICES, TUNING_SHARE, TRAINING, learned]
    found["scores"] = scored(np.array([0.2, 0.9]), np.array([1, 1]))
    return found


def first_losses(model, data, updates=2):
    """갱신을 두 번 하며 잰 손실 셋."""
    adam, losses = keras.optimizers.Adam(0.01), []
    for step in range(updates + 1):
        inputs, answers = data.at(step)
        with tf.GradientTape() as tape:
            logits = model(inputs, training=False)
            loss = training.masked_cross_entropy(answers, logits)
        losses.append(rounded(loss))
        gradients = tape.gradient(loss, model.trainable_variables)
        adam.apply(gradients, model.trainable_variables)
    return losses


EXPERIMENT = Experiment(
    __file__, SETTINGS, PLAN, measure, probe, packages=("scikit-learn", "kiwipiepy")
)

if __name__ == "__main__":
    EXPERIMENT.main()
