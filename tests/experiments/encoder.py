"""「인코더」가 읽는 것: 한 층, 두 층, 두 번 부른 한 층에 두 번 찾기를 가르칩니다."""

import itertools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment
from measuring import trainer

from transformer_notes.embedding import TokenEmbedding
from transformer_notes.encoder import EncoderLayer
from transformer_notes.masking import padding_mask
from transformer_notes.positional_encoding import SinusoidalPositionalEncoding
from transformer_notes.transformer import TransformerConfig

#: 「인코더」가 쪽에서 학습하는 것과 같은 설정입니다. 쪽이 이것을 시험합니다.
SETTINGS = {
    "split_seed": 0,
    "held_out": 0.25,
    "vocab_size": 12,
    "d_model": 32,
    "rate": 0.003,  # 마지막 스텝에 0이 되도록 곧게 줄입니다
    "batch_size": 32,
    "steps": [500, 1000, 2000, 4000, 8000, 16000],
}
#: 층의 수, 층을 부르는 수, 피드포워드의 너비.
VARIANTS = {
    "one": {"layers": 1, "calls": 1, "d_ff": 200},
    "two": {"layers": 2, "calls": 2, "d_ff": 64},
    "shared": {"layers": 1, "calls": 2, "d_ff": 64},
}
PLAN = [{"what": name, "seed": seed} for seed in range(1, 6) for name in VARIANTS]


def questions():
    """물음과 자리마다의 답을 학습할 것과 시험할 것으로. **사실의 모임**으로 가릅니다.

    한쪽에 나온 사실들은 어떤 순서로도, 무엇을 물어도 다른 쪽에 나오지 않습니다.
    """
    groups = {}
    for count in (2, 3):
        for who in itertools.permutations(range(4, 8), count):
            for what in itertools.permutations(range(8, 12), count):
                pairs = list(zip(who, what))
                padding = [0] * (6 - 2 * count)
                rows = groups.setdefault(frozenset(pairs), [])
                for subject, thing in pairs:
                    ids = [1, thing, *sum(pairs, ()), *padding]
                    swapped = sum(((b, a) for a, b in pairs), ())
                    rows.append((ids, [subject, subject, *swapped, *padding]))
    names = sorted(groups, key=sorted)
    order = np.random.default_rng(SETTINGS["split_seed"]).permutation(len(names))
    cut = int(len(names) * SETTINGS["held_out"])
    sides = order[cut:], order[:cut]
    train, test = ([r for i in side for r in groups[names[i]]] for side in sides)
    train, test = (np.array(side, np.int32).swapaxes(0, 1) for side in (train, test))
    return *train, *test


class Tagger(keras.Model):
    """자리마다 답을 붙입니다. 같은 층을 여러 번 부를 수도 있습니다."""

    def __init__(self, layers, calls, d_ff):
        super().__init__()
        vocab_size, d_model = SETTINGS["vocab_size"], SETTINGS["d_model"]
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = SinusoidalPositionalEncoding()
        config = TransformerConfig(
            vocab_size, d_model=d_model, num_heads=1, d_ff=d_ff, dropout=0.0
        )
        self.blocks = [EncoderLayer(config) for _ in range(layers)]
        self.calls = calls
        self.tag = keras.layers.Dense(vocab_size)

    def call(self, ids):
        x, mask = self.positions(self.embedding(ids)), padding_mask(ids)
        for index in range(self.calls):
            x = self.blocks[index % len(self.blocks)](x, attention_mask=mask)
        return self.tag(x)


def build(what):
    model = Tagger(**VARIANTS[what])
    model(np.ones((1, 8), np.int32))
    decay = keras.optimizers.schedules.PolynomialDecay(
        SETTINGS["rate"], SETTINGS["steps"][-1], 0.0
    )
    return model, keras.optimizers.Adam(decay)


def update(model, adam, ids, tags):
    """한 스텝. 답이 0인 자리는 패딩이라 세지 않습니다."""
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tags, model(ids))
        real = tf.cast(tags > 0, losses.dtype)
        loss = tf.reduce_sum(losses * real) / tf.reduce_sum(real)
    gradients = tape.gradient(loss, model.trainable_variables)
    adam.apply(gradients, model.trainable_variables)
    return loss


def accuracy(model, ids, tags):
    """'누가'의 정답률(두 번 찾기)과 사실의 정답률(한 번 찾기)."""
    right = model(ids).numpy().argmax(axis=-1) == tags
    once = right[:, 2:][tags[:, 2:] > 0]
    return round(float(right[:, 0].mean()), 4), round(float(once.mean()), 4)


def looks(model, ids, tags):
    """새 물음에서 가장 짙게 본 곳: 첫 번째로 부를 때의 주어와 마지막의 '누가'."""
    x, mask = model.positions(model.embedding(ids)), padding_mask(ids)
    seen = []
    for index in range(model.calls):
        block = model.blocks[index % len(model.blocks)]
        x, weights, _ = block(x, attention_mask=mask, return_weights=True)
        seen.append(weights.numpy()[:, 0].argmax(axis=-1))
    places = np.arange(2, 8, 2)  # 주어의 자리
    real = ids[:, places] > 0
    paired = (seen[0][:, places] == places + 1)[real].mean()
    row = np.arange(len(ids))
    target = seen[-1][:, 0]
    who = ids[row, target] == tags[:, 0]
    what = (target > 1) & (ids[row, target] == ids[:, 1])
    return {
        "subject_to_pair": round(float(paired), 4),
        "asker_to_answer": round(float(who.mean()), 4),
        "asker_to_its_pair": round(float(what.mean()), 4),
    }


def learned():
    """학습할 것만."""
    return questions()[:2]


def measure(what, seed):
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)
    ids, tags, new_ids, new_tags = questions()
    seen = set(map(tuple, ids.tolist()))
    assert seen.isdisjoint(map(tuple, new_ids.tolist()))
    model, several = trainer(what, seed, build, update, learned)
    rng, found = np.random.default_rng(seed), {"twice": {}, "once": {}, "seen": {}}
    for steps in range(100, SETTINGS["steps"][-1] + 1, 100):
        shape = 100, SETTINGS["batch_size"]
        several(tf.constant(rng.integers(len(ids), size=shape), tf.int32))
        if steps in SETTINGS["steps"]:
            key = str(steps)
            found["twice"][key], found["once"][key] = accuracy(model, new_ids, new_tags)
            found["seen"][key] = accuracy(model, ids, tags)[0]
    found |= looks(model, new_ids, new_tags)
    parameters = sum(block.count_params() for block in model.blocks)
    last = str(SETTINGS["steps"][-1])
    return {
        "parameters": parameters,
        "last": found["twice"][last],
        "last_once": found["once"][last],
        **found,
    }


def probe():
    """자료의 크기와 합, 갈래마다 처음 세 손실."""
    ids, tags, new_ids, new_tags = questions()
    found = {"data": [len(ids), len(new_ids), int((ids * tags)[::7].sum())]}
    for name, sizes in VARIANTS.items():
        keras.utils.set_random_seed(1)
        model, adam = build(name)
        losses = [float(update(model, adam, ids[:64], tags[:64])) for _ in range(3)]
        rates = [float(adam.learning_rate)]
        adam.iterations.assign(SETTINGS["steps"][-1] // 2)
        rates.append(float(adam.learning_rate))
        found[name] = {"sizes": sizes, "losses": [round(x, 5) for x in losses]}
        found[name]["rates"] = [round(rate, 8) for rate in rates]
    return found


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
