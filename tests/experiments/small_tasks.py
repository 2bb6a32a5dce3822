"""작은 과제 둘. 모델의 부품을 여러 시드로 견주는 프로그램들이 함께 씁니다.

- `dates`: 한국어 날짜를 ISO 8601로. 떼어 둔 날에서 채점합니다.
- `translation`: 파이썬 문서의 짧은 문장을 영어에서 한국어로. 떼어 둔 모듈에서
  채점합니다. 자료를 두는 곳은 `translation.py`와 같습니다.

어휘 집합은 떼어 둔 것을 뺀 뒤에, 학습할 글에서만 배웁니다. 모델은 무엇이든
`model((source_ids, target_ids), training=...)`이 (batch, length_t, vocab_size)의 로짓을
내고 `model.config.d_model`이 있으면 됩니다.
"""

import dataclasses
import functools
import os
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import dates as date_reading
import keras
import tensorflow as tf
import translation as documents

from transformer_notes import corpora, training
from transformer_notes.tokenization import Tokenizer

#: 프로그램은 이것을 제 설정에 담습니다.
SETTINGS = {
    "dates": {
        "split_seed": date_reading.SETTINGS["split_seed"],
        "pairs": 10_000,
        "epochs": 3,
        "tokens": 1024,
        "warmup_steps": 200,
        "tests_per_form": 200,
    },
    "translation": {
        "split_seed": documents.SETTINGS["split_seed"],
        "vocab_size": 2000,
        "longest": 32,
        "epochs": 1,
        "tokens": 512,
        "warmup_steps": 400,
    },
    # 6.1절처럼, 끝의 체크포인트 몇 개를 평균한 모델을 채점합니다.
    "saves": 20,
    "averaged": 5,
}


@dataclasses.dataclass(frozen=True)
class Task:
    """과제 하나. 입력과 정답은 어휘 집합을 함께 쓰고, 입력도 `<eos>`로 끝납니다."""

    #: 과제의 이름. `SETTINGS`의 것입니다.
    name: str
    tokenizer: Tokenizer
    #: 학습할 배치.
    train: training.Batches
    #: 채점할 배치. 학습할 것과 겹치지 않습니다.
    held_out: training.Batches

    @property
    def vocab_size(self):
        return self.tokenizer.vocab_size

    def score(self, model):
        """떼어 둔 것에서의 토큰당 손실, 맞힌 토큰의 비율, 모두 맞힌 답의 비율.

        답을 넣어 주고 잽니다. 앞이 모두 맞아야 다음도 맞으므로, 마지막 비율은 그리디의
        완전 일치와 같습니다.
        """
        ids = tf.TensorSpec((None, None), tf.int32)

        @tf.function(input_signature=[((ids, ids), ids)])
        def sums(batch):
            inputs, labels = batch
            logits = model(inputs, training=False)
            losses, real = training.token_losses(labels, logits)
            hits, _ = training.token_hits(labels, logits)
            whole = tf.reduce_all(hits == real, axis=1)
            return [
                tf.reduce_sum(losses),
                tf.reduce_sum(hits),
                tf.reduce_sum(real),
                tf.reduce_sum(tf.cast(whole, tf.float32)),
                tf.cast(len(labels), tf.float32),
            ]

        found = [[float(x) for x in sums(batch)] for batch in self.held_out.epoch()]
        loss, hits, real, whole, rows = map(sum, zip(*found))
        return {
            "loss": round(loss / real, 5),
            "accuracy": round(hits / real, 5),
            "exact": round(whole / rows, 5),
        }


def dates(seed):
    """날짜 읽기. 시드는 학습할 글과 배치의 순서를 정하고, 채점할 글은 늘 같습니다."""
    own = SETTINGS["dates"]
    tokenizer, train = date_reading.prepare(
        own["pairs"], seed, own["tokens"], source_eos=True
    )
    _, days = corpora.split_days(seed=own["split_seed"])
    pairs = [
        pair
        for form in corpora.DATE_FORMS
        for pair in corpora.dates(own["tests_per_form"], 1, days, [form])
    ]
    texts, answers = zip(*pairs)
    rows = zip(
        tokenizer.encode(texts, eos=True),
        tokenizer.encode(answers, bos=True, eos=True),
    )
    return Task("dates", tokenizer, train, training.Batches(rows, 8192))


