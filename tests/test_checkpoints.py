"""체크포인트가 지키는 약속: 언제 죽어도, 망가져도, 디스크가 차도 이어집니다."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from toys import PAIRS, reversals, run, same, tiny, toy

from transformer_notes.training import Batches
from transformer_notes.training.checkpoints import (
    average_checkpoints,
    best_checkpoint,
    readable_checkpoints,
    saved_steps,
)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True, scope="module")
def bit_equal():
    """비트까지 같은지 보려면 결정적인 연산을 켜는 일은 부르는 쪽의 몫입니다."""
    tf.config.experimental.enable_op_determinism()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    return folder, *run(folder, save_every=4)


@pytest.fixture(scope="module")
def halfway(tmp_path_factory):
    """두 에폭 배운 폴더. 베껴서 씁니다."""
    folder = tmp_path_factory.mktemp("halfway")
    run(folder, epochs=2, save_every=4)
    return folder


@pytest.fixture
def copied(tmp_path, halfway):
    return shutil.copytree(halfway, tmp_path / "run")


def test_newest_and_best_are_kept(finished):
    folder, history, weights = finished
    saved = sorted(int(p.stem[5:]) for p in folder.glob("step-*.index"))
    assert saved == [record["step"] for record in history][-5:]
    best = min(history, key=lambda record: record["validation_loss"])
    assert [p.name for p in (folder / "best").glob("*.index")] == [
        f"step-{best['step']}.index"
    ]
    assert same(average_checkpoints(folder, 1), weights)
    steps, learned = zip(*readable_checkpoints(folder))
    assert list(steps) == saved[::-1] and set(learned) == {
        Batches(PAIRS, 30, seed=3).fingerprint()
    }
    names = {path.name.split(".")[0] for path in folder.glob("step-*")}
    assert names == {f"step-{step}" for step in saved}  # 색인도 내용도 함께 지웁니다


def test_average_is_the_mean_of_the_newest(finished, tmp_path):
    folder, history, weights = finished
    parts = []
    for record in history[-3:]:
        alone = tmp_path / str(record["step"])
        alone.mkdir()
        for path in folder.glob(f"step-{record['step']}.*"):
            shutil.copy(path, alone)
        parts.append(average_checkpoints(alone, 1))
    for mean, *each in zip(average_checkpoints(folder, 3), *parts):
        assert mean.dtype == each[0].dtype
        np.testing.assert_allclose(mean, np.mean(each, axis=0), rtol=1e-6, atol=1e-8)
    model = toy()
    model.set_weights(best_checkpoint(folder))
    with pytest.raises(ValueError, match="6개가 필요합니다. 받은 것: 5개"):
        average_checkpoints(folder, 6)
    assert same(average_checkpoints(folder), average_checkpoints(folder, 5))
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


def test_more_epochs_continue_a_finished_run(copied, finished):
    _, history, weights = finished
    longer, continued = run(copied, save_every=4)
    assert longer == history and same(continued, weights)


SCRIPT = """
    import os, sys
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    sys.path[:0] = [{root!r}, {tests!r}]
    import tensorflow as tf
    from toys import run, tiny
    tf.config.experimental.enable_op_determinism()
    run(sys.argv[1], model=tiny(0.1), save_every=2)
