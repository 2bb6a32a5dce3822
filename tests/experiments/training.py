"""「학습」이 읽는 것: 학습률을 정하는 방법마다 얼마나 배우는지 견줍니다.

문제는 쪽에서처럼 토큰을 거꾸로 적는 것입니다. 한 시드의 갈래들은 데이터, 초깃값,
드롭아웃이 같고 학습률만 다릅니다. 시험하는 입력은 학습한 입력에 없습니다. 모든 갈래를
처음 스텝들에서 견주고, `LONG`의 갈래는 끝까지 학습합니다.
"""

import functools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.training import (
    Batches,
    WarmupSchedule,
    masked_accuracy,
    masked_cross_entropy,
)
from transformer_notes.transformer import Transformer, TransformerConfig

#: 쪽에서 학습하는 것과 같은 모델과 데이터입니다.
MODEL = {"d_model": 32, "num_heads": 2, "d_ff": 64, "num_layers": 1, "dropout": 0.1}
SETTINGS = {
    "model": {"vocab_size": 16, **MODEL},
    "pairs": 2000,
    "tests": 500,
    "tokens": 256,
    "label_smoothing": 0.1,
    "warmup_steps": 40,
    "scores_at": [80, 250],
    "long_scores_at": [80, 250, 750, 1500],
    "averaged": {"models": 5, "every": 50},
}
RATES = [0.0001, 0.0003, 0.001, 0.003, 0.01]
PEAK = (MODEL["d_model"] * SETTINGS["warmup_steps"]) ** -0.5
#: 갈래마다의 학습률. warm_hold는 스케줄처럼 오른 뒤 꼭대기에 머뭅니다.
VARIANTS = {
    "schedule": WarmupSchedule(MODEL["d_model"], SETTINGS["warmup_steps"]),
    "schedule_160": WarmupSchedule(MODEL["d_model"], 160),
    "warm_hold": lambda step: PEAK * min(1, step / SETTINGS["warmup_steps"]),
    "constant_peak": lambda step: PEAK,
    **{f"constant_{rate:g}": lambda step, rate=rate: rate for rate in RATES},
}
LONG = ["schedule", "schedule_160", "constant_0.003"]
PLAN = [{"what": name, "seed": seed} for seed in range(1, 6) for name in VARIANTS]


def reversals(count, seed):
    """서로 다른 입력 count개와, 그것을 거꾸로 적은 정답."""
    rng, sources = np.random.default_rng(seed), {}
    while len(sources) < count:
        sources[tuple(rng.integers(4, 16, rng.integers(3, 8)).tolist())] = None
    return [(source, [2, *source[::-1], 3]) for source in sources]


def prepare(seed):
    """학습할 배치들과 시험할 배치 하나. 입력이 겹치지 않습니다."""
    pairs = reversals(SETTINGS["pairs"] + SETTINGS["tests"], seed)
    learned, tests = pairs[: SETTINGS["pairs"]], pairs[SETTINGS["pairs"] :]
    assert not {source for source, _ in learned} & {source for source, _ in tests}
    return Batches(learned, SETTINGS["tokens"], seed), Batches(tests, 10_000).at(0)


def build():
    model = Transformer(TransformerConfig(**SETTINGS["model"]))
    model.build()
    optimizer = keras.optimizers.Adam(beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    optimizer.build(model.trainable_variables)
    return model, optimizer


@functools.cache
def learner():
    """그래프는 한 번만 만듭니다."""
    model, optimizer = build()
    ids = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[((ids, ids), ids)])
    def update(batch):
        inputs, labels = batch
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            smoothing = SETTINGS["label_smoothing"]
            loss = masked_cross_entropy(labels, logits, smoothing)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    return model, optimizer, update


def begin(seed):
    """모델과 옵티마이저를 시드의 처음 상태로 되돌립니다."""
    model, optimizer, update = learner()
    keras.utils.set_random_seed(seed)
    for kept, fresh in zip((model, optimizer), build()):
        for variable, value in zip(kept.variables, fresh.variables, strict=True):
            variable.assign(value)
    return model, optimizer, update


def score(model, tests):
    """시험에서의 손실(스무딩 없이)과 정확도."""
    inputs, labels = tests
    logits = model(inputs)
    loss = float(masked_cross_entropy(labels, logits))
    return round(loss, 5), round(float(masked_accuracy(labels, logits)), 5)


def learn(what, seed, steps, after=lambda model, step: None):
    """학습하고 스텝마다의 손실을 돌려줍니다."""
    data, _ = prepare(seed)
    model, optimizer, update = begin(seed)
    losses = []
    for step in range(1, steps + 1):
        optimizer.learning_rate.assign(VARIANTS[what](step))
        losses.append(float(update(data.at(step - 1))))
        after(model, step)
    return losses


def measure(what, seed):
    tf.config.experimental.enable_op_determinism()
    _, tests = prepare(seed)
    marks = SETTINGS["long_scores_at" if what in LONG else "scores_at"]
    models, every = SETTINGS["averaged"].values()
    scores, kept = {}, []

    def after(model, step):
        if step in marks:
            scores[step] = score(model, tests)
        if (marks[-1] - step) % every == 0:
            kept.append(model.get_weights())

    losses = learn(what, seed, marks[-1], after)
    found = {}
    for step, (loss, accuracy) in scores.items():
        last = round(float(np.mean(losses[step - 10 : step])), 5)
        found |= {f"train_{step}": last, f"loss_{step}": loss}
        found |= {f"accuracy_{step}": accuracy}
    if what in LONG:
        model, *_ = learner()
        means = [np.mean(weights, axis=0) for weights in zip(*kept[-models:])]
        model.set_weights(means)
        loss, accuracy = score(model, tests)
        found |= {"averaged_loss": loss, "averaged_accuracy": accuracy}
    return found


def probe():
    """갈래마다 첫 학습률들과 처음 세 손실. 그래프를 만들지 않아도 될 만큼 짧습니다."""
    return {
        name: {
            "rates": [round(float(rate(step)), 7) for step in (1, 40, 160, 1500)],
            "first_losses": [round(loss, 4) for loss in learn(name, 1, 3)],
        }
        for name, rate in VARIANTS.items()
    }


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
