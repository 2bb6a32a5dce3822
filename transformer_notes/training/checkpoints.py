"""학습의 상태를 폴더에 쓰고 되살리고 평균합니다 (논문 6.1절).

폴더에는 체크포인트 `step-N.index`와 `step-N.data-*`, 검증 손실이 가장 낮은 가중치를 둔
`best/`, 기록 `history.json`이 있습니다.
"""

import errno
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import tensorflow as tf

from transformer_notes._files import contents, replacing, saved_steps

LARGEST_HISTORY = 2**26  # 읽을 기록의 가장 큰 크기, 바이트


def average_checkpoints(folder, n=5):
    """가장 새 체크포인트 n개의 가중치를 평균합니다 (6.1절).

    논문은 base에서 10분마다 쓴 체크포인트 5개를, big에서는 20개를 평균했습니다.

    Args:
        folder: `train`의 폴더.
        n: 평균할 체크포인트의 수.

    Returns:
        가중치의 목록. `model.set_weights(average_checkpoints(folder))`로 넣습니다.

    Raises:
        ValueError: 읽을 수 있는 체크포인트가 n개보다 적은 폴더.
    """
    paths = [path for _, path in zip(range(n), _readable(folder))]
    if len(paths) < n:
        raise ValueError(
            f"{folder}에는 체크포인트 {n}개가 필요합니다. 받은 것: {len(paths)}개. "
            "n을 줄이거나, train의 keep을 늘리거나, 폴더를 살펴보세요."
        )
    return [
        np.mean(same, axis=0, dtype=np.float64).astype(same[0].dtype)
        for same in zip(*map(_weights, paths))
    ]


def best_checkpoint(folder):
    """검증 손실이 가장 낮았던 가중치의 목록입니다.

    Args:
        folder: `train`의 폴더.

    Raises:
        ValueError: 검증하며 학습한 적이 없는 폴더.
    """
    path = next(_readable(Path(folder) / "best"), None)
    if path is None:
        raise ValueError(
            f"{folder}에는 검증하며 학습한 기록이 필요합니다. 받은 것: best가 없는 "
            "폴더. train에 validation을 넘겨 주세요."
        )
    return _weights(path)


def readable_checkpoints(folder):
    """온전히 읽히는 체크포인트를 새것부터 내놓습니다. 망가진 것은 경고합니다.

    Args:
        folder: `train`의 폴더나 그 안의 `best`.

    Yields:
        `(스텝, 학습한 Batches의 지문)`. `train`이 쓰지 않은 것의 지문은 None입니다.
    """
    data = _key("data")
    for path in _readable(folder):
        saved = tf.train.load_checkpoint(path)
        fingerprint = int(saved.get_tensor(data)) if saved.has_tensor(data) else None
        yield int(path.rpartition("-")[2]), fingerprint


