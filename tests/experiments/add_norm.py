"""「잔차 연결과 층 정규화」가 읽는 것: 감싸는 방법마다 배울 수 있는가.

무작위 낱말 여섯 개의 자리마다 바로 앞 낱말을 맞힙니다. 블록의 가중치, 자료, 학습률은
같고 감싸는 방법만 다릅니다. 맨 위는 어느 쪽이나 한 번 정규화합니다.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.add_norm import AddAndNorm
from transformer_notes.embedding import TokenEmbedding
from transformer_notes.feed_forward import PositionwiseFeedForward
from transformer_notes.multi_head_attention import MultiHeadAttention
from transformer_notes.positional_encoding import SinusoidalPositionalEncoding

SETTINGS = {
    "words": 8,
    "length": 6,
    "d_model": 32,
    "num_heads": 4,
    "d_ff": 64,
    "test_sentences": 500,
    "batch": 64,
    "steps": 1_200,
    "warmup_steps": 200,
    "learning_rate": 0.001,
    "most_blocks": 6,
}
WRAPS = ["plain", "norm_only", "residual_only", "post_norm", "pre_norm"]
DEEP = SETTINGS["most_blocks"]
#: 학습하지 않고 재는 것. 쪽의 그림과 같습니다.
UNTRAINED = {"blocks": 24, "d_model": 64, "num_heads": 4, "d_ff": 256, "length": 4}
PLAN = [
    {"what": what, "blocks": blocks, "seed": seed}
    for seed in range(1, 6)
    for what, blocks in (("norm_only", 1), ("norm_only", DEEP), ("post_norm", DEEP))
]
PLAN += [{"what": "untrained", "seed": seed} for seed in range(1, 6)]


class Stack(keras.Model):
    def __init__(self, what, blocks):
        super().__init__()
        d_model = SETTINGS["d_model"]
        self.what = what
        self.embedding = TokenEmbedding(SETTINGS["words"], d_model)
        self.positions = SinusoidalPositionalEncoding()
        self.sublayers, self.norms = [], []
        for _ in range(blocks):
            heads = SETTINGS["num_heads"]
            self.sublayers += [
                MultiHeadAttention(d_model, heads, use_bias=False),
                PositionwiseFeedForward(d_model, SETTINGS["d_ff"]),
            ]
        for _ in self.sublayers:
            self.norms.append(AddAndNorm(norm_first=what == "pre_norm"))
        self.top = keras.layers.LayerNormalization(epsilon=1e-5)
        self.answer = keras.layers.Dense(SETTINGS["words"])

    def build(self, ids_shape):
        self.built = True  # 층은 처음 부를 때 저마다 만들어집니다

    def call(self, ids):
        x = self.positions(self.embedding(ids))
        for layer, add_norm in zip(self.sublayers, self.norms):
            attends = isinstance(layer, MultiHeadAttention)

            def sublayer(x, layer=layer, attends=attends):
                return layer(x, x, x) if attends else layer(x)

            if self.what in ("post_norm", "pre_norm"):
                x = add_norm(x, sublayer)
            elif self.what == "residual_only":
                x = x + sublayer(x)
            elif self.what == "norm_only":
                if not add_norm.built:
                    add_norm.build(x.shape)
                x = add_norm.norm(sublayer(x))
            else:
                x = sublayer(x)
        return self.answer(self.top(x))[:, 1:]


def draw(rng, count):
    return rng.integers(SETTINGS["words"], size=(count, SETTINGS["length"]))


def train(what, blocks, ids, seed):
    """학습한 모델과 스텝마다의 손실. `ids`는 (steps, batch, length)입니다."""
    keras.utils.set_random_seed(seed)
    model = Stack(what, blocks)
    model(ids[0])
    rate = SETTINGS["learning_rate"]
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0, 10**6, warmup_target=rate, warmup_steps=SETTINGS["warmup_steps"]
    )  # 웜업 뒤에는 거의 상수
    adam = keras.optimizers.Adam(schedule)
    adam.build(model.trainable_variables)

    @tf.function
    def run(ids):
        losses = tf.TensorArray(tf.float32, len(ids))
        for step in tf.range(len(ids)):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(
                        ids[step][:, :-1], model(ids[step])
                    )
                )
            slopes = tape.gradient(loss, model.trainable_variables)
            pairs = zip(slopes, model.trainable_variables)
            slopes = [tf.zeros_like(v) if g is None else g for g, v in pairs]
            adam.apply(slopes, model.trainable_variables)
            losses = losses.write(step, loss)
        return losses.stack()

    return model, run(tf.constant(ids)).numpy()


def wrapped(what, x, sublayer):
    """하위 층 하나를 감쌉니다. 배울 것이 없으므로 γ는 1, β는 0입니다."""
    normalize = keras.layers.LayerNormalization(epsilon=1e-5)
    if what in ("post_norm", "pre_norm"):
        return AddAndNorm(norm_first=what == "pre_norm")(x, sublayer)
    changed = normalize(sublayer(x)) if what == "norm_only" else sublayer(x)
    return x + changed if what == "residual_only" else changed


def untrained(seed, blocks):
    """감싸는 방법마다 맨 아래와 맨 위의 기울기의 비, 토큰끼리의 유사도."""
    size, found = UNTRAINED, {}
    keras.utils.set_random_seed(seed)
    layers = []
    for _ in range(blocks):
        attend = MultiHeadAttention(size["d_model"], size["num_heads"], use_bias=False)
        layers.append((attend, PositionwiseFeedForward(size["d_model"], size["d_ff"])))
    shape = 4, size["length"], size["d_model"]
    start = tf.random.stateless_normal(shape, seed=(seed, 0))
    goal = tf.random.stateless_normal(shape, seed=(seed, 1))
    for what in WRAPS:
        states = [start]
        with tf.GradientTape() as tape:
            tape.watch(start)
            for attend, feed_forward in layers:
                x = wrapped(what, states[-1], lambda x, attend=attend: attend(x, x, x))
                states.append(wrapped(what, x, feed_forward))
            top = keras.layers.LayerNormalization(epsilon=1e-5)(states[-1])
            loss = tf.reduce_sum(top * goal)
        bottom, upper = tape.gradient(loss, [states[0], states[-1]])
        ratio = np.linalg.norm(bottom) / np.linalg.norm(upper)
        found[f"{what}_slope"] = float(f"{ratio:.3g}")
        for block in (2, 6):
            if block <= blocks:
                alike = round(likeness(states[block].numpy()), 4)
                found[f"{what}_likeness_{block}"] = alike
    return found


def likeness(x):
    """한 문장 안에서 서로 다른 토큰끼리의 코사인 유사도의 평균."""
    unit = x / np.linalg.norm(x, axis=-1, keepdims=True)
    pairs = unit @ unit.swapaxes(1, 2)
    return float(pairs[:, ~np.eye(x.shape[1], dtype=bool)].mean())


def measure(what, seed, blocks=None):
    if what == "untrained":
        return untrained(seed, UNTRAINED["blocks"])
    keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    rng, steps = np.random.default_rng(seed), SETTINGS["steps"]
    count = SETTINGS["test_sentences"]
    tests = draw(rng, count)
    held = {tuple(row) for row in tests}
    ids = draw(rng, 2 * steps * SETTINGS["batch"])
    # 자료는 넉넉히 뽑아, 시험 문장을 뺀 앞부분만 씁니다.
    kept = [row for row in map(tuple, ids) if row not in held]
    ids = np.array(kept[: steps * SETTINGS["batch"]])
    assert not held & set(map(tuple, ids))
    ids = ids.reshape(steps, SETTINGS["batch"], SETTINGS["length"])
    model, losses = train(what, blocks, ids, seed)
    guesses = model(tests).numpy().argmax(axis=-1)
    return {
        "loss_halfway": round(float(losses[steps // 2 - 50 : steps // 2].mean()), 4),
        "loss": round(float(losses[-50:].mean()), 4),
        "accuracy": round(float(np.mean(guesses == tests[:, :-1])), 4),
    }


def probe():
    ids = draw(np.random.default_rng(1), 3 * 16).reshape(3, 16, -1)
    losses = {
        what: [round(float(loss), 5) for loss in train(what, 1, ids, 1)[1]]
        for what in WRAPS
    }
    return losses | {"untrained": [UNTRAINED, untrained(1, 2)]}


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
