"""「위치별 피드포워드 신경망」이 읽는 것: 두 성분을 따지는 일을 누가 배우는가.

같은 문장을 두 토큰으로(`tokens`), 두 토큰을 평균한 벡터 하나로(`vector`), 그 벡터와
언제나 같은 토큰 하나로(`beside`) 넣고, 몸통만 바꾸어 똑같이 학습합니다.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.feed_forward import PositionwiseFeedForward
from transformer_notes.multi_head_attention import MultiHeadAttention

SETTINGS = {
    "noise": 0.35,
    "training_problems": 6_400,
    "test_problems": 2_000,
    "batch": 64,
    "epochs": 20,
    "learning_rate": 0.01,
    "d_ff": 8,
    "widths": [1, 2, 4, 8],
    "width_d_model": 64,
    "width_inputs": 50,
}
BODIES = {
    "attention": ["attend", "attend"],
    "one_attention": ["attend"],
    "feed_forward": ["feed_forward"],
    "linear": ["linear"],
    "both": ["attend", "feed_forward"],
}
LEARNED = [
    ("tokens", "one_attention"),
    ("tokens", "attention"),
    ("tokens", "feed_forward"),
    ("tokens", "both"),
    ("vector", "attention"),
    ("vector", "feed_forward"),
    ("vector", "linear"),
    ("beside", "attention"),
]
SEEDS = range(1, 6)
PLAN = [
    {"what": what, "body": body, "seed": seed}
    for seed in SEEDS
    for what, body in LEARNED
]
PLAN += [{"what": "rank", "seed": seed} for seed in SEEDS]


def problems(what, count, seed):
    """잡음을 섞은 문장과, 때와 시제가 어긋났으면 1인 답."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=(count, 2))
    tokens = 2 * np.eye(2) * signs[:, np.newaxis]  # (count, 2, 2): (±2, 0), (0, ±2)
    tokens = tokens + rng.normal(0, SETTINGS["noise"], size=tokens.shape)
    answers = signs.prod(axis=1) < 0
    if what != "tokens":
        tokens = tokens.mean(axis=1, keepdims=True)  # 고르게 본 어텐션의 출력
    if what == "beside":
        always = np.full_like(tokens, [0.5, -0.5])
        tokens = np.concatenate([always, tokens], axis=1)
    return np.float32(tokens), np.float32(answers)


def build(body, seed):
    """몸통의 층마다 잔차로 감싼 모델. 마지막 자리에서 점수를 읽습니다."""
    keras.utils.set_random_seed(seed)
    outputs = inputs = keras.Input((None, 2))
    for kind in BODIES[body]:
        if kind == "attend":
            changed = MultiHeadAttention(2, 1)(outputs, outputs, outputs)
        elif kind == "feed_forward":
            changed = PositionwiseFeedForward(2, SETTINGS["d_ff"])(outputs)
        else:
            changed = keras.layers.Dense(SETTINGS["d_ff"])(outputs)
            changed = keras.layers.Dense(2)(changed)
        outputs = outputs + changed
    return keras.Model(inputs, keras.layers.Dense(1)(outputs)[:, -1, 0])


def train(model, inputs, answers, epochs, seed):
    """에폭마다의 평균 손실."""
    batch = SETTINGS["batch"]
    adam = keras.optimizers.Adam(SETTINGS["learning_rate"])
    adam.build(model.trainable_variables)
    bce = keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def epoch(inputs, answers):
        total = 0.0
        for start in tf.range(0, len(answers), batch):
            rows = slice(start, start + batch)
            with tf.GradientTape() as tape:
                loss = bce(answers[rows], model(inputs[rows]))
            slopes = tape.gradient(loss, model.trainable_variables)
            adam.apply(slopes, model.trainable_variables)
            total += loss
        return total * batch / tf.cast(len(answers), tf.float32)

    rng, losses = np.random.default_rng(seed), []
    for _ in range(epochs):
        rows = rng.permutation(len(answers))
        losses.append(float(epoch(tf.constant(inputs[rows]), answers[rows])))
    return losses


def accuracy(model, inputs, answers):
    return float(np.mean((model(inputs).numpy() > 0) == answers))


def ranks(seed):
    """켜진 유닛만 남긴 행렬의 랭크. 입력과 가중치를 여러 번 뽑아 평균합니다."""
    rng, found = np.random.default_rng(seed), {}
    size = SETTINGS["width_d_model"]
    for times in SETTINGS["widths"]:
        got = []
        for _ in range(SETTINGS["width_inputs"]):
            into = rng.normal(size=(size, times * size))
            back = rng.normal(size=(times * size, size))
            on = rng.normal(size=size) @ into > 0
            got.append(np.linalg.matrix_rank(into[:, on] @ back[on]))
        found[f"rank_{times}"] = round(float(np.mean(got)), 3)
        found[f"full_{times}"] = float(np.mean(np.equal(got, size)))
    return found


def measure(what, seed, body=None):
    if what == "rank":
        return ranks(seed)
    keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    inputs, answers = problems(what, SETTINGS["training_problems"], seed)
    test_inputs, test_answers = problems(what, SETTINGS["test_problems"], 1000 + seed)
    both = np.concatenate([inputs, test_inputs])
    assert len(np.unique(both, axis=0)) == len(both)  # 시험 문제는 학습에 없습니다
    model = build(body, seed)
    losses = train(model, inputs, answers, SETTINGS["epochs"], seed)
    return {
        "parameters": model.count_params(),
        "loss_halfway": round(losses[SETTINGS["epochs"] // 2 - 1], 4),
        "loss": round(losses[-1], 4),
        "accuracy": round(accuracy(model, test_inputs, test_answers), 4),
    }


def probe():
    """몸통마다 학습하기 전과 조금 배운 뒤의 손실, 랭크를 세는 첫 값."""
    found = {"rank": ranks(1)["rank_1"]}
    for what in ("tokens", "vector", "beside"):
        inputs, answers = problems(what, 2 * SETTINGS["batch"], 1)
        found[what] = {
            body: [
                round(loss, 5) for loss in train(build(body, 1), inputs, answers, 2, 1)
            ]
            for kind, body in LEARNED
            if kind == what
        }
    return found


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
