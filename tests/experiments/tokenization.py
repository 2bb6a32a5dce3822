"""「토큰화」가 읽는 것: 큰 말뭉치에서 어절의 종류가 느는 빠르기와 서브워드가 자르는 자리.

자료 둘은 저장소에 없습니다. 폴더 하나에 담아 두고 ``TRANSFORMER_NOTES_DATA``로 알립니다.
저장된 결과를 읽거나 낡았는지 보는 데에는 자료가 필요하지 않습니다.

- ``python_docs.en-ko.tsv.gz``: 파이썬 문서의 한국어 번역(python/python-docs-ko의 가지 3.13,
  커밋 d0c58403)의 .po 파일에서 뽑은 줄마다의 (문서, 영어, 한국어). 확정된 번역만, 역할과
  강조의 표시를 지우고, 한글이나 영어 낱말이 없는 것과 똑같은 것을 뺐습니다.
- ``nsmc_raw_200k.tsv.gz``: 영화 감상평 20만 개의 줄마다의 (영화, 번호, 별점, 글).
  e9t/nsmc의 ``raw``(커밋 cc0670e8)에서 그 말뭉치의 방법대로 뽑았습니다.
"""

import functools
import gzip
import hashlib
import os
import re
import unicodedata
from pathlib import Path

import numpy as np
import tokenizers
from experiment import ROOT, Experiment
from kiwipiepy import Kiwi
from tokenizers import models, normalizers, pre_tokenizers, trainers

from transformer_notes.tokenization import SPECIAL_TOKENS, untrained

SETTINGS = {
    "docs": "python_docs.en-ko.tsv.gz",
    "reviews": "nsmc_raw_200k.tsv.gz",
    "held_out": 0.1,
    "sizes": [100, 300, 1000, 3000, 10_000, 20_000],
    "review_sizes": [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 170_000],
    "train_reviews": 30_000,
    "test_reviews": 3_000,
    "words": ["편지만", "아버지가", "학교에서는", "주인공이라는", "감독만의"],
}
METHODS = "BPE", "WordPiece", "Unigram"
VOCAB_SIZES = 4000, 8000, 16_000
SEEDS = range(1, 6)
PLAN = [
    *({"what": what, "seed": seed} for what in ("docs", "reviews") for seed in SEEDS),
    *(
        {"what": method, "vocab_size": size, "seed": seed}
        for seed in SEEDS
        for size in VOCAB_SIZES
        for method in METHODS
    ),
]
#: 자료 없이도 계산이 그대로인지 볼 글. 쪽의 문장과 같은 꼴입니다.
SAMPLE = [
    "나는 어제 책을 읽었다.",
    "동생은 편지를 썼지만 부치지 않았다.",
    "나는 어제 편지만 썼고, 책은 읽지 않았다.",
    "책을 읽고 편지를 쓰지만 신문은 읽지 않는다.",
]


# --- 자료 ----------------------------------------------------------------------------


@functools.cache
def rows(what):
    """파일의 줄을 나눈 것. 머리의 줄은 뺍니다."""
    folder = os.environ.get("TRANSFORMER_NOTES_DATA", ROOT / "build" / "data")
    text = gzip.decompress((Path(folder) / SETTINGS[what]).read_bytes()).decode()
    _, *lines = text.splitlines()
    return hashlib.sha256(text.encode()).hexdigest()[:16], [
        line.split("\t") for line in lines
    ]