class Checkpoints:
    """학습의 상태를 폴더에 쓰고 되살립니다. `train`이 씁니다.

    상태는 가중치, 옵티마이저, 드롭아웃의 시드, 스텝, 가장 좋은 검증 손실입니다.
    데이터의 자리는 스텝이 정합니다. 여러 기계로 학습하면 그 가운데 하나만 `folder`에
    씁니다.

    Args:
        folder: 체크포인트를 둘 폴더. 없으면 만듭니다.
        model: 가중치가 만들어진 Keras 모델.
        optimizer: 변수가 만들어진 Keras 옵티마이저.
        data: 학습할 `Batches`. 다른 데이터로 이어 가는 일을 막습니다.
        keep: 남겨 둘 새 체크포인트의 수.
        tensorboard: TensorBoard가 읽을 기록을 `folder/logs`에 남길지.

    Attributes:
        history: `save`에 넘긴 기록의 목록. `restore`가 폴더의 것으로 채웁니다.

    Examples:
        >>> import keras
        >>> from transformer_notes.training.batches import Batches
        >>> def begin(folder, units=2, seed=0):
        ...     model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(units)])
        ...     data, sgd = Batches([([5], [2, 3])], 1, seed), keras.optimizers.SGD()
        ...     sgd.build(model.trainable_variables)
        ...     return model, Checkpoints(folder, model, sgd, data, 2, tensorboard=True)
        >>> folder = Path(tempfile.mkdtemp()) / "runs" / "1"
        >>> model, state = begin(folder)
        >>> state.restore()  # 아직 없습니다
        0
        >>> for step, loss in [(1, 0.9), (2, 0.5), (3, 0.5)]:
        ...     model.set_weights([np.full((1, 2), step), np.zeros(2)])
        ...     state.save({"step": step, "loss": 1.0, "validation_loss": loss})
        >>> sorted({path.stem for path in folder.glob("step-*")})  # 새것 둘
        ['step-2', 'step-3']
        >>> sorted(path.stem for path in (folder / "best").glob("*.index"))
        ['step-2']
        >>> print(best_checkpoint(folder)[0], average_checkpoints(folder, n=2)[0])
        [[2. 2.]] [[2.5 2.5]]
        >>> mark = Batches([([5], [2, 3])], 1).fingerprint()
        >>> for place in folder, folder / "best":
        ...     print([(step, x == mark) for step, x in readable_checkpoints(place)])
        [(3, True), (2, True)]
        [(2, True)]
        >>> average_checkpoints(folder)  # base처럼 다섯
        Traceback (most recent call last):
            ...
        ValueError: ...체크포인트 5개가 필요합니다. 받은 것: 2개...
        >>> (log,) = (folder / "logs").iterdir()  # 쓸 때마다 보입니다
        >>> events = tf.compat.v1.train.summary_iterator(str(log))
        >>> sorted({value.tag for event in events for value in event.summary.value})
        ['loss', 'validation_loss']
        >>> again, state = begin(folder)
        >>> state.restore(), again.get_weights()[0].tolist(), len(state.history)
        (3, [[3.0, 3.0]], 3)
        >>> state.save({"step": 4, "loss": 1.0, "validation_loss": 0.6})
        >>> saved_steps(folder / "best")  # 이어 가도 가장 좋은 것을 잊지 않습니다
        [2]
        >>> begin(folder, units=3)[1].restore()
        Traceback (most recent call last):
            ...
        ValueError: ...다른 옵티마이저의 체크포인트가 있습니다...
        >>> begin(folder, seed=1)[1].restore()
        Traceback (most recent call last):
            ...
        ValueError: ...다른 데이터로 학습하던 체크포인트가 있습니다...
        >>> best_checkpoint(folder / "logs")
        Traceback (most recent call last):
            ...
        ValueError: ...검증하며 학습한 기록이 필요합니다. ...
        >>> part = folder / "step-4.data-00000-of-00001"
        >>> _ = part.write_bytes(part.read_bytes()[::-1])  # 길이는 같은데 망가졌습니다
        >>> _ = (folder / "history.json").write_text("")
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     begin(folder)[1].restore()
        3
        >>> for warning in caught:
        ...     print(warning.category.__name__, warning.message)
        RuntimeWarning 체크포인트 ...step-4이(가) 망가져 ...
        RuntimeWarning 기록 ...history.json을(를) 읽지 ...
    """

    def __init__(self, folder, model, optimizer, data, keep, tensorboard):
        self.folder = self._home = Path(folder)
        self.keep = keep
        self.history = []
        self._step = tf.Variable(0, dtype=tf.int64)
        self._best_loss = tf.Variable(np.inf, dtype=tf.float64)
        self._data = tf.Variable(data.fingerprint(), dtype=tf.int64)
        weights = [weight.value for weight in model.weights]
        counted = {id(weight) for weight in model.weights}
        self._state = tf.train.Checkpoint(
            weights=weights,
            optimizer=[variable.value for variable in optimizer.variables],
            # 가중치가 아닌 변수: Dropout이 난수를 뽑을 때마다 바꾸는 시드
            seeds=[v.value for v in model.variables if id(v) not in counted],
            step=self._step,
            best=self._best_loss,
            data=self._data,
        )
        self._best = tf.train.Checkpoint(weights=weights, data=self._data)
        chief = _is_chief(tf.distribute.get_strategy())
        if not chief:
            # 여러 기계에서는 모두가 함께 써야 합니다. 남길 것은 하나만 남깁니다.
            self._scratch = tempfile.TemporaryDirectory()
            self._home = Path(self._scratch.name)
        self._writer = None
        if tensorboard and chief:
            self._writer = tf.summary.create_file_writer(str(self.folder / "logs"))

    def restore(self):
        """읽을 수 있는 가장 새 체크포인트를 되살립니다.

        망가진 체크포인트는 경고하고 건너뜁니다. 망가진 `history.json`도 경고하고 기록을
        새로 시작합니다. 기록은 학습에 쓰이지 않습니다.

        Returns:
            되살린 스텝. 체크포인트가 없으면 0입니다.

        Raises:
            ValueError: 다른 모델이나 다른 데이터로 만든 체크포인트.
        """
        path = self.newest()
        if path is None:
            return 0
        saved = tf.train.load_checkpoint(path)
        data = _key("data")
        if not saved.has_tensor(data) or saved.get_tensor(data) != self._data.numpy():
            raise ValueError(
                f"{path}에는 다른 데이터로 학습하던 체크포인트가 있습니다. pairs, "
                "tokens, seed를 그때와 같게 하거나 다른 folder를 써 주세요."
            )
        try:
            self._state.restore(path).assert_consumed()
        except (AssertionError, ValueError, tf.errors.OpError) as error:
            raise ValueError(
                f"{path}에는 다른 모델이나 다른 옵티마이저의 체크포인트가 있습니다. "
                f"설정을 그때와 같게 하거나 다른 folder를 써 주세요. ({error})"
            ) from None
        step = int(self._step.numpy())
        self.history = _read_history(self.folder / "history.json", step)
        return step

    def newest(self):
        """읽을 수 있는 가장 새 체크포인트의 경로. 없으면 None입니다."""
        return next(_readable(self.folder), None)

    def save(self, record):
        """기록과 체크포인트를 씁니다. 다 쓴 뒤에야 옛것을 지웁니다.

        Args:
            record: `{"step", "loss"}`에, 검증했으면 `"validation_loss"`. 파이썬의 수.

        Raises:
            OSError: 디스크가 가득 찼을 때. 앞의 체크포인트는 그대로 있습니다.
        """
        step = record["step"]
        self.history.append(record)
        self._step.assign(step)
        loss = record.get("validation_loss", np.inf)
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            with replacing(self._home / "history.json") as partial:
                partial.write_text(json.dumps(self.history), encoding="utf-8")
            if loss < self._best_loss.numpy():
                self._best_loss.assign(loss)
                _write(self._best, self._home / "best", step, keep=1)
            # 이것이 마지막입니다. 그 앞에서 죽으면 앞의 체크포인트에서 되풀이합니다.
            _write(self._state, self._home, step, self.keep)
            self._log(record)
        except tf.errors.ResourceExhaustedError as error:
            raise OSError(
                errno.ENOSPC,
                f"디스크가 가득 차서 {step}번째 스텝의 체크포인트를 쓰지 "
                f"못했습니다. 마지막 체크포인트: {self.newest() or '없음'}. "
                "자리를 비우고 같은 명령을 다시 실행하면 거기에서 이어 갑니다",
                str(self.folder),
            ) from error

    def _log(self, record):
        if self._writer is None:
            return
        # 지표의 꼴을 스스로 적으면 tensorboard가 깔려 있지 않아도 됩니다.
        metadata = tf.compat.v1.SummaryMetadata()
        metadata.plugin_data.plugin_name = "scalars"
        with self._writer.as_default():
            for name in set(record) - {"step"}:
                tf.summary.write(name, record[name], record["step"], metadata)


