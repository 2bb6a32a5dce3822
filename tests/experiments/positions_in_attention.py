"""「어텐션 안의 위치」가 읽는 것: 세 칸 앞의 토큰을 맞히도록 헤드 하나를 가르칩니다."""

import functools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.embedding import TokenEmbedding
from transformer_notes.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)

#: 쪽이 보이는 모델과 같은 설정입니다. 쪽이 이것을 읽어 씁니다.
SETTINGS = {
    "vocab_size": 16,
    "d_model": 32,
    "back": 3,
    "trained_length": 16,
    "longest": 64,
    "rate": 0.005,
    "batch_size": 100,
    "steps": 1000,
    "sentences": 20_000,
    "test_sentences": 500,
    "test_seed": 0,
    "lengths": [8, 16, 24, 32, 48, 64],
    "starts": [0, 4, 8, 16, 32, 48],
}
#: 위치를 알리는 방법과, 학습할 때 시작 위치를 섞는지.
VARIANTS = {
    "none": (None, False),
    "sinusoidal": ("sinusoidal", False),
    "learned": ("learned", False),
    "sinusoidal, any start": ("sinusoidal", True),
    "learned, any start": ("learned", True),
}
PLAN = [{"what": name, "seed": seed} for seed in range(1, 6) for name in VARIANTS]


class LookBack(keras.Model):
    """자리마다 세 칸 앞의 토큰을 맞힙니다. 어텐션 하나가 전부입니다."""

    def __init__(self, positions=None):
        super().__init__()
        d_model = SETTINGS["d_model"]
        self.embedding = TokenEmbedding(SETTINGS["vocab_size"], d_model)
        self.positions = positions
        self.query = keras.layers.Dense(d_model, use_bias=False)
        self.key = keras.layers.Dense(d_model, use_bias=False)
        self.value = keras.layers.Dense(d_model, use_bias=False)
        self.logits = keras.layers.Dense(SETTINGS["vocab_size"])

    def call(self, ids, start=0, return_weights=False):
        x = self.embedding(ids)  # (batch, length, d_model)
        if self.positions is not None:
            x = self.positions(x, position=start + tf.range(tf.shape(ids)[1]))
        output, weights = scaled_dot_product_attention(
            self.query(x), self.key(x), self.value(x)
        )
        logits = self.logits(output)  # (batch, length, vocab_size)
        return (logits, weights) if return_weights else logits


def sentences(count, length, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(SETTINGS["vocab_size"], size=(count, length), dtype=np.int32)


def build(what):
    kind, _ = VARIANTS[what]
    positions = {
        None: lambda: None,
        "sinusoidal": SinusoidalPositionalEncoding,
        "learned": lambda: LearnedPositionalEncoding(SETTINGS["longest"]),
    }[kind]()
    model = LookBack(positions)
    model(np.zeros((1, SETTINGS["trained_length"]), np.int32))
    return model, keras.optimizers.Adam(SETTINGS["rate"])


def update(model, adam, ids, start):
    """한 스텝. 앞의 세 자리에는 답이 없으므로 세지 않습니다."""
    back = SETTINGS["back"]
    with tf.GradientTape() as tape:
        logits = model(ids, start=start)[:, back:]
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(ids[:, :-back], logits)
        )
    gradients = tape.gradient(loss, model.trainable_variables)
    adam.apply(gradients, model.trainable_variables)
    return loss


@functools.cache
def compiled(what):
    """모델, 되돌릴 변수와 처음 값, 여러 스텝. 시드마다 다시 씁니다."""
    model, adam = build(what)
    adam.build(model.trainable_variables)

    @tf.function
    def several(ids, starts):
        for step in tf.range(tf.shape(ids)[0]):
            update(model, adam, ids[step], starts[step])

    return model, [(v, v.numpy()) for v in adam.variables], several


def guess(ids):
    """순서를 모르고 할 수 있는 최선: 자기 자리를 뺀 가장 흔한 토큰을 찍습니다."""
    back = SETTINGS["back"]
    one_hot = np.eye(SETTINGS["vocab_size"])[ids]
    others = one_hot.sum(axis=1, keepdims=True) - one_hot
    right = others.argmax(axis=-1)[:, back:] == ids[:, :-back]
    return round(float(right.mean()), 4)


def accuracy(model, ids, start=0):
    guesses = model(ids, start=start).numpy().argmax(axis=-1)
    back = SETTINGS["back"]
    return round(float((guesses[:, back:] == ids[:, :-back]).mean()), 4)


def terms(model, ids):
    """점수를 네 항으로 나누어, 키에 따라 얼마나 달라지는지(표준편차의 평균)."""
    x = model.embedding(ids)
    p = model.positions(tf.zeros_like(x))[:1]
    parts = {"x": x, "p": p + tf.zeros_like(x)}
    scale = np.sqrt(SETTINGS["d_model"])
    found = {}
    for first, query in parts.items():
        for second, key in parts.items():
            scores = tf.matmul(model.query(query), model.key(key), transpose_b=True)
            spread = (scores.numpy() / scale).std(axis=-1)
            found[first + second] = round(float(spread.mean()), 4)
    return found


def measure(what, seed):
    tf.config.experimental.enable_op_determinism()
    length, longest = SETTINGS["trained_length"], SETTINGS["longest"]
    train = sentences(SETTINGS["sentences"], length, seed)
    test = sentences(SETTINGS["test_sentences"], longest, SETTINGS["test_seed"])
    for start in range(longest - length + 1):  # 시험 문장의 어느 토막도 배우지 않습니다
        pieces = set(map(tuple, test[:, start : start + length].tolist()))
        assert pieces.isdisjoint(map(tuple, train.tolist()))
    model, beginning, several = compiled(what)
    keras.utils.set_random_seed(seed)
    model.set_weights(build(what)[0].get_weights())
    for variable, value in beginning:
        variable.assign(value)
    rng, steps = np.random.default_rng(seed), SETTINGS["steps"]
    rows = rng.integers(len(train), size=(steps, SETTINGS["batch_size"]))
    starts = rng.integers(longest - length + 1, size=steps)
    if not VARIANTS[what][1]:
        starts[:] = 0
    several(tf.constant(train[rows]), tf.constant(starts, tf.int32))

    by_length = {n: accuracy(model, test[:, :n]) for n in SETTINGS["lengths"]}
    pieces = test[:, :length]
    by_start = {s: accuracy(model, pieces, s) for s in SETTINGS["starts"]}
    _, weights = model(pieces, return_weights=True)
    back = SETTINGS["back"]
    three_back = np.diagonal(weights.numpy(), -back, axis1=1, axis2=2).mean()
    found = {
        "trained": by_length[length],
        "far": by_start[length],
        "longest": by_length[longest],
        "last": by_start[longest - length],
        "three_back": round(float(three_back), 4),
        "by_length": by_length,
        "by_start": by_start,
        "guess": {n: guess(test[:, :n]) for n in SETTINGS["lengths"]},
    }
    if model.positions is not None:
        found["terms"] = terms(model, pieces)
    return found


def probe():
    """갈래마다 처음 세 손실."""
    ids, found = sentences(64, SETTINGS["trained_length"], 1), {}
    for name in VARIANTS:
        keras.utils.set_random_seed(1)
        model, adam = build(name)
        losses = [float(update(model, adam, ids, step)) for step in range(3)]
        found[name] = [round(loss, 5) for loss in losses]
    return found


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
