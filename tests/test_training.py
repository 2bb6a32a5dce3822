"""학습 루프와 채점이 지키는 약속."""

import io
import itertools
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from rich.cells import cell_len
from tensorflow.python.framework.config import is_op_determinism_enabled
from toys import PAIRS, Toy, reversals, run, same, tiny, toy

from transformer_notes import training
from transformer_notes.training import (
    Batches,
    MaskedAccuracy,
    MaskedCrossEntropy,
    adam,
    average_checkpoints,
    evaluate,
    masked_accuracy,
    masked_cross_entropy,
    saved_steps,
    train,
    update_step,
)

ROOT = Path(__file__).resolve().parents[1]


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


@pytest.fixture(params=["mixed_float16", "mixed_bfloat16"])
def policy(request):
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy("float32")


def test_training_works_under_mixed_precision(tmp_path, policy):
    optimizer = adam(16, 20)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    data = Batches(reversals(40, longest=4), 40)
    history = train(toy(), data, 4, tmp_path, optimizer=optimizer, progress=False)
    assert history[-1]["loss"] < history[0]["loss"]


def test_a_step_that_the_loss_scaler_skips_is_no_explosion():
    data, model = Batches(PAIRS, 30), toy(0.0)
    before = model.get_weights()
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.5), initial_scale=np.inf
    )
    optimizer.build(model.trainable_variables)
    _, _, healthy = update_step(model, optimizer)(data.at(0))
    assert healthy and same(model.get_weights(), before)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """짧은 학습 하나의 (폴더, 기록, 모델)."""
    folder, model = tmp_path_factory.mktemp("trained"), toy()
    history, _ = run(folder, model=model, save_every=4)
    return folder, history, model


def test_training_lowers_the_loss_and_leaves_its_record(trained):
    folder, history, _ = trained
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


def test_exploding_loss_stops_and_names_the_step(tmp_path):
    huge = keras.optimizers.SGD(1e9)
    with pytest.raises(FloatingPointError, match=r"[23]번째 스텝.*학습률.*없음"):
        run(tmp_path, optimizer=huge)


def test_nan_stops_before_it_reaches_a_checkpoint(tmp_path):
    optimizer = adam(16, 20)
    model = toy(poison=optimizer)
    with pytest.raises(FloatingPointError, match="4번째 스텝.*nan.*step-2"):
        run(tmp_path, model=model, optimizer=optimizer, save_every=2)
    assert all(np.isfinite(w).all() for w in average_checkpoints(tmp_path, 1))


def test_train_does_not_switch_determinism_on_for_the_process(trained):
    assert not is_op_determinism_enabled()


