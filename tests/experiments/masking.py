"""「마스크」가 읽는 것: 룩어헤드 마스크 없이 배우면 무엇을 배우는가.

쪽에서 학습하는 것과 같은 모델과 문제입니다. 시험 문장은 학습에 없습니다.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.embedding import TokenEmbedding
from transformer_notes.masking import look_ahead_mask
from transformer_notes.positional_encoding import SinusoidalPositionalEncoding

SETTINGS = {
    "days": 7,
    "given": 4,
    "length": 8,
    "d_model": 64,
    "training_sentences": 1_000,
    "test_sentences": 200,
    "batch": 50,
    "learning_rate": 0.005,
    "epochs": 30,
}
MASKS = ("look_ahead", "none", "flipped")
PLAN = [
    {"what": "leak", "mask": mask, "seed": seed} for seed in range(8) for mask in MASKS
]


def visible(mask, length):
    if mask == "none":
        return tf.ones((1, length, length), tf.bool)
    look = look_ahead_mask(length)[0]
    return look if mask == "look_ahead" else ~look


class NextDay(keras.Model):
    def __init__(self, mask):
        super().__init__()
        days, d_model = SETTINGS["days"], SETTINGS["d_model"]
        self.mask = mask
        self.embedding = TokenEmbedding(days, d_model)
        self.positions = SinusoidalPositionalEncoding()
        self.query, self.key, self.value = (
            keras.layers.Dense(d_model) for _ in range(3)
        )
        self.scores = keras.layers.Dense(days)

    def call(self, ids):
        x = self.positions(self.embedding(ids))  # (batch, length, d_model)
        query, key, value = self.query(x), self.key(x), self.value(x)
        seen = visible(self.mask, tf.shape(ids)[1])
        output, _ = scaled_dot_product_attention(query, key, value, seen)
        return self.scores(output)


def sentences(seed):
    """요일 넷을 고르고, 저마다의 다음 날을 이은 문장: 학습할 것과 시험할 것."""
    days, given = SETTINGS["days"], SETTINGS["given"]
    learned, tests = SETTINGS["training_sentences"], SETTINGS["test_sentences"]
    chosen = np.indices((days,) * given).reshape(given, -1).T  # (2401, 4), 모두 다름
    rows = np.random.default_rng(seed).permutation(len(chosen))[: learned + tests]
    whole = np.concatenate([chosen[rows], (chosen[rows] + 1) % days], axis=1)
    return np.split(whole, [learned])


def train(model, ids, epochs, seed):
    batch = SETTINGS["batch"]
    model(ids[:1, :-1])
    adam = keras.optimizers.Adam(SETTINGS["learning_rate"])
    adam.build(model.trainable_variables)

    @tf.function
    def epoch(ids):
        total = 0.0
        for start in tf.range(0, len(ids), batch):
            rows = ids[start : start + batch]
            with tf.GradientTape() as tape:
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    rows[:, 1:], model(rows[:, :-1])
                )
                loss = tf.reduce_mean(loss)
            slopes = tape.gradient(loss, model.trainable_variables)
            adam.apply(slopes, model.trainable_variables)
            total += loss
        return total * batch / tf.cast(len(ids), tf.float32)

    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        yield float(epoch(tf.constant(rng.permutation(ids))))


def scores(model, ids):
    """정답을 넣고 잰 정답률과 스스로 이어 쓴 정답률."""
    given = SETTINGS["given"]
    forced = model(ids[:, :-1]).numpy().argmax(axis=-1) == ids[:, 1:]
    made = ids[:, :given]
    for _ in range(ids.shape[1] - given):
        made = np.append(made, model(made).numpy()[:, -1:].argmax(axis=-1), axis=1)
    parts = {
        "unknowable": forced[:, : given - 1],
        "knowable": forced[:, given - 1 : -1],
        "last": forced[:, -1],
        "made": (made == ids)[:, given:],
    }
    return {name: round(float(part.mean()), 4) for name, part in parts.items()}


def measure(what, mask, seed):
    keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)
    learned, tests = sentences(seed)
    assert not {*map(tuple, learned)} & {*map(tuple, tests)}
    model = NextDay(mask)
    losses = list(train(model, learned, SETTINGS["epochs"], seed))
    return {**scores(model, tests), "loss": round(losses[-1], 4)}


def probe():
    learned, _ = sentences(0)
    found = {}
    for mask in MASKS:
        keras.utils.set_random_seed(0)
        losses = train(NextDay(mask), learned[:90], 3, 0)
        found[mask] = [round(loss, 5) for loss in losses]
    return found


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