def split(groups, seed):
    """문서나 영화를 통째로 가릅니다. 학습할 줄의 번호는 섞고, 시험할 것은 그대로입니다."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(sorted(set(groups)))
    test = set(names[: int(len(names) * SETTINGS["held_out"])])
    train = [i for i, name in enumerate(groups) if name not in test]
    held_out = [i for i, name in enumerate(groups) if name in test]
    assert {groups[i] for i in train}.isdisjoint(groups[i] for i in held_out)
    return [int(i) for i in rng.permutation(train)], held_out


# --- 나누기 --------------------------------------------------------------------------


def english_words(text):
    """로마자로만 된 낱말. 큰 글자와 작은 글자는 가리지 않습니다."""
    return [m[1] for m in re.finditer(r"(?<!\S)\W*([a-z]+)\W*(?!\S)", text.lower())]


def eojeols(text):
    """한글로만 된 어절의 (글, 처음, 끝). 앞뒤의 부호는 뗍니다."""
    found = re.finditer(r"(?<!\S)[^\w\s]*([가-힣]+)[^\w\s]*(?!\S)", text)
    return [(m[1], m.start(1), m.end(1)) for m in found]


@functools.cache
def kiwi():
    return Kiwi(num_workers=1)


@functools.cache
def morphemes(text):
    """어절마다의 형태소: (글과 품사, 처음)의 목록."""
    tokens = kiwi().tokenize(text)
    found = []
    for _, start, end in eojeols(text):
        inside = [t for t in tokens if start <= t.start < end]
        found.append([(f"{t.form}/{t.tag}", t.start - start) for t in inside])
    return found


def units(text, korean=True):
    """글 하나를 나눈 것들."""
    if not korean:
        return {"english": english_words(text)}
    words = [word for word, _, _ in eojeols(text)]
    return {
        "eojeol": words,
        "syllable": list("".join(words)),
        "morpheme": [name for word in morphemes(text) for name, _ in word],
    }


@functools.cache
def pieces(what):
    """줄마다 나눈 것. 감상평은 어절과 글자로만 나눕니다."""
    digest, lines = rows(what)
    if what == "docs":
        found = [units(ko) | units(en, korean=False) for _, en, ko in lines]
    else:
        words = [[word for word, _, _ in eojeols(line[3])] for line in lines]
        found = [{"eojeol": w, "syllable": list("".join(w))} for w in words]
    return digest, [line[0] for line in lines], found


def growth(what, seed):
    """글을 n개 읽었을 때의 종류와, 떼어 둔 글에서 처음 보는 것의 비율."""
    digest, groups, found = pieces(what)
    train, held_out = split(groups, seed)
    sizes = SETTINGS["sizes" if what == "docs" else "review_sizes"]
    result = {"data": digest, "kinds": {}, "running": {}, "unseen": {}}
    for name in found[0]:
        test = [piece for i in held_out for piece in found[i][name]]
        known, running, done = set(), 0, 0
        for table in ("kinds", "running", "unseen"):
            result[table][name] = {}
        for size in sizes:
            for i in train[done:size]:
                known.update(found[i][name])
                running += len(found[i][name])
            done = size
            missing = np.mean([piece not in known for piece in test])
            result["kinds"][name][str(size)] = len(known)
            result["running"][name][str(size)] = running
            result["unseen"][name][str(size)] = round(float(missing), 4)
    return result


def trained(method, texts, vocab_size):
    """세 방법의 토크나이저. 모두 NFC로 모으고 띄어쓰기와 부호에서 먼저 자릅니다."""
    special = {"special_tokens": list(SPECIAL_TOKENS), "show_progress": False}
    if method == "BPE":
        backend, make = untrained(), trainers.BpeTrainer
    elif method == "WordPiece":
        backend = tokenizers.Tokenizer(models.WordPiece(unk_token="<unk>"))
        backend.normalizer = normalizers.NFC()
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        make = trainers.WordPieceTrainer
    else:
        backend = tokenizers.Tokenizer(models.Unigram())
        backend.normalizer = untrained().normalizer
        backend.pre_tokenizer = untrained().pre_tokenizer
        make, special["unk_token"] = trainers.UnigramTrainer, "<unk>"
    backend.train_from_iterator(texts, make(vocab_size=vocab_size, **special))
    return backend


def cuts(backend, word):
    """어절 하나를 자른 자리와, 모르는 토큰의 수."""
    encoding = backend.encode(word, add_special_tokens=False)
    unknown = backend.token_to_id("<unk>")
    starts = {start for start, _ in encoding.offsets} - {0}
    return starts, encoding.ids.count(unknown)


def subwords(method, vocab_size, seed):
    """서브워드의 길이와, 자른 자리가 형태소의 경계인 비율."""
    digest, lines = rows("reviews")
    texts = [unicodedata.normalize("NFC", line[3]) for line in lines]
    train, held_out = split([line[0] for line in lines], seed)
    train = train[: SETTINGS["train_reviews"]]
    rng = np.random.default_rng(seed)
    held_out = rng.choice(held_out, SETTINGS["test_reviews"], replace=False)
    backend = trained(method, (texts[i] for i in train), vocab_size)
    return {
        "data": digest,
        "reached": backend.get_vocab_size(),
        **agreement(backend, [texts[i] for i in held_out]),
        "words": {w: backend.encode(w).tokens for w in SETTINGS["words"]},
    }


def agreement(backend, texts):
    """어절 안의 자리마다, 서브워드가 잘랐는지와 형태소의 경계인지를 견줍니다."""
    count = dict.fromkeys(("eojeols", "inside", "edges", "cuts", "both", "unknown"), 0)
    for text in texts:
        for (word, _, _), found in zip(eojeols(text), morphemes(text), strict=True):
            starts, unknown = cuts(backend, word)
            edges = {start for _, start in found} - {0}
            count["eojeols"] += 1
            count["inside"] += len(word) - 1
            count["edges"] += len(edges)
            count["cuts"] += len(starts)
            count["both"] += len(starts & edges)
            count["unknown"] += unknown
    return {
        "length": round(1 + count["cuts"] / count["eojeols"], 4),
        "precision": round(count["both"] / max(count["cuts"], 1), 4),
        "recall": round(count["both"] / count["edges"], 4),
        "base": round(count["edges"] / count["inside"], 4),
        "unknown": round(count["unknown"] / count["eojeols"], 4),
    }


def measure(what, seed, vocab_size=None):
    if what in METHODS:
        return subwords(what, vocab_size, seed)
    return growth(what, seed)


def probe():
    """작은 글을 나눈 것과, 그것으로 배운 토크나이저가 자른 자리."""
    found = {"units": [units(text) for text in SAMPLE]}
    found["english"] = english_words("I read a book, yesterday (x1) `os.path` it's.")
    found["split"] = split([f"문서 {i % 20}" for i in range(40)], seed=1)
    for method in METHODS:
        backend = trained(method, SAMPLE * 5, 45)
        found[method] = [backend.get_vocab_size(), agreement(backend, SAMPLE)]
    return found


EXPERIMENT = Experiment(
    __file__, SETTINGS, PLAN, measure, probe, packages=("kiwipiepy", "tokenizers")
)

if __name__ == "__main__":
    EXPERIMENT.main()