def test_nothing_given_means_the_papers_adam_and_a_checkpoint_an_epoch(tmp_path):
    data = Batches(PAIRS, 30)
    ours, explicit = toy(0.0), toy(0.0)
    ours.config = SimpleNamespace(d_model=16)
    train(ours, data, 2, tmp_path / "a", progress=False)
    options = {"optimizer": adam(16), "label_smoothing": 0.1, "save_every": len(data)}
    train(explicit, data, 2, tmp_path / "b", progress=False, **options)
    for a, b in zip(ours.get_weights(), explicit.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    for folder in ("a", "b"):
        written = {path.name for path in (tmp_path / folder).glob("*.index")}
        assert written == {f"step-{len(data)}.index", f"step-{2 * len(data)}.index"}


def test_a_step_returns_the_loss_before_it_and_the_tokens():
    data, model = Batches(PAIRS, 30), toy(0.0)
    inputs, labels = data.at(0)
    before = masked_cross_entropy(labels, model(inputs), label_smoothing=0.1)
    optimizer = keras.optimizers.SGD(0.5)
    optimizer.build(model.trainable_variables)
    loss, tokens, healthy = update_step(model, optimizer)((inputs, labels))
    np.testing.assert_allclose(loss, before, rtol=1e-5)
    assert (tokens, healthy) == (np.count_nonzero(labels), True)
    after = masked_cross_entropy(labels, model(inputs), label_smoothing=0.1)
    assert after < before


def test_a_loss_over_a_hundred_is_an_explosion_whatever_the_vocabulary():
    model = toy(0.0)
    model.set_weights([np.zeros_like(weight) for weight in model.get_weights()])
    optimizer = keras.optimizers.SGD(0.0)
    optimizer.build(model.trainable_variables)
    ids = np.full((1, 3), 5, np.int32)
    step = update_step(model, optimizer, label_smoothing=0.0)
    for size, healthy in ((20.0, True), (99.9, True), (100.1, False)):
        # 모든 토큰의 로짓이 0이고 정답만 -a입니다. 손실은 a + log(11 + e^-a)입니다.
        model.dense.bias.assign(-np.eye(12)[5] * (size - np.log(11)))
        loss, _, fine = step(((ids, ids), ids))
        np.testing.assert_allclose(loss, size, rtol=1e-4)
        assert fine == healthy


# ---------------------------------------------------------------- 채점


def test_scores_are_means_over_the_tokens_however_they_are_batched():
    pairs = reversals(40, seed=1, longest=6)
    model, losses, hits = tiny(0.5), [], []
    for source, target in pairs:
        labels, inputs = target[1:], np.array([target[:-1]])
        logits = model((np.array([source]), inputs)).numpy()[0].astype(float)
        log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        losses += [-row[label] for row, label in zip(log_p, labels)]
        hits += [row.argmax() == label for row, label in zip(log_p, labels)]
    for tokens in (9, 30, 10_000):
        scores = evaluate(model, Batches(pairs, tokens))
        np.testing.assert_allclose(scores.loss, np.mean(losses), rtol=1e-5)
        np.testing.assert_allclose(scores.accuracy, np.mean(hits), rtol=1e-6)
        assert 0 < scores.accuracy < 1 and list(map(type, scores)) == [float, float]


def test_padding_is_what_the_data_to_score_says():
    def guess_padding(inputs, training):
        return tf.one_hot(tf.ones_like(inputs[1]), 12)

    pairs = reversals(20, seed=1, longest=6)  # 1번 토큰은 나오지 않습니다
    scores = evaluate(guess_padding, Batches(pairs, 30, pad_id=1))
    assert scores.accuracy == 0 and scores.loss == pytest.approx(np.log(11 + np.e))


def test_training_takes_the_padding_of_the_data_and_keeps_as_many_as_it_is_told(
    tmp_path,
):
    data = Batches(PAIRS, 30, pad_id=1)
    how = {"optimizer": keras.optimizers.SGD(0.0), "label_smoothing": 0.0, "keep": 2}
    history = train(toy(0.0), data, 3, tmp_path, data, progress=False, **how)
    first = history[0]  # 다음 에폭은 문장을 달리 묶고, 장난감은 패딩까지 평균합니다
    np.testing.assert_allclose(first["loss"], first["validation_loss"], rtol=1e-5)
    assert saved_steps(tmp_path) == [record["step"] for record in history[-2:]]


def test_the_validation_loss_of_training_is_the_loss_of_evaluate(trained):
    _, history, model = trained
    validation = Batches(reversals(15, seed=1, longest=4), 30)
    assert set(history[-1]) == {"step", "loss", "validation_loss"}
    np.testing.assert_allclose(
        history[-1]["validation_loss"], evaluate(model, validation).loss, rtol=1e-6
    )


def test_training_makes_its_graphs_once(tmp_path, monkeypatch):
    calls, original = [], Toy.call

    def count(self, inputs, training=None):
        calls.append(training)
        return original(self, inputs, training)

    monkeypatch.setattr(Toy, "call", count)
    run(tmp_path / "once", epochs=1)
    once = len(calls)
    run(tmp_path / "often", epochs=3, save_every=2)
    assert len(calls) == 2 * once


# ---------------------------------------------------------------- 진행


@pytest.fixture
def a_second_a_step(monkeypatch):
    """학습 루프가 볼 때마다 1초가 지나는 시계입니다."""
    clock = itertools.count()
    watch = SimpleNamespace(monotonic=lambda: float(next(clock)))
    monkeypatch.setattr(training.loop, "time", watch)


def tokens_a_step(steps):
    """첫 스텝을 빼고 센, 스텝마다의 진짜 토큰. 스텝에 1초이면 토큰의 빠르기입니다."""
    data = Batches(PAIRS, 30, seed=3)
    real = [np.count_nonzero(data.at(step)[1]) for step in range(1, steps)]
    return f"{sum(real) / len(real):,.0f}토큰/초"


def test_without_a_terminal_every_save_is_one_plain_line(
    tmp_path, capsys, monkeypatch, a_second_a_step
):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich는 이것만으로도 터미널로 칩니다
    history, _ = run(tmp_path, epochs=2, progress=True, tensorboard=True)
    steps = history[0]["step"]
    expected = [
        f"{steps}/{2 * steps}스텝  손실 {history[0]['loss']:.4f}  "
        f"{tokens_a_step(steps)}  남은 시간 0:{steps:02}  "
        f"검증 손실 {history[0]['validation_loss']:.4f}",
        f"{2 * steps}/{2 * steps}스텝  손실 {history[1]['loss']:.4f}  "
        f"{tokens_a_step(2 * steps)}  남은 시간 0:00  "
        f"검증 손실 {history[1]['validation_loss']:.4f}",
    ]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("\n".join(expected) + "\n", "")
    (events,) = (tmp_path / "logs").glob("events*")
    assert b"validation_loss" in events.read_bytes()


def test_progress_may_be_off_or_go_to_a_stream_that_can_only_write(
    tmp_path, monkeypatch, capsys
):
    run(tmp_path / "off", epochs=1)
    assert capsys.readouterr().out == ""
    lines = []
    plain = SimpleNamespace(write=lines.append, flush=lambda: None)
    monkeypatch.setattr(sys, "stdout", plain)
    run(tmp_path / "plain", epochs=1, progress=True)
    assert re.fullmatch(r"\d+/\d+스텝  손실 .*검증 손실 [\d.]+\n", "".join(lines))


class Terminal(io.StringIO):
    """터미널 흉내. `screen`은 커서를 옮기고 줄을 지우는 명령까지 따른 화면입니다."""

    encoding = "utf-8"

    def isatty(self):
        return True

    def screen(self):
        lines, row, shown = [""], 0, True
        for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\r|\n)", self.getvalue()):
            if part == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif part == "\x1b[2K":
                lines[row] = ""
            elif up := re.fullmatch(r"\x1b\[(\d+)A", part):
                row -= int(up[1])
            elif part in ("\x1b[?25l", "\x1b[?25h"):
                shown = part.endswith("h")
            elif part != "\r" and not re.fullmatch(r"\x1b\[[\d;]*m", part):
                lines[row] += part
        return [line for line in lines if line], shown

    def frames(self):
        """제자리에 그려졌던 줄. 다시 그리면 지워지고, 마지막 것은 끝내며 지워집니다."""
        text = re.sub(r"\x1b\[([\d;]*m|2K|\?25l)", "", self.getvalue())
        return re.findall(r"[^\x1b\r\n]*스텝[^\x1b\r\n]*(?=\r|\n\x1b\[\?25h)", text)


