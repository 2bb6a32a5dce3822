"""「멀티 헤드 어텐션」이 읽는 것: 헤드 하나와 둘이 두 답을 함께 배우는가.

쪽에서 학습하는 것과 같은 모델과 문제입니다. 쪽만큼 배웠을 때와, 더 배워도 그대로일
때까지 배웠을 때를 잽니다.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.embedding import TokenEmbedding
from transformer_notes.multi_head_attention import MultiHeadAttention
from transformer_notes.positional_encoding import SinusoidalPositionalEncoding

SETTINGS = {
    "words": 8,
    "length": 6,
    "d_model": 16,
    "training_sentences": 2_000,
    "test_sentences": 500,
    "batch": 64,
    "learning_rate": 0.02,
    "short_epochs": 5,
    "long_epochs": 40,
}
PLAN = [
    {"what": "heads", "num_heads": num_heads, "seed": seed}
    for seed in range(8)
    for num_heads in (1, 2)
]


def sentences(seed):
    """학습 문장과, 학습에 없는 시험 문장."""
    rng, shape = np.random.default_rng(seed), (SETTINGS["length"],)
    ids = rng.integers(SETTINGS["words"], size=(SETTINGS["training_sentences"], *shape))
    seen, tests = set(map(tuple, ids)), []
    while len(tests) < SETTINGS["test_sentences"]:
        sentence = tuple(rng.integers(SETTINGS["words"], size=shape))
        if sentence not in seen:
            tests.append(sentence)
    tests = np.array(tests)
    assert not seen & set(map(tuple, tests))
    return ids, tests


def build(num_heads, seed):
    """로짓 (batch, length − 1, 2, words)와 가중치를 내는 모델."""
    keras.utils.set_random_seed(seed)
    words = SETTINGS["words"]
    ids = keras.Input((None,), dtype="int32")
    x = TokenEmbedding(words, SETTINGS["d_model"])(ids)
    x = SinusoidalPositionalEncoding()(x)
    attend = MultiHeadAttention(SETTINGS["d_model"], num_heads)
    output, weights, _ = attend(x, x, x, return_weights=True)
    output = output[:, 1:]
    previous, first = keras.layers.Dense(words), keras.layers.Dense(words)
    logits = keras.ops.stack([previous(output), first(output)], axis=2)
    return keras.Model(ids, [logits, weights])


def right_answers(ids):
    first = np.broadcast_to(ids[:, :1], ids[:, 1:].shape)
    return np.stack([ids[:, :-1], first], axis=2)  # (batch, length − 1, 2)


def train(model, ids, seed, epochs):
    """에폭마다의 손실을 하나씩 냅니다."""
    batch = SETTINGS["batch"]
    adam = keras.optimizers.Adam(SETTINGS["learning_rate"])
    adam.build(model.trainable_variables)

    @tf.function
    def epoch(ids, answers):
        total = 0.0
        for start in tf.range(0, len(ids), batch):
            rows = slice(start, start + batch)
            with tf.GradientTape() as tape:
                logits, _ = model(ids[rows])
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    answers[rows], logits
                )
                loss = 2 * tf.reduce_mean(loss)  # 두 답의 손실의 합
            slopes = tape.gradient(loss, model.trainable_variables)
            adam.apply(slopes, model.trainable_variables)
            total += loss
        return total * batch / tf.cast(len(ids), tf.float32)

    rng, answers = np.random.default_rng(seed), right_answers(ids)
    for _ in range(epochs):
        rows = rng.permutation(len(ids))
        yield float(epoch(tf.constant(ids[rows]), tf.constant(answers[rows])))


def accuracy(model, ids):
    right = model(ids)[0].numpy().argmax(axis=-1) == right_answers(ids)
    previous, first = right.mean(axis=(0, 1))
    return {"previous": round(float(previous), 4), "first": round(float(first), 4)}


def looks(model, ids):
    """헤드마다 자리 2부터의 바로 앞과 첫 토큰을 보는 가중치."""
    weights = model(ids)[1].numpy()
    places = np.arange(2, SETTINGS["length"])
    back = weights[:, :, places, places - 1].mean(axis=(0, 2))
    first = weights[:, :, places, 0].mean(axis=(0, 2))
    return {"to_previous": back.round(3).tolist(), "to_first": first.round(3).tolist()}


def measure(what, num_heads, seed):
    keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    ids, tests = sentences(seed)
    model, found = build(num_heads, seed), {}
    losses = []
    for loss in train(model, ids, seed, SETTINGS["long_epochs"]):
        losses.append(loss)
        if len(losses) == SETTINGS["short_epochs"]:
            short = accuracy(model, tests)
            found["short"] = min(short.values())
            found |= {f"short_{name}": value for name, value in short.items()}
            found |= looks(model, tests)
    end = accuracy(model, tests)
    found["long"] = min(end.values())
    found |= {f"long_{name}": value for name, value in end.items()}
    found["loss_halfway"] = round(losses[len(losses) // 2 - 1], 4)
    return {**found, "loss": round(losses[-1], 4)}


def probe():
    ids, _ = sentences(0)
    ids = ids[: 2 * SETTINGS["batch"]]
    return {
        f"heads_{n}": [round(loss, 5) for loss in train(build(n, 0), ids, 0, 3)]
        for n in (1, 2)
    }


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
