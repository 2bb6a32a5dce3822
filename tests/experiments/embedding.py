"""「토큰 임베딩」이 읽는 것: 표의 초깃값과 배율을 바꾸며 자리의 토큰을 알아맞힙니다."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.positional_encoding import sinusoidal_encoding

SETTINGS = {
    "vocab_size": 500,
    "d_model": 128,
    "length": 20,
    "batch_size": 32,
    "steps": 300,
    "every": 10,
}
#: 표의 표준편차와 곱하는 수를 d_model의 거듭제곱으로 적은 것.
VARIANTS = {
    "narrow_multiplied": (-0.5, 0.5),
    "narrow_plain": (-0.5, 0.0),
    "narrow_divided": (-0.5, -0.5),
    "wide_plain": (0.0, 0.0),
    "wide_multiplied": (0.0, 0.5),
}
RATES = 0.001, 0.003
PLAN = [
    {"what": what, "rate": rate, "seed": seed}
    for seed in range(1, 6)
    for rate in RATES
    for what in VARIANTS
]


def losses(what, rate, seed, steps):
    """스텝마다 새로 뽑은 배치의 손실. 그 배치로 배우기 전에 잽니다."""
    keras.utils.set_random_seed(seed)
    start, scale = VARIANTS[what]
    vocab_size, d_model = SETTINGS["vocab_size"], SETTINGS["d_model"]
    table = keras.Variable(
        keras.random.normal((vocab_size, d_model), stddev=d_model**start)
    )
    normalize = keras.layers.LayerNormalization(epsilon=1e-5)
    classify = keras.layers.Dense(vocab_size, use_bias=False)
    position = sinusoidal_encoding(SETTINGS["length"], d_model)

    def logits_of(ids):
        embedded = tf.gather(table.value, ids) * d_model**scale
        return classify(normalize(embedded + position))

    logits_of(tf.zeros((1, SETTINGS["length"]), tf.int32))
    weights = [table, *normalize.weights, *classify.weights]
    optimizer = keras.optimizers.Adam(rate)
    optimizer.build(weights)

    @tf.function(autograph=False)
    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(ids, logits_of(ids))
            )
        gradients = tape.gradient(loss, [weight.value for weight in weights])
        optimizer.apply(gradients, weights)
        return loss

    rng = np.random.default_rng(seed)
    shape = SETTINGS["batch_size"], SETTINGS["length"]
    batches = (rng.integers(vocab_size, size=shape) for _ in range(steps))
    return [float(step(tf.constant(ids, tf.int32))) for ids in batches]


def measure(what, rate, seed):
    found = losses(what, rate, seed, SETTINGS["steps"])
    curve = found[:: SETTINGS["every"]] + found[-1:]
    return {"last": round(found[-1], 4), "losses": [round(loss, 3) for loss in curve]}


def probe():
    """갈래마다 처음 세 손실."""
    return {
        what: [round(loss, 5) for loss in losses(what, 0.001, 1, 3)]
        for what in VARIANTS
    }


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