def terminal(monkeypatch, columns=100):
    for name, value in {"TERM": "xterm-256color", "COLUMNS": str(columns)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", stream := Terminal())
    return stream


def test_the_bar_is_drawn_in_place_and_only_the_lines_of_the_saves_remain(
    tmp_path, monkeypatch, a_second_a_step
):
    screen = terminal(monkeypatch)
    history, _ = run(tmp_path, epochs=2, progress=True)
    total = history[-1]["step"]
    lines, cursor_shown = screen.screen()
    assert [line.split("/")[0] for line in lines] == [str(total // 2), str(total)]
    assert cursor_shown and sys.stdout is screen
    last = screen.frames()[-1]
    assert re.match(rf"━+ +{total}/{total}스텝  손실 ", last)
    assert last.rstrip().endswith(f"{tokens_a_step(total)}  남은 시간 0:00")


def test_after_an_interrupt_the_terminal_is_clean(tmp_path, monkeypatch):
    screen = terminal(monkeypatch)
    original = Batches.at

    def interrupted(self, step):
        if step == 5 and self.seed == 3:
            print("경고", file=sys.stderr)  # 다른 곳으로 보냈을 수 있습니다
            raise KeyboardInterrupt
        return original(self, step)

    monkeypatch.setattr(Batches, "at", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, progress=True)
    assert "5/" in screen.frames()[-1] and "경고" not in screen.getvalue()
    assert screen.screen() == ([], True)
    assert sys.stdout is screen


def test_the_bar_never_breaks_the_line_of_a_narrow_terminal(tmp_path, monkeypatch):
    screen = terminal(monkeypatch, columns=40)
    run(tmp_path, epochs=1, progress=True)
    assert "손실" in screen.frames()[-1]
    assert max(map(cell_len, screen.frames())) <= 40


@pytest.mark.parametrize(
    "seconds, text", [(0.4, "0:00"), (59.6, "1:00"), (3661, "1:01:01"), (600, "10:00")]
)
def test_the_time_left_is_written_as_a_clock(capsys, monkeypatch, seconds, text):
    times = iter([0.0, seconds])  # 첫 스텝과 둘째 스텝
    watch = SimpleNamespace(monotonic=lambda: next(times))
    monkeypatch.setattr(training.loop, "time", watch)
    bar = training.loop._Progress(0, 3, shown=True)
    bar.update(1, 1.0, 10)
    bar.update(2, 1.0, 10)
    bar.report({"loss": 1.0})
    speed = f"{10 / seconds:,.0f}토큰/초"
    assert capsys.readouterr().out.endswith(f"{speed}  남은 시간 {text}\n")


def test_two_replicas_train_as_one(tmp_path):
    script = f"""
        import os, sys
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "tests")!r}]
        import keras, numpy as np, tensorflow as tf
        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, parts)
        from toys import PAIRS, adam, run, toy
        from transformer_notes.training import Batches, evaluate, own_rows
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        rows = strategy.run(own_rows, [(tf.range(5),)])[0].values
        assert [part.numpy().tolist() for part in rows] == [[0, 2, 4], [1, 3]]
        with strategy.scope():
            run({str(tmp_path / "dropout")!r}, 1, optimizer=adam(16, 20))
            model = toy(0.0)
            sgd = keras.optimizers.SGD(0.5)
            _, weights = run({str(tmp_path / "two")!r}, model=model, optimizer=sgd)
            scores = evaluate(model, Batches(PAIRS, 30))
        np.savez({str(tmp_path / "two.npz")!r}, *weights, scores)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
    # Adam은 0에 가까운 기울기의 반올림 오차를 키우므로 SGD로 견줍니다.
    sgd = keras.optimizers.SGD(0.5)
    _, one = run(tmp_path / "one", model=toy(0.0), optimizer=sgd)
    with np.load(tmp_path / "two.npz") as saved:
        *two, scores = (saved[name] for name in saved.files)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    model = toy(0.0)
    model.set_weights(two)
    np.testing.assert_allclose(evaluate(model, Batches(PAIRS, 30)), scores, rtol=1e-5)


@pytest.mark.parametrize("name", ["epochs", "save_every", "keep"])
def test_nothing_of_it_is_no_training(tmp_path, name):
    for count in (0, -1):
        with pytest.raises(ValueError, match=name):
            run(tmp_path, **{name: count})
