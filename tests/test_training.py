"""손실, 스케줄, 배치, 학습 루프와 체크포인트가 지키는 약속."""

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tensorflow.python.framework.config import disable_op_determinism

from transformer_notes import training
from transformer_notes.training import (
    Batches,
    MaskedAccuracy,
    MaskedCrossEntropy,
    WarmupSchedule,
    adam,
    average_checkpoints,
    best_checkpoint,
    masked_accuracy,
    masked_cross_entropy,
    train,
)
from transformer_notes.transformer import Transformer, TransformerConfig

ROOT = Path(__file__).resolve().parents[1]
graphs = pytest.mark.parametrize("jit_compile", [False, True])


@pytest.fixture(autouse=True)
def leave_no_determinism():
    yield
    disable_op_determinism()
    keras.config.set_dtype_policy("float32")


def plain_cross_entropy(labels, logits, smoothing, pad_id):
    """반복문과 float64로 쓴, 독립된 구현."""
    losses = []
    vocab_size = logits.shape[-1]
    for label, row in zip(labels.ravel(), logits.reshape(-1, vocab_size)):
        if label == pad_id:
            continue
        row = row.astype(np.float64)
        log_p = row - row.max() - np.log(np.exp(row - row.max()).sum())
        others = [v for v in range(vocab_size) if v not in (label, pad_id)]
        loss = -(1 - smoothing) * log_p[label]
        loss -= sum(smoothing / len(others) * log_p[v] for v in others)
        losses.append(loss)
    return np.mean(losses) if losses else 0.0


@st.composite
def labelled_logits(draw):
    batch, length = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    vocab_size = draw(st.integers(3, 8))
    ids = st.integers(0, vocab_size - 1)
    labels = draw(npst.arrays(np.int32, (batch, length), elements=ids))
    numbers = st.floats(-30, 30, width=32)
    shape = (batch, length, vocab_size)
    return labels, draw(npst.arrays(np.float32, shape, elements=numbers))


# ---------------------------------------------------------------- 손실


@given(labelled_logits(), st.sampled_from([0.0, 0.1, 0.5]), st.integers(-1, 8))
def test_loss_equals_a_plain_loop(data, smoothing, pad_id):
    labels, logits = data
    ours = masked_cross_entropy(labels, logits, smoothing, pad_id)
    expected = plain_cross_entropy(labels, logits, smoothing, pad_id)
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)


@given(labelled_logits(), st.integers(1, 4), st.sampled_from([0.0, 0.1]))
def test_padding_never_changes_loss_accuracy_or_gradient(data, extra, smoothing):
    labels, logits = data
    longer = np.pad(labels, [(0, 0), (0, extra)])
    noise = np.full((*labels.shape[:1], extra, logits.shape[-1]), np.nan, np.float32)
    padded = tf.concat([logits, noise], axis=1)
    with tf.GradientTape() as tape:
        tape.watch(padded)
        loss = masked_cross_entropy(longer, padded, smoothing)
    np.testing.assert_allclose(
        loss, masked_cross_entropy(labels, logits, smoothing), rtol=1e-5
    )
    np.testing.assert_allclose(
        masked_accuracy(longer, padded), masked_accuracy(labels, logits), rtol=1e-6
    )
    gradient = tape.gradient(loss, padded).numpy()
    assert np.isfinite(gradient[:, :-extra]).all()
    assert not np.nan_to_num(gradient[:, -extra:]).any()


@given(labelled_logits())
def test_accuracy_equals_counting(data):
    labels, logits = data
    real = labels != 0
    right = (logits.argmax(-1) == labels) & real
    expected = right.sum() / max(real.sum(), 1)
    np.testing.assert_allclose(masked_accuracy(labels, logits), expected, rtol=1e-6)


def test_loss_equals_keras_without_smoothing_and_padding():
    logits = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)
    labels = np.array([[1, 2, 3], [4, 1, 2]])
    keras_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    expected = keras_loss(labels, logits)
    np.testing.assert_allclose(masked_cross_entropy(labels, logits), expected, 1e-6)


