"""여러 프로세스가 한 프로세스처럼 배웁니다. 진짜 프로세스를 루프백으로 잇습니다."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from toys import PAIRS, adam, tiny

from transformer_notes.training import Batches, train

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 1200  # 초. 멈추어 버린 것만 끝냅니다

WORKER = """
    import json, os, sys
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    sys.path[:0] = [{root!r}, {tests!r}]
    import numpy as np, tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # 다른 연산보다 먼저
    from test_scaling import die_at, learn
    if sys.argv[3:]:
        die_at(int(sys.argv[3]))
    tf.config.experimental.enable_op_determinism()
    with strategy.scope():
        history, weights = learn(sys.argv[1])
    np.savez(sys.argv[2], *weights)
    with open(sys.argv[2] + ".json", "w") as file:
        json.dump([strategy.num_replicas_in_sync, history], file)
"""


def learn(folder):
    """드롭아웃이 없는 작은 트랜스포머. 난수가 없으면 나누어도 같은 계산입니다."""
    data, validation = Batches(PAIRS, tokens=30, seed=3), Batches(PAIRS[:15], tokens=30)
    model = tiny(dropout=0.0)
    options = {"optimizer": adam(16, 20), "save_every": 6, "progress": False}
    history = train(model, data, 2, folder, validation, **options)
    return history, model.get_weights()


def die_at(step):
    """그 스텝의 배치를 만들 차례가 오면 프로세스가 SIGKILL로 죽습니다."""
    make = Batches.at

    def deadly(self, number):
        if number == step and self.seed == 3:  # 검증 데이터가 아니라 학습 데이터
            os.kill(os.getpid(), signal.SIGKILL)
        return make(self, number)

    Batches.at = deadly


def start_workers(folder, results, death=None):
    """프로세스들을 시작합니다. 저마다 ``TF_CONFIG``로 서로를 찾습니다.

    death가 ``(번호, 스텝)``이면 그 프로세스는 그 스텝에서 죽습니다.
    """
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in results]
    addresses = [f"127.0.0.1:{server.getsockname()[1]}" for server in servers]
    for server in servers:
        server.close()
    places = {"root": str(ROOT), "tests": str(ROOT / "tests")}
    script, workers = textwrap.dedent(WORKER).format(**places), []
    for index, result in enumerate(results):
        config = {
            "cluster": {"worker": addresses},
            "task": {"type": "worker", "index": index},
        }
        last_words = [str(death[1])] if death and death[0] == index else []
        workers.append(
            subprocess.Popen(
                [sys.executable, "-c", script, folder, result, *last_words],
                env=os.environ | {"TF_CONFIG": json.dumps(config)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    return workers


def finish(workers):
    """모두 끝나기를 기다리고, 저마다의 종료 코드와 출력을 냅니다.

    너무 오래 걸리면 남은 것을 끝내고 실패합니다.
    """
    outputs = []
    try:
        for worker in workers:
            outputs.append(worker.communicate(timeout=PATIENCE)[0])
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    return [worker.returncode for worker in workers], outputs


def learn_together(folder):
    """두 프로세스로 배웁니다. 저마다의 장치 수, 기록, 가중치를 냅니다."""
    results = [folder / f"{index}.npz" for index in range(2)]
    codes, outputs = finish(start_workers(folder / "run", results))
    assert codes == [0, 0], "\n".join(outputs)
    records = []
    for result in results:
        replicas, history = json.loads(Path(f"{result}.json").read_text())
        with np.load(result) as saved:
            weights = [saved[name] for name in saved.files]
        records.append((replicas, history, weights))
    return records


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    return learn_together(tmp_path_factory.mktemp("together"))


def test_two_processes_have_the_losses_of_one(together, tmp_path):
    expected, weights = learn(tmp_path)
    for replicas, history, own_weights in together:
        assert replicas == 2
        assert [r["step"] for r in history] == [r["step"] for r in expected]
        for ours, one in zip(history, expected, strict=True):
            for name in ("loss", "validation_loss"):
                np.testing.assert_allclose(ours[name], one[name], rtol=1e-4)
        for a, b in zip(own_weights, weights, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-3)


def test_all_processes_hold_the_same_weights(together):
    (_, history, weights), (_, other_history, other_weights) = together
    assert history == other_history
    assert all(map(np.array_equal, weights, other_weights))


def test_after_two_deaths_the_same_command_ends_with_the_same_weights(
    together, tmp_path
):
    """한 번은 저장하는 쪽(0)이, 이어 가다가 또 한 번은 다른 쪽이 죽습니다."""
    for victim, step, saved in ((0, 8, 6), (1, 14, 12)):
        results = ["0.npz", "1.npz"]
        workers = start_workers(tmp_path / "run", results, death=(victim, step))
        codes, _ = finish(workers)
        assert codes[victim] == -signal.SIGKILL
        assert codes[1 - victim] != 0, "살아남은 쪽은 혼자 배우지 않고 멈춥니다"
        assert (tmp_path / "run" / f"step-{saved}.index").exists()
    again = learn_together(tmp_path)
    for (_, history, weights), (_, expected_history, expected) in zip(again, together):
        assert history == expected_history
        assert all(map(np.array_equal, weights, expected))
