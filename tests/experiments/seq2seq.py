"""「seq2seq와 어텐션」이 읽는 것: 벡터 하나에 담기는 길이와, 배우는 데에 드는 스텝."""

import functools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from experiment import Experiment

from transformer_notes.seq2seq import Seq2Seq

SETTINGS = {
    "words": 10,
    "longest": 8,
    "test_lengths": [3, 8],
    "test_sentences": 1600,
    "test_seed": 0,
    "batch_size": 32,
    "rate": 0.01,  # 코사인을 따라 0까지 내립니다
    "every": 100,
    "checked": [*range(100, 1000, 100), *range(1000, 24001, 500)],
}
#: 은닉 상태의 차원, 어텐션, 망각 게이트의 편향 (Keras의 처음 값은 1), 스텝.
VARIANTS = {
    "wide": {"units": 32, "attention": None, "forget": 1.0, "steps": 6000},
    "wide_dot": {
        "units": 32,
        "attention": "multiplicative",
        "forget": 1.0,
        "steps": 6000,
    },
    "opened": {"units": 32, "attention": None, "forget": 5.0, "steps": 6000},
    "narrow": {"units": 8, "attention": None, "forget": 1.0, "steps": 6000},
    "narrow_long": {"units": 8, "attention": None, "forget": 1.0, "steps": 24000},
    "narrow_dot": {
        "units": 8,
        "attention": "multiplicative",
        "forget": 1.0,
        "steps": 6000,
    },
}
PLAN = [
    {"what": name, "task": task, "seed": seed}
    for seed in range(1, 6)
    for task in ("reverse", "copy")
    for name in VARIANTS
    if task == "reverse" or name in ("wide", "wide_dot")
]
PAD, BOS, EOS, FIRST = 0, 2, 3, 4


def sentences(count, shortest, longest, rng):
    """길이가 고른 원문, (count, longest). 남는 자리는 패딩입니다."""
    lengths = rng.integers(shortest, longest + 1, size=(count, 1))
    ids = rng.integers(FIRST, FIRST + SETTINGS["words"], size=(count, longest))
    return np.where(np.arange(longest) < lengths, ids, PAD)


def targets(source, task):
    """<bos>와 <eos>를 붙인 답, (count, longest + 2)."""
    longest = source.shape[1]
    lengths = (source != PAD).sum(axis=1, keepdims=True)
    place = np.arange(longest)
    if task == "reverse":
        place = np.where(place < lengths, lengths - 1 - place, place)
        source = np.take_along_axis(source, place, axis=1)
    target = np.pad(source, ((0, 0), (1, 1)))
    target[:, 0] = BOS
    np.put_along_axis(target, lengths + 1, EOS, axis=1)
    return target


def keys(source):
    """문장마다 하나뿐인 수."""
    return source @ (FIRST + SETTINGS["words"]) ** np.arange(source.shape[1])


@functools.cache
def test_sentences():
    rng = np.random.default_rng(SETTINGS["test_seed"])
    shortest, longest = SETTINGS["test_lengths"]
    source = sentences(SETTINGS["test_sentences"], shortest, longest, rng)
    return source, keys(source)


def fresh(count, rng):
    """배울 문장. 시험할 문장은 뺍니다."""
    source = sentences(2 * count, 1, SETTINGS["longest"], rng)
    source = source[~np.isin(keys(source), test_sentences()[1])][:count]
    assert len(source) == count
    return source


def build(what):
    options = VARIANTS[what]
    vocab_size, units = FIRST + SETTINGS["words"], options["units"]
    model = Seq2Seq(vocab_size, units, attention=options["attention"])
    model.build()
    for layer in (model.encoder, model.decoder):
        kernel, recurrent, bias = layer.get_weights()
        bias[units : 2 * units] = options["forget"]
        layer.set_weights([kernel, recurrent, bias])
    decay = keras.optimizers.schedules.CosineDecay(SETTINGS["rate"], options["steps"])
    adam = keras.optimizers.Adam(decay)
    adam.build(model.trainable_variables)
    return model, adam


def update(model, adam, source, target):
    inputs, labels = target[:, :-1], target[:, 1:]
    with tf.GradientTape() as tape:
        logits = model((source, inputs))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        real = tf.cast(labels != PAD, losses.dtype)
        loss = tf.reduce_sum(losses * real) / tf.reduce_sum(real)
    gradients = tape.gradient(loss, model.trainable_variables)
    adam.apply(gradients, model.trainable_variables)
    return loss


@functools.cache
def compiled(what):
    """모델, 되돌릴 변수와 처음 값, 여러 스텝, 채점. 시드마다 다시 씁니다."""
    model, adam = build(what)

    @tf.function(jit_compile=True)
    def several(sources, targets):
        for index in tf.range(SETTINGS["every"]):
            update(model, adam, sources[index], targets[index])

    @tf.function(jit_compile=True)
    def right(source, target):
        chosen = tf.argmax(
            model((source, target[:, :-1])), axis=-1, output_type="int32"
        )
        same = (chosen == target[:, 1:]) | (target[:, 1:] == PAD)
        return tf.reduce_all(same, axis=1)

    return model, [(v, v.numpy()) for v in adam.variables], several, right


def tensor(ids, *shape):
    return tf.constant(ids.reshape(*shape, ids.shape[-1]), tf.int32)


def measure(what, task, seed):
    tf.config.experimental.enable_op_determinism()
    model, beginning, several, right = compiled(what)
    keras.utils.set_random_seed(seed)
    model.set_weights(build(what)[0].get_weights())
    for variable, value in beginning:
        variable.assign(value)
    test, test_keys = test_sentences()
    answers, lengths = targets(test, task), (test != PAD).sum(axis=1)
    rng, every = np.random.default_rng(seed), SETTINGS["every"]
    count, curve = every * SETTINGS["batch_size"], {}
    for steps in range(every, VARIANTS[what]["steps"] + 1, every):
        source = fresh(count, rng)
        assert not np.isin(keys(source), test_keys).any()
        several(tensor(source, every, -1), tensor(targets(source, task), every, -1))
        if steps in SETTINGS["checked"]:
            solved = right(tensor(test, -1), tensor(answers, -1)).numpy()
            curve[str(steps)] = round(float(solved.mean()), 4)
    by_length = {
        str(n): round(float(solved[lengths == n].mean()), 4)
        for n in range(SETTINGS["test_lengths"][0], SETTINGS["longest"] + 1)
    }
    return {
        "last": curve[str(steps)],
        "last_longest": by_length[str(SETTINGS["longest"])],
        "curve": curve,
        "by_length": by_length,
    }


def probe():
    """자료의 합, 갈래마다 처음 세 손실."""
    rng = np.random.default_rng(1)
    source = fresh(64, rng)
    found = {"data": [int(test_sentences()[1].sum() % 10**9)]}
    found["data"] += [int(keys(source).sum() % 10**9)]
    for task in ("reverse", "copy"):
        found[task] = int((targets(source, task) * np.arange(10)).sum())
    for name, options in VARIANTS.items():
        keras.utils.set_random_seed(1)
        model, adam = build(name)
        pair = tensor(source, -1), tensor(targets(source, "reverse"), -1)
        losses = [float(update(model, adam, *pair)) for _ in range(3)]
        found[name] = {**options, "losses": [round(x, 5) for x in losses]}
    return found


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