def _write(checkpoint, folder, step, keep):
    """step-N을 쓰고 새것 keep개만 남깁니다.

    step보다 앞선 것도 지웁니다. 망가져서 건너뛰었거나, 쓰다가 죽어 버려진 것입니다.
    """
    folder.mkdir(exist_ok=True)
    checkpoint.save_counter.assign_add(1)  # restore가 이 변수를 찾습니다
    checkpoint.write(folder / f"step-{step}")
    written = saved_steps(folder)
    kept = [number for number in written if number <= step][-keep:]
    for number in set(written) - set(kept):
        # 색인부터 지웁니다. 지우다가 죽으면 남은 조각은 체크포인트로 세지 않습니다.
        (folder / f"step-{number}.index").unlink()
        for part in folder.glob(f"step-{number}.data-*"):
            part.unlink()


def _readable(folder):
    """온전히 읽히는 체크포인트의 경로를 새것부터. 망가진 것은 경고하고 건너뜁니다."""
    for step in reversed(saved_steps(folder)):
        path = str(Path(folder) / f"step-{step}")
        try:
            saved = tf.train.load_checkpoint(path)
            for name in saved.get_variable_to_shape_map():
                saved.get_tensor(name)  # 읽으며 검사합(checksum)을 봅니다
        except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
            warnings.warn(
                f"체크포인트 {path}이(가) 망가져 읽지 못합니다. 그 앞의 것을 씁니다. "
                f"({str(error).splitlines()[0]})",
                RuntimeWarning,
            )
            continue
        yield path


def _weights(path):
    saved = tf.train.load_checkpoint(path)
    count = sum(
        name.startswith("weights/") for name in saved.get_variable_to_shape_map()
    )
    return [saved.get_tensor(_key(f"weights/{i}")) for i in range(count)]


def _key(name):
    return f"{name}/.ATTRIBUTES/VARIABLE_VALUE"


def _read_history(path, step):
    """그 스텝까지의 기록. 읽지 못하면 경고하고 새로 시작합니다."""
    try:
        records = json.loads(contents(path, LARGEST_HISTORY).decode("utf-8"))
        return [record for record in records if record["step"] <= step]
    except (KeyError, OSError, RecursionError, TypeError, ValueError):
        warnings.warn(
            f"기록 {path}을(를) 읽지 못합니다. 가중치는 체크포인트에서 그대로 이어 "
            "가고, 기록은 새로 시작합니다.",
            RuntimeWarning,
        )
        return []


def _is_chief(strategy):
    """여러 기계 가운데 쓰는 일을 맡은 하나인지."""
    resolver = strategy.cluster_resolver
    if resolver is None or resolver.task_type in (None, "", "chief"):
        return True
    alone = "chief" not in resolver.cluster_spec().as_dict()
    return alone and resolver.task_type == "worker" and resolver.task_id == 0