"""


def start(folder):
    script = textwrap.dedent(SCRIPT).format(root=str(ROOT), tests=str(ROOT / "tests"))
    return subprocess.Popen(
        [sys.executable, "-c", script, folder], stdout=subprocess.DEVNULL
    )


def test_killed_at_any_moment_it_ends_with_the_same_bits(tmp_path):
    """트랜스포머에 SIGKILL을 두 번: 쓰는 도중에 한 번, 아무 때나 한 번."""
    _, weights = run(tmp_path / "whole", model=tiny(0.1), save_every=100)
    folder, chance = tmp_path / "run", random.Random(0)
    for what in ("step-*_temp*", "step-*.index"):
        process = start(folder)
        before = set(folder.glob("step-*.index"))
        while process.poll() is None and not set(folder.glob(what)) - before:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    _, ended = run(folder, model=tiny(0.1), save_every=100)
    assert same(ended, weights)


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
    copied, halfway, part, how
):
    (newest,) = copied.glob(f"step-{saved_steps(copied)[-1]}.{part}*")
    damage(newest, how)
    with pytest.warns(RuntimeWarning, match="망가져 읽지 못합니다"):
        _, ended = run(copied, epochs=2, save_every=4)
    assert same(ended, average_checkpoints(halfway, 1))
    assert same(average_checkpoints(copied, 1), ended)  # 고쳐 써서 경고가 없습니다


def test_stray_files_are_neither_read_nor_removed(copied, finished):
    (copied / "checkpoint").write_text("망가진 명부")  # 옛 폴더에 있습니다
    for stray in ("step-abc", "step-", "step-0", "step-007", "step-9.5", "step-²"):
        (copied / f"{stray}.index").write_text("스텝이 적히지 않은 이름")
    seen = []
    original = Batches.at
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Batches, "at", lambda s, i: seen.append(i) or original(s, i))
        _, ended = run(copied, save_every=4)
    assert same(ended, finished[2])
    assert seen[2] >= 2 * len(Batches(PAIRS, 30))  # 처음부터 하지 않습니다
    assert len(saved_steps(copied)) == 5
    assert len(list(copied.glob("step-*.index"))) == 5 + 6


def test_a_full_disk_stops_with_a_message_and_keeps_the_last_checkpoint(
    tmp_path, finished, monkeypatch
):
    original = tf.train.Checkpoint.write

    def write(self, prefix):
        if "step-12" in os.fspath(prefix):
            raise tf.errors.ResourceExhaustedError(None, None, "No space left")
        return original(self, prefix)

    monkeypatch.setattr(tf.train.Checkpoint, "write", write)
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


def test_a_folder_of_another_model_or_other_data_is_refused(tmp_path, copied):
    with pytest.raises(ValueError, match="다른 데이터"):
        run(copied, pairs=reversals(60, seed=9, longest=4))
    with pytest.raises(ValueError, match="다른 모델"):
        run(copied, model=tiny())
    with pytest.raises(ValueError, match="다른 모델"):
        run(copied, model=toy(width=8))
    foreign = tf.train.Checkpoint(step=tf.Variable(1)).write(tmp_path / "a" / "step-1")
    assert Path(f"{foreign}.index").exists()
    with pytest.raises(ValueError, match="다른 데이터"):
        run(tmp_path / "a")


BROKEN_HISTORIES = {
    "no file": None,
    "cut": b'[{"step": 4,',
    "not text": b"\xff",
    "too deep": b"[" * 100_000,
    "null": b"null",
    "a number": b"[1, 2]",
    "a null": b"[null]",
    "a string step": b'[{"step": "4", "loss": 1.0}]',
    "no step": b'[{"loss": 1.0}]',
}


@pytest.mark.parametrize("content", BROKEN_HISTORIES.values(), ids=BROKEN_HISTORIES)
def test_a_broken_history_is_reported_and_forgotten(copied, halfway, content):
    (copied / "history.json").unlink()
    if content is not None:
        (copied / "history.json").write_bytes(content)
    with pytest.warns(RuntimeWarning, match="history.json.*기록은 새로 시작합니다"):
        history, weights = run(copied, epochs=2, save_every=4)  # 이미 끝났습니다
    assert history == [] and same(weights, average_checkpoints(halfway, 1))


def test_a_broken_history_is_begun_anew(copied, finished):
    _, history, weights = finished
    done = saved_steps(copied)[-1]
    (copied / "history.json").write_bytes(BROKEN_HISTORIES["cut"])
    with pytest.warns(RuntimeWarning, match="기록은 새로 시작합니다"):
        anew, ended = run(copied, save_every=4)
    assert same(ended, weights)
    assert anew == [record for record in history if record["step"] > done]
    assert run(copied, save_every=4)[0] == anew  # 이제 온전합니다


def test_whole_numbers_in_the_history_are_losses_too(copied):
    (copied / "history.json").write_text('[{"step": 4, "loss": 1}]')
    assert run(copied, epochs=2, save_every=4)[0] == [{"step": 4, "loss": 1}]


def test_what_an_abandoned_future_left_is_removed(tmp_path, finished):
    """다르게 이어 가도, 건너뛴 것과 버려진 것이 새로 쓴 것을 밀어내지 않습니다."""
    folder, history, _ = finished
    future = f"step-{history[-1]['step']}"
    run(tmp_path, epochs=1, save_every=4)
    for place in ("", "best"):
        for path in (folder / place).glob(f"{future}.*"):
            shutil.copy(path, tmp_path / place)
    damage(tmp_path / f"{future}.index", "empty")
    with pytest.warns(RuntimeWarning, match="망가져"):
        again, _ = run(tmp_path, epochs=2, save_every=5)
    steps = [record["step"] for record in again]
    assert saved_steps(tmp_path) == steps[-5:]
    assert saved_steps(tmp_path / "best") == steps[-1:]
    assert not list(tmp_path.glob(f"**/{future}.*"))


def test_the_steps_are_those_written_to_the_end(tmp_path):
    assert saved_steps(tmp_path / "없는 폴더") == []
    for name in ("step-12.index", "step-8.index", "step-16.data-00000-of-00001"):
        (tmp_path / name).touch()
    assert saved_steps(tmp_path) == [8, 12]
