"""「디코더」가 읽는 것: 바르게 이은 번역기와 크로스 어텐션의 인자가 뒤바뀐 번역기."""

import itertools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment
from measuring import trainer

from transformer_notes.decoder import DecoderLayer
from transformer_notes.embedding import TokenEmbedding
from transformer_notes.encoder import Encoder
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.positional_encoding import SinusoidalPositionalEncoding
from transformer_notes.transformer import TransformerConfig

#: 「디코더」가 쪽에서 학습하는 것과 같은 설정입니다. 쪽이 이것을 시험합니다.
SETTINGS = {
    "split_seed": 0,
    "held_out": 16,
    "vocab_size": 36,
    "d_model": 32,
    "num_layers": 2,
    "d_ff": 64,
    "rate": 0.005,
    "batch_size": 64,
    "steps": [200, 400, 800],
}
PLAN = [
    {"what": what, "seed": seed} for seed in range(1, 6) for what in ("right", "wrong")
]
BOS, EOS, ARTICLE = 1, 2, 35


def sentences():
    """학습할 원문과 답, 시험할 원문과 답. **주어, 목적어, 서술어의 조합**으로 가릅니다.

    원문도 답의 입력도 길이가 여섯입니다. 길이가 같아야 인자가 뒤바뀌어도 돌아갑니다.
    """
    combinations = np.array(list(itertools.product(range(4), repeat=3)))
    order = 1 + np.random.default_rng(SETTINGS["split_seed"]).permutation(63)
    order = [0, *order]  # 우리 문장의 조합은 빼 둡니다
    cut = SETTINGS["held_out"]
    return *_pairs(combinations[order[cut:]]), *_pairs(combinations[order[:cut]])


def _pairs(combinations):
    sources, targets = [], []
    for subject, thing, verb in combinations:
        who, what, did = 3 + subject, 11 + thing, 15 + verb
        clause = [BOS, who + 16, did + 16, ARTICLE, what + 16]
        sources.append([who, what, did, 0, 0, 0])
        targets.append([*clause, EOS, 0])
        for when in range(7, 11):
            sources.append([who, when, what, did, 0, 0])
            targets.append([*clause, when + 16, EOS])
    return np.array(sources, np.int32), np.array(targets, np.int32)


class SwappedLayer(DecoderLayer):
    """크로스 어텐션에 (답, 원문, 원문)이 아니라 (원문, 원문, 답)을 넘기는 층."""

    def call(self, x, memory, attention_mask=None, memory_mask=None):
        def attend(x):
            return self.self_attention(x, x, x, attention_mask)

        def attend_to_memory(x):
            return self.cross_attention(memory, memory, x, memory_mask)

        x = self.self_attention_norm(x, attend)
        x = self.cross_attention_norm(x, attend_to_memory)
        return self.feed_forward_norm(x, self.feed_forward)


class Translator(keras.Model):
    def __init__(self, layer_class):
        super().__init__()
        vocab_size, d_model = SETTINGS["vocab_size"], SETTINGS["d_model"]
        config = TransformerConfig(
            vocab_size,
            d_model=d_model,
            num_heads=1,
            num_layers=SETTINGS["num_layers"],
            d_ff=SETTINGS["d_ff"],
            dropout=0.0,
        )
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = SinusoidalPositionalEncoding()
        self.encoder = Encoder(config)
        self.blocks = [layer_class(config) for _ in range(config.num_layers)]
        self.scores = keras.layers.Dense(vocab_size)

    def embed(self, ids):
        return self.positions(self.embedding(ids))

    def call(self, inputs):
        source_ids, target_ids = inputs
        source_mask = padding_mask(source_ids)
        memory = self.encoder(self.embed(source_ids), attention_mask=source_mask)
        target_mask = padding_mask(target_ids) & look_ahead_mask(target_ids.shape[1])
        x = self.embed(target_ids)
        for block in self.blocks:
            x = block(x, memory, target_mask, source_mask)
        return self.scores(x)


def build(what):
    model = Translator(DecoderLayer if what == "right" else SwappedLayer)
    model([np.ones((1, 6), np.int32)] * 2)
    return model, keras.optimizers.Adam(SETTINGS["rate"])


def update(model, adam, sources, targets):
    """한 스텝. 답이 0인 자리는 패딩이라 세지 않습니다."""
    labels = targets[:, 1:]
    with tf.GradientTape() as tape:
        logits = model([sources, targets[:, :-1]])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        real = tf.cast(labels > 0, losses.dtype)
        loss = tf.reduce_sum(losses * real) / tf.reduce_sum(real)
    gradients = tape.gradient(loss, model.trainable_variables)
    adam.apply(gradients, model.trainable_variables)
    return loss


def teacher_forced(model, sources, targets):
    """정답을 넣어 주며 잰 손실과, 진짜 토큰의 정답률."""
    logits, labels = model([sources, targets[:, :-1]]), targets[:, 1:]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits).numpy()
    right = logits.numpy().argmax(axis=-1) == labels
    return float(losses[labels > 0].mean()), float(right[labels > 0].mean())


def written(model, sources):
    """한 토큰씩 골라 이어 쓴 답. 아직 쓰지 않은 자리는 패딩입니다."""
    ids = np.zeros((len(sources), 7), np.int32)
    ids[:, 0], finished = BOS, np.zeros(len(sources), bool)
    for t in range(6):
        best = model([sources, ids[:, :-1]])[:, t].numpy().argmax(axis=-1)
        ids[:, t + 1] = np.where(finished, 0, best)
        finished |= best == EOS
    return ids


def learned():
    """학습할 것만."""
    return sentences()[:2]


def measure(what, seed):
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)
    sources, targets, new_sources, new_targets = sentences()
    seen = set(map(tuple, sources.tolist()))
    assert seen.isdisjoint(map(tuple, new_sources.tolist()))
    model, several = trainer(what, seed, build, update, learned)
    rng, found = np.random.default_rng(seed), {"written": {}, "taught": {}}
    for steps in range(100, SETTINGS["steps"][-1] + 1, 100):
        shape = 100, SETTINGS["batch_size"]
        several(tf.constant(rng.integers(len(sources), size=shape), tf.int32))
        if steps in SETTINGS["steps"]:
            key = str(steps)
            loss, rate = teacher_forced(model, new_sources, new_targets)
            found["taught"][key] = round(rate, 4)
            right = (written(model, new_sources) == new_targets).all(axis=1)
            found["written"][key] = round(float(right.mean()), 4)
    # 대조: 원문을 다른 문장의 것으로 바꾸어도 정답률이 그대로인가?
    _, other = teacher_forced(model, np.roll(new_sources, 7, axis=0), new_targets)
    return {
        "loss": round(loss, 5),
        "taught_last": round(rate, 4),
        "written_last": round(float(right.mean()), 4),
        "other_source": round(other, 4),
        **found,
    }


def probe():
    """자료의 크기와 합, 갈래마다 처음 세 손실."""
    sources, targets, new_sources, new_targets = sentences()
    sizes = [len(sources), len(new_sources)]
    found = {"data": [*sizes, int((sources * targets[:, 1:])[::7].sum())]}
    for what in ("right", "wrong"):
        keras.utils.set_random_seed(1)
        model, adam = build(what)
        losses = [float(update(model, adam, sources, targets)) for _ in range(3)]
        found[what] = {"losses": [round(x, 5) for x in losses]}
    return found


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