def test_smoothing_gives_nothing_to_padding_and_is_smallest_at_its_target():
    best = np.array([1e-30, 0.9, 0.05, 0.05])
    loss = masked_cross_entropy([[1]], np.log(best)[None, None], 0.1)
    expected = -(0.9 * np.log(0.9) + 0.1 * np.log(0.05))
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    for other in ([1e-30, 1, 1e-9, 1e-9], [0.01, 0.89, 0.05, 0.05]):
        logits = np.log(np.array(other))[None, None]
        assert masked_cross_entropy([[1]], logits, 0.1) > loss


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_hidden_padding_logit_is_not_nan(smoothing):
    logits = tf.constant([[[-np.inf, 1.0, 2.0, 3.0]]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = masked_cross_entropy([[1]], logits, smoothing)
    assert np.isfinite(loss)
    assert np.isfinite(tape.gradient(loss, logits)).all()


def test_no_real_token_gives_zero():
    logits = tf.zeros((2, 3, 5))
    assert masked_cross_entropy(tf.zeros((2, 3), tf.int32), logits, 0.1) == 0
    assert masked_accuracy(tf.zeros((2, 3), tf.int32), logits) == 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_loss_is_computed_in_float32_or_better(dtype):
    logits = tf.cast(tf.constant([[[0.0, 12.0, 3.0, 1.0]] * 3000]), dtype)
    labels = tf.ones((1, 3000), tf.int32)
    loss = masked_cross_entropy(labels, logits, 0.1)
    assert loss.dtype == ("float64" if dtype == "float64" else "float32")
    exact = plain_cross_entropy(
        labels.numpy(), tf.cast(logits, "float64").numpy(), 0.1, 0
    )
    np.testing.assert_allclose(loss, exact, rtol=1e-6)
    assert masked_accuracy(labels, logits) == 1


@graphs
def test_loss_and_accuracy_are_the_same_compiled_with_unknown_shapes(jit_compile):
    labels = np.array([[1, 2, 0], [3, 0, 0]], np.int32)
    logits = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    shapes = [tf.TensorSpec(None, tf.int32), tf.TensorSpec(None, tf.float32)]
    for function in (masked_cross_entropy, masked_accuracy):
        compiled = tf.function(
            lambda labels, logits, function=function: function(labels, logits),
            input_signature=shapes,
            jit_compile=jit_compile,
        )
        np.testing.assert_allclose(
            compiled(labels, logits), function(labels, logits), rtol=1e-6
        )


def test_unknown_labels_are_refused_or_nan():
    logits, labels = tf.zeros((1, 2, 4)), tf.constant([[1, 4]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels"):
        masked_cross_entropy(labels, logits)
    compiled = tf.function(masked_cross_entropy, jit_compile=True)
    assert np.isnan(compiled(labels, logits))


@pytest.mark.parametrize(
    "labels, logits, options, error, message",
    [
        ([[1]], tf.zeros((1, 1, 4), tf.int32), {}, TypeError, "실수 텐서"),
        ([[1, 2]], tf.zeros((1, 1, 4)), {}, ValueError, "한 칸 밀었는지"),
        ([1, 2], tf.zeros((2, 4)), {}, ValueError, "받은 모양: (2,), (2, 4)"),
        ([[1]], tf.zeros((1, 1, 4)), {"label_smoothing": 1.0}, ValueError, "1 미만"),
        ([[1]], tf.zeros((1, 1, 4)), {"label_smoothing": "x"}, TypeError, "str"),
        ([[1]], tf.zeros((1, 1, 2)), {"label_smoothing": 0.1}, ValueError, "크기: 2"),
        ([[1]], tf.zeros((1, 1, 4)), {"pad_id": 0.5}, TypeError, "pad_id"),
    ],
)
def test_wrong_arguments_of_the_loss_are_explained(
    labels, logits, options, error, message
):
    with pytest.raises(error, match=re.escape(message)):
        masked_cross_entropy(labels, logits, **options)


# ---------------------------------------------------------------- 스케줄


@given(st.integers(0, 10**7), st.integers(1, 4096), st.integers(1, 10**5))
def test_schedule_equals_the_formula_whatever_the_type_of_step(step, d_model, warmup):
    schedule = WarmupSchedule(d_model, warmup)
    s = max(step, 1)
    expected = d_model**-0.5 * min(s**-0.5, s * warmup**-1.5)
    for dtype in ("int32", "int64", "float32", "float64"):
        rate = schedule(tf.constant(step, dtype))
        assert rate.dtype == ("float64" if dtype == "float64" else "float32")
        np.testing.assert_allclose(rate, expected, rtol=1e-5)
    np.testing.assert_allclose(schedule(step), expected, rtol=1e-5)


def test_schedule_peaks_where_the_paper_says_and_survives_saving():
    schedule = WarmupSchedule(512)
    assert f"{schedule(4000).numpy():.2e}" == "6.99e-04"
    assert f"{WarmupSchedule(1024)(4000).numpy():.2e}" == "4.94e-04"
    assert schedule(3999) < schedule(4000) > schedule(4001)
    json.dumps(keras.saving.serialize_keras_object(adam(512)))
    restored = keras.optimizers.Adam.from_config(adam(512, 10).get_config())
    assert restored.learning_rate is not None
    assert (restored.beta_1, restored.beta_2, restored.epsilon) == (0.9, 0.98, 1e-9)
    np.testing.assert_allclose(
        WarmupSchedule.from_config(schedule.get_config())(7), schedule(7)
    )


def test_wrong_arguments_of_the_schedule_are_explained():
    with pytest.raises(ValueError, match="warmup_steps.*받은 것: 0"):
        WarmupSchedule(512, 0)
    with pytest.raises(TypeError, match="d_model.*float"):
        WarmupSchedule(512.0)


# ---------------------------------------------------------------- 배치


def reversals(count, seed=0, longest=8):
    """거꾸로 적기: 입력 [a, b, c]의 정답은 <bos> c b a <eos>입니다."""
    rng = np.random.default_rng(seed)
    sources = [
        rng.integers(4, 12, size=rng.integers(1, longest + 1)) for _ in range(count)
    ]
    return [(source, [2, *source[::-1], 3]) for source in sources]


lengths = st.lists(
    st.tuples(st.integers(1, 12), st.integers(2, 13)), min_size=1, max_size=40
)


@given(lengths, st.integers(12, 60), st.integers(0, 3), st.integers(0, 4))
def test_every_pair_once_an_epoch_within_the_budget(lengths, tokens, seed, epoch):
    # 짝마다 다른 번호를 주어 알아봅니다.
    pairs = [
        ([i + 4] * s, [2] + [i + 4] * (t - 2) + [3]) for i, (s, t) in enumerate(lengths)
    ]
    data, seen = Batches(pairs, tokens, seed), []
    produced = list(data.epoch(epoch))
    assert len(produced) == len(data)
    for (sources, targets), labels in produced:
        assert sources.size <= tokens and labels.size <= tokens
        assert sources.dtype == targets.dtype == labels.dtype == np.int32
        np.testing.assert_array_equal(targets[:, 1:], labels[:, :-1])  # 한 칸
        assert sources[:, -1].any() and labels[:, -1].any()  # 남는 열이 없습니다
        seen += [row[0] - 4 for row in sources]
    assert sorted(seen) == list(range(len(pairs)))


def test_order_depends_on_seed_and_epoch_only_and_any_step_can_be_first():
    pairs = reversals(100)
    data = Batches(pairs, 40, seed=1)
    firsts = [data.at(step)[0][0].tolist() for step in range(3 * len(data))]
    again = Batches(pairs, 40, seed=1)
    for step in (3 * len(data) - 1, 0, len(data), 1):  # 아무 차례로나
        assert again.at(step)[0][0].tolist() == firsts[step]
    epochs = [firsts[i : i + len(data)] for i in range(0, len(firsts), len(data))]
    assert epochs[0] != epochs[1] != epochs[2]
    assert Batches(pairs, 40, seed=2).at(0)[0][0].tolist() != firsts[0]


def test_batches_waste_little_on_padding():
    data = Batches(reversals(400, longest=30), 300)
    cells = [labels.size for _, labels in data.epoch()]
    real = [np.count_nonzero(labels) for _, labels in data.epoch()]
    assert sum(real) / sum(cells) > 0.95
    assert len(data) < 1.1 * sum(real) / 300 + 1


def test_trailing_padding_of_a_pair_is_dropped():
    data = Batches([([5, 6, 0, 0], [2, 7, 3, 0])], 10)
    (sources, targets), labels = data.at(0)
    assert (sources.tolist(), targets.tolist(), labels.tolist()) == (
        [[5, 6]],
        [[2, 7]],
        [[7, 3]],
    )


@pytest.mark.parametrize(
    "pairs, options, error, message",
    [
        ([], {}, ValueError, "빈 데이터"),
        ([([5], [2, 3]), ([], [2, 3])], {}, ValueError, "1번째의 0개와 2개"),
        ([([5], [2])], {}, ValueError, "0번째의 1개와 1개"),
        ([([5] * 11, [2, 3])], {}, ValueError, "0번째 짝의 길이 11"),
        ([([5.0], [2, 3])], {}, TypeError, "float64"),
        ([([[5]], [2, 3])], {}, TypeError, "1차원"),
        ([([5], [2, 3])], {"tokens": 0}, ValueError, "tokens"),
        ([([5], [2, 3])], {"seed": -1}, ValueError, "seed"),
    ],
)
def test_wrong_data_is_explained(pairs, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        Batches(pairs, **{"tokens": 10, **options})


# ---------------------------------------------------------------- compile과 fit


def tiny(dropout=0.0):
    keras.utils.set_random_seed(0)
    sizes = {"d_model": 16, "num_heads": 2, "num_layers": 1, "d_ff": 32}
    model = Transformer(TransformerConfig(12, dropout=dropout, **sizes))
    model.build()
    return model


class Toy(keras.Model):
    """그래프가 빨리 만들어지는 모델: 입력의 평균과 앞 토큰 하나만 봅니다."""

    def __init__(self, dropout, poison=None, width=16):
        super().__init__()
        self.embedding = keras.layers.Embedding(12, width)
        self.dropout = keras.layers.Dropout(dropout)
        self.dense = keras.layers.Dense(12)
        self.poison = poison

    def call(self, inputs, training=None):
        source, target = map(self.embedding, inputs)
        x = target + tf.reduce_mean(source, axis=1, keepdims=True)
        logits = self.dense(self.dropout(x, training=training))
        if self.poison is None:
            return logits
        return tf.where(tf.equal(self.poison.iterations, 3), np.float32("nan"), logits)


def toy(dropout=0.1, **options):
    keras.utils.set_random_seed(0)
    model = Toy(dropout, **options)
    model(Batches(PAIRS, 30).at(0)[0])
    return model


def test_fit_takes_the_functions_the_classes_and_the_batches(tmp_path):
    pairs = reversals(60, longest=4)
    data = Batches(pairs, 24)
    model = tiny()
    model.compile(
        adam(16, 20),
        loss=MaskedCrossEntropy(label_smoothing=0.1),
        metrics=[MaskedAccuracy(), masked_cross_entropy],
        jit_compile=False,
    )
    options = {"steps_per_epoch": len(data), "shuffle": False, "verbose": 0}
    history = model.fit(data.epoch(), **options).history
    assert np.isfinite(history["loss"][0])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.loss.label_smoothing == 0.1

    inputs, labels = data.at(0)
    model.compile(
        loss=masked_cross_entropy, metrics=[masked_accuracy], jit_compile=False
    )
    reported = model.evaluate(inputs, labels, batch_size=len(labels), verbose=0)
    logits = model(inputs)
    expected = [masked_cross_entropy(labels, logits), masked_accuracy(labels, logits)]
    np.testing.assert_allclose(reported, expected, rtol=1e-5)


def test_the_metric_counts_tokens_where_the_function_averages_batches():
    metric = MaskedAccuracy(pad_id=0)
    logits = tf.one_hot([[1, 1, 1, 1]], 3)
    metric.update_state([[1, 1, 1, 1]], logits)  # 4 가운데 4
    metric.update_state([[2, 0, 0, 0]], logits)  # 1 가운데 0
    assert float(metric.result()) == pytest.approx(4 / 5)
    metric.reset_state()
    assert metric.result() == 0
    assert MaskedAccuracy.from_config(metric.get_config()).pad_id == 0


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_training_works_under_mixed_precision(tmp_path, policy):
    keras.config.set_dtype_policy(policy)
    optimizer = adam(16, 20)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    data = Batches(reversals(40, longest=4), 40)
    history = train(toy(), data, 4, tmp_path, optimizer=optimizer, progress=False)
    assert history[-1]["loss"] < history[0]["loss"]


# ---------------------------------------------------------------- 학습 루프

PAIRS = reversals(60, longest=4)


def run(folder, epochs=3, pairs=PAIRS, model=None, **options):
    model = toy() if model is None else model
    options = {"optimizer": adam(16, 20), "progress": False, **options}
    validation = Batches(reversals(15, seed=1, longest=4), 30)
    data = Batches(pairs, 30, seed=3)
    history = train(model, data, epochs, folder, validation, **options)
    return history, model.get_weights()


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    return folder, *run(folder, save_every=4)


def test_training_lowers_the_loss_and_leaves_its_record(finished):
    folder, history, _ = finished
    assert history[-1]["validation_loss"] < history[0]["validation_loss"]
    assert json.loads((folder / "history.json").read_text()) == history
    steps = [record["step"] for record in history]
    assert steps == sorted(steps) and steps[-1] == 3 * len(Batches(PAIRS, 30))


def test_one_epoch_equals_keras_fit(tmp_path):
    data = Batches(PAIRS, 30, seed=3)
    ours, theirs = toy(0.0), toy(0.0)
    assert same(ours.get_weights(), theirs.get_weights())
    train(ours, data, 1, tmp_path, optimizer=adam(16, 20), progress=False)
    theirs.compile(adam(16, 20), MaskedCrossEntropy(0.1), jit_compile=False)
    for (sources, targets), labels in data.epoch():
        theirs.train_on_batch((sources, targets), labels)
    for a, b in zip(ours.get_weights(), theirs.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_newest_and_best_are_kept(finished):
    folder, history, weights = finished
    saved = sorted(int(p.stem[5:]) for p in folder.glob("step-*.index"))
    assert saved == [record["step"] for record in history][-5:]
    best = min(history, key=lambda record: record["validation_loss"])
    assert [p.name for p in (folder / "best").glob("*.index")] == [
        f"step-{best['step']}.index"
    ]
    assert same(average_checkpoints(folder, 1), weights)


def test_average_is_the_mean_of_the_newest(finished):
    folder, history, weights = finished
    parts = [
        training._weights(str(folder / f"step-{record['step']}"))
        for record in history[-3:]
    ]
    for mean, *each in zip(average_checkpoints(folder, 3), *parts):
        assert mean.dtype == each[0].dtype
        np.testing.assert_allclose(mean, np.mean(each, axis=0), rtol=1e-6, atol=1e-8)
    model = toy()
    model.set_weights(best_checkpoint(folder))
    with pytest.raises(ValueError, match="6개가 필요합니다. 받은 것: 5개"):
        average_checkpoints(folder, 6)
    with pytest.raises(ValueError, match="validation"):
        best_checkpoint(folder / "없는 폴더")


def test_interrupted_training_ends_with_the_same_bits(tmp_path, finished, monkeypatch):
    _, history, weights = finished
    original, calls = Batches.at, []

    def interrupted(self, step):
        calls.append(step)
        if len(calls) == 18:
            raise KeyboardInterrupt
        return original(self, step)

    monkeypatch.setattr(Batches, "at", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, save_every=4)
    assert run(tmp_path, save_every=4)[0] == history
    assert same(run(tmp_path, save_every=4)[1], weights)  # 끝난 것도 되살립니다


def test_more_epochs_continue_a_finished_run(tmp_path, finished):
    _, history, weights = finished
    run(tmp_path, epochs=1, save_every=4)
    longer, continued = run(tmp_path, epochs=3, save_every=4)
    assert same(continued, weights)
    assert longer[-1]["step"] == history[-1]["step"]


SCRIPT = """
    import os, sys
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    sys.path[:0] = [{root!r}, {tests!r}]
    import numpy as np
    from test_training import run, tiny
    history, weights = run(sys.argv[1], model=tiny(0.1), save_every=2)
    np.savez(sys.argv[2], *weights)
"""


def start(folder, result):
    script = textwrap.dedent(SCRIPT).format(root=str(ROOT), tests=str(ROOT / "tests"))
    return subprocess.Popen(
        [sys.executable, "-c", script, folder, result], stdout=subprocess.DEVNULL
    )


def test_killed_at_any_moment_it_ends_with_the_same_bits(tmp_path):
    """트랜스포머에 SIGKILL을 두 번: 쓰는 도중에 한 번, 아무 때나 한 번."""
    _, weights = run(tmp_path / "whole", model=tiny(0.1), save_every=4)
    folder, result = tmp_path / "run", tmp_path / "weights.npz"
    chance = random.Random(0)
    for what in ("step-*_temp*", "step-*.index"):
        process = start(folder, result)
        before = set(folder.glob("step-*.index"))
        while process.poll() is None and not set(folder.glob(what)) - before:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start(folder, result).wait() == 0
    with np.load(result) as saved:
        assert same([saved[name] for name in saved.files], weights)


def damage(path, how):
    content = bytearray(path.read_bytes())
    if how == "flipped":
        content[len(content) // 2] ^= 1
    path.write_bytes(b"" if how == "empty" else content[: -7 if how == "cut" else None])


@pytest.mark.parametrize(
    "part, how",
    [("data", "flipped"), ("data", "cut"), ("index", "empty"), ("index", "cut")],
)
def test_a_damaged_newest_checkpoint_is_reported_and_the_one_before_used(
    tmp_path, finished, part, how
):
    _, history, weights = finished
    run(tmp_path, epochs=2, save_every=4)
    (newest,) = sorted(tmp_path.glob(f"step-*.{part}*"), key=os.path.getmtime)[-1:]
    damage(newest, how)
    with pytest.warns(RuntimeWarning, match="망가져 읽지 못합니다"):
        again, ended = run(tmp_path, save_every=4)
    assert same(ended, weights)


def test_a_lost_list_of_checkpoints_loses_nothing(tmp_path, finished):
    run(tmp_path, epochs=2, save_every=4)
    (tmp_path / "checkpoint").write_text("망가진 명부")
    (tmp_path / "history.json").write_text("{")
    seen = []
    original = Batches.at
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Batches, "at", lambda s, i: seen.append(i) or original(s, i))
        _, ended = run(tmp_path, save_every=4)
    assert same(ended, finished[2])
    assert seen[2] >= 2 * len(Batches(PAIRS, 30))  # 처음부터 하지 않습니다
    assert len(list(tmp_path.glob("step-*.index"))) == 5


@pytest.mark.parametrize(
    "error",
    [
        tf.errors.ResourceExhaustedError(None, None, "No space left on device"),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_a_full_disk_stops_with_a_message_and_keeps_the_last_checkpoint(
    tmp_path, finished, monkeypatch, error
):
    original = tf.train.Checkpoint._write

    def write(self, prefix, *args, **kwargs):
        if "step-12" in os.fspath(prefix):
            raise error
        return original(self, prefix, *args, **kwargs)

    monkeypatch.setattr(tf.train.Checkpoint, "_write", write)
    with pytest.raises(OSError, match="디스크가 가득.*step-8.*이어 갑니다") as caught:
        run(tmp_path, save_every=4)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert same(run(tmp_path, save_every=4)[1], finished[2])


def test_other_errors_of_the_disk_are_not_hidden(tmp_path, monkeypatch):
    def refuse(*args):
        raise PermissionError(errno.EACCES, "거절")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match="거절"):
        run(tmp_path, epochs=1)


def test_exploding_loss_stops_and_names_the_step(tmp_path):
    huge = keras.optimizers.SGD(1e9)
    with pytest.raises(FloatingPointError, match=r"[23]번째 걸음.*학습률.*없음"):
        run(tmp_path, optimizer=huge)


def test_nan_stops_before_it_reaches_a_checkpoint(tmp_path):
    optimizer = adam(16, 20)
    model = toy(poison=optimizer)
    with pytest.raises(FloatingPointError, match="4번째 걸음.*nan.*step-2"):
        run(tmp_path, model=model, optimizer=optimizer, save_every=2)
    assert all(np.isfinite(w).all() for w in average_checkpoints(tmp_path, 1))


def test_a_folder_of_another_model_or_other_data_is_refused(tmp_path):
    run(tmp_path, epochs=1)
    with pytest.raises(ValueError, match="다른 데이터"):
        run(tmp_path, pairs=reversals(60, seed=9, longest=4))
    with pytest.raises(ValueError, match="다른 모델"):
        run(tmp_path, model=tiny())
    with pytest.raises(ValueError, match="다른 모델"):
        run(tmp_path, model=toy(width=8))


def test_wrong_arguments_of_train_are_explained(tmp_path):
    with pytest.raises(TypeError, match="data에는 Batches.*list"):
        train(tiny(), PAIRS, 1, tmp_path)
    with pytest.raises(ValueError, match="epochs"):
        run(tmp_path, epochs=0)


def test_progress_shows_tokens_a_second_and_time_left(tmp_path, capsys):
    run(tmp_path, epochs=2, progress=True, tensorboard=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2  # 터미널이 아니면 쓸 때마다 한 줄
    assert re.search(
        r"걸음  손실 \d.*토큰/초  남은 시간 0:\d\d  검증 손실 \d", lines[0]
    )
    (events,) = (tmp_path / "logs").glob("events*")
    assert b"validation_loss" in events.read_bytes()


def test_the_bar_is_drawn_in_place_on_a_terminal():
    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    bar = training._Progress(0, 4000, True, terminal := Terminal())
    bar.start = time.monotonic() - 3700
    bar.tokens = 37_000
    bar.update(2000, 1.5, 0)
    assert re.search(r"^\r.*█·.*2,000/4,000걸음.*10토큰/초.*1:01:\d\d$", terminal.text)


def test_two_replicas_train_as_one(tmp_path):
    script = f"""
        import os, sys
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "tests")!r}]
        import numpy as np, tensorflow as tf
        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, parts)
        from test_training import adam, run, toy
        with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
            run({str(tmp_path / "dropout")!r}, 1, optimizer=adam(16, 20))
            _, weights = run({str(tmp_path / "two")!r}, model=toy(0.0))
        np.savez({str(tmp_path / "two.npz")!r}, *weights)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
    _, one = run(tmp_path / "one", model=toy(0.0))
    with np.load(tmp_path / "two.npz") as two:
        for a, name in zip(one, two.files, strict=True):
            np.testing.assert_allclose(a, two[name], rtol=1e-2, atol=1e-4)