def translation(seed):
    """짧은 문장의 번역. 시드는 배치의 순서만 정합니다."""
    return _translation(seed, *_sentences())


@functools.cache
def _sentences():
    corpus = documents.python_docs()
    return corpus.train, corpus.test


def _translation(seed, train, test):
    own = SETTINGS["translation"]
    tokenizer, learned, held_out = _encoded(tuple(train), tuple(test))
    return Task(
        "translation",
        tokenizer,
        training.Batches(learned, own["tokens"], seed),
        training.Batches(held_out, 4 * own["tokens"]),
    )


@functools.cache
def _encoded(*sides):
    """학습할 문장에서 배운 토크나이저와, 두 쪽의 번호. 긴 문장은 뺍니다."""
    own = SETTINGS["translation"]
    texts = [text for pair in sides[0] for text in (pair.source, pair.target)]
    texts = [documents.JOINT.sub(" ", text) for text in texts]
    tokenizer = Tokenizer.train(texts, own["vocab_size"])

    def rows(pairs):
        encoded = (
            (
                tokenizer.encode(pair.source, eos=True),
                tokenizer.encode(pair.target, bos=True, eos=True),
            )
            for pair in pairs
        )
        return [row for row in encoded if max(map(len, row)) <= own["longest"]]

    return tokenizer, *map(rows, sides)


TASKS = {"dates": dates, "translation": translation}


def start_anew(seed):
    keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)


def learn(build, task, seed, label_smoothing=0.1, longer=1):
    """논문의 손실, 스케줄, Adam으로 배우고, 끝의 체크포인트를 평균하여 채점합니다.

    Args:
        build: 과제를 받아 모델을 만드는 함수. 시드를 심은 뒤에 부릅니다.
        task: `dates(seed)`나 `translation(seed)`.
        seed: 모델과 드롭아웃의 시드.
        label_smoothing: 학습 손실의 ε.
        longer: 에폭의 수에 곱할 수.

    Returns:
        결과의 사전. 손실과 비율은 떼어 둔 것에서 잽니다.
    """
    start_anew(seed)
    model, own = build(task), SETTINGS[task.name]
    epochs = longer * own["epochs"]
    steps = epochs * len(task.train)
    with tempfile.TemporaryDirectory() as folder:
        start, processor_start = time.perf_counter(), time.process_time()
        history = training.train(
            model,
            task.train,
            epochs,
            folder,
            optimizer=training.adam(model.config.d_model, own["warmup_steps"]),
            label_smoothing=label_smoothing,
            save_every=max(1, steps // SETTINGS["saves"]),
            keep=SETTINGS["averaged"],
            progress=False,
        )
        seconds = time.perf_counter() - start
        processor_seconds = time.process_time() - processor_start
        model.set_weights(training.average_checkpoints(folder, SETTINGS["averaged"]))
    return {
        "parameters": model.count_params(),
        "steps": steps,
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor_seconds, 1),
        "train_loss": round(history[-1]["loss"], 5),
        **task.score(model),
    }


# --- 견줄 값 -------------------------------------------------------------------------


@functools.cache
def tiny(name):
    """자료 없이도 계산이 그대로인지 볼, 같은 길로 만든 아주 작은 과제."""
    if name == "dates":
        tokenizer, train = date_reading.prepare(
            200, 1, SETTINGS["dates"]["tokens"], source_eos=True
        )
        return Task("dates", tokenizer, train, train)
    pairs = [
        corpora.DocumentedPair(*pair, "bugs")
        for texts in documents.SAMPLE
        for pair in documents.sentence_pairs(*map(documents.clean_markup, texts))
    ]
    return _translation(1, pairs * 3, pairs)


def first_losses(build, name, label_smoothing=0.1, updates=2):
    """`tiny`에서 갱신을 두 번 하며 잰 손실 셋. 그래프를 만들지 않아 빠릅니다."""
    task = tiny(name)
    keras.utils.set_random_seed(1)
    model, losses = build(task), []
    inputs, labels = task.train.at(0)
    model(inputs)
    optimizer = training.adam(model.config.d_model, SETTINGS[name]["warmup_steps"])
    for _ in range(updates + 1):
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            loss = training.masked_cross_entropy(labels, logits, label_smoothing)
        losses.append(round(float(loss), 5))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
    return losses
