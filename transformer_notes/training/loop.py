"""학습 루프와 채점 (논문 5장, 6.1절)."""

import sys
import time
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from transformer_notes import _arguments
from transformer_notes.training.checkpoints import Checkpoints
from transformer_notes.training.losses import token_hits, token_losses
from transformer_notes.training.schedules import adam

#: 손실이 이보다 크면 터진 것입니다. 정답의 확률이 e⁻¹⁰⁰보다 작습니다.
_EXPLODED = 100.0


def train(
    model,
    data,
    epochs,
    folder,
    validation=None,
    optimizer=None,
    label_smoothing=0.1,
    save_every=None,
    keep=5,
    progress=True,
    tensorboard=False,
):
    """모델을 학습시킵니다. 언제 죽어도 같은 명령으로 이어집니다.

    `save_every` 스텝마다 검증하고 체크포인트를 씁니다. `folder`에 체크포인트가 있으면
    가장 새것에서 이어 갑니다. 망가진 것은 경고하고 그 앞의 것을 씁니다. 기록이
    망가졌으면 경고하고 기록만 새로 시작합니다.

    가중치, 옵티마이저, 드롭아웃의 시드, 스텝을 모두 되살립니다. 모델을 같은 시드로
    만들었고 `tf.config.experimental.enable_op_determinism()`을 켰다면, 죽지 않고 끝난
    학습과 비트까지 같은 가중치로 끝납니다. 프로세스의 모든 연산을 바꾸는 설정이므로
    `train`은 켜지 않습니다. 부르는 쪽이 정합니다.

    `tf.distribute` 전략의 `scope()` 안에서 모델을 만들고 부르면 그 전략으로 학습합니다.
    배치를 나누어 계산하되 손실은 배치 전체의 토큰으로 평균합니다.

    Args:
        model: `model((source_ids, target_ids), training=...)`이 로짓을 내는 Keras 모델.
        data: 학습할 `Batches`.
        epochs: 에폭 수. 이어 갈 때 늘려도 됩니다.
        folder: 체크포인트(`step-*`), 가장 좋은 것(`best/`), 기록(`history.json`)을 둘
            폴더.
        validation: 검증할 `Batches`. 주면 손실이 가장 낮은 가중치를 `best/`에 둡니다.
        optimizer: Keras 옵티마이저. None이면 `adam(model.config.d_model)`.
        label_smoothing: 학습 손실의 ε. 검증 손실에는 쓰지 않습니다.
        save_every: 몇 스텝마다 쓸지. None이면 에폭마다.
        keep: 남겨 둘 새 체크포인트의 수.
        progress: 진행을 표준 출력에 적을지. 터미널에는 막대를 그리고, 쓸 때마다 한 줄을
            적습니다. 터미널이 아니면 그 줄만 적습니다.
        tensorboard: TensorBoard가 읽을 기록을 `folder/logs`에 남길지.

    Returns:
        쓸 때마다의 기록 `{"step", "loss", "validation_loss"}`의 목록. 이어 간 학습도
        처음부터의 기록을 돌려줍니다.

    Raises:
        TypeError: 정수가 아닌 `epochs`, `save_every`, `keep`.
        ValueError: 1보다 작은 `epochs`, `save_every`, `keep`. 다른 모델이나 다른
            데이터로 만든 체크포인트가 있는 폴더.
        FloatingPointError: 손실이 NaN이 되거나 터졌을 때. 그 스텝을 말합니다.
        OSError: 디스크가 가득 찼을 때. 앞의 체크포인트는 그대로 있습니다.

    Examples:
        가중치가 움직이지 않는 학습의 손실은 채점한 손실과 같습니다.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from transformer_notes.training.batches import Batches
        >>> from transformer_notes.transformer import Transformer, TransformerConfig
        >>> sizes = {"d_model": 4, "num_heads": 2, "num_layers": 1, "d_ff": 4}
        >>> config = TransformerConfig(8, dropout=0.0, **sizes)
        >>> pairs = [([5], [2, 6, 3]), ([5, 6, 7], [2, 4, 5, 6, 3])]
        >>> model, data = Transformer(config), Batches(pairs, tokens=4)
        >>> how = {"optimizer": keras.optimizers.SGD(0.0), "label_smoothing": 0.0}
        >>> how |= {"validation": data}
        >>> folder = tempfile.mkdtemp()
        >>> (record,) = train(model, data, 1, folder, progress=False, **how)
        >>> losses = record["loss"], record["validation_loss"]
        >>> record["step"], np.allclose(losses, evaluate(model, data).loss)
        (2, True)
        >>> records = train(model, data, 2, folder, **how)
        4/4스텝  손실 ...토큰/초  남은 시간 0:00  검증 손실 ...
        >>> records = train(model, data, 6, folder, progress=False, **how)
        >>> len(records), sorted(path.stem for path in Path(folder).glob("*.index"))
        (6, ['step-10', 'step-12', 'step-4', 'step-6', 'step-8'])
        >>> sorted(path.name for path in Path(folder).glob("[!s]*"))
        ['best', 'history.json']
        >>> np.allclose([record["loss"] for record in records], record["loss"])
        True
    """
    optimizer = adam(model.config.d_model) if optimizer is None else optimizer
    model(next(data.epoch())[0])  # 가중치를 만듭니다
    optimizer.build(model.trainable_variables)

    total = _arguments.positive_int("epochs", epochs) * len(data)
    save_every = len(data) if save_every is None else save_every
    save_every = _arguments.positive_int("save_every", save_every)
    keep = _arguments.positive_int("keep", keep)
    update = update_step(model, optimizer, label_smoothing, data.pad_id)
    score = None if validation is None else _scoring(model, validation.pad_id)
    state = Checkpoints(folder, model, optimizer, data, keep, tensorboard)
    step = state.restore()

    loss_sum = tokens_seen = 0.0
    with _Progress(step, total, progress) as bar:
        while step < total:
            loss, tokens, healthy = (x.numpy() for x in update(data.at(step)))
            step += 1
            if not healthy:
                raise FloatingPointError(_explain_explosion(step, loss, state.newest()))
            loss_sum, tokens_seen = loss_sum + loss * tokens, tokens_seen + tokens
            bar.update(step, loss, tokens)
            if step % save_every == 0 or step == total:
                record = {"step": step, "loss": float(loss_sum / tokens_seen)}
                if score is not None:
                    record["validation_loss"] = score(validation).loss
                state.save(record)
                bar.report(record)
                loss_sum = tokens_seen = 0.0
    return state.history


class Scores(NamedTuple):
    """진짜 토큰으로 평균한 점수입니다."""

    #: 스무딩 없는 크로스 엔트로피.
    loss: float
    #: 맞힌 토큰의 비율, 0과 1 사이.
    accuracy: float


def evaluate(model, data):
    """모델을 데이터 전체에서 채점합니다. 진짜 토큰을 모두 세어 한 번만 나눕니다.

    지금의 `tf.distribute` 전략으로 배치를 나누어 계산합니다. 나누어도 점수는 같습니다.
    드롭아웃과 레이블 스무딩은 쓰지 않습니다. 부를 때마다 그래프를 하나 만듭니다.

    Args:
        model: `model((source_ids, target_ids), training=...)`이 로짓을 내는 Keras 모델.
        data: 채점할 `Batches`. 한도는 점수를 바꾸지 않습니다.

    Returns:
        `Scores(loss, accuracy)`. 파이썬의 실수입니다.

    Examples:
        >>> from transformer_notes.training.batches import Batches
        >>> def always_six(inputs, training):  # 학습할 때만 다르게 답합니다
        ...     answer = 7 if training else 6
        ...     return tf.one_hot(tf.fill(tf.shape(inputs[1]), answer), depth=8)
        >>> pairs = [([5], [2, 6, 3]), ([5, 7], [2, 6, 6, 4, 3])]  # 여섯 가운데 셋
        >>> scores = evaluate(always_six, Batches(pairs, tokens=4))
        >>> print(f"{scores.loss:.3f} {scores.accuracy:.3f}")
        1.774 0.500
    """
    return _scoring(model, data.pad_id)(data)


_IDS = tf.TensorSpec((None, None), tf.int32)
_BATCH = ((_IDS, _IDS), _IDS)  # 길이가 달라도 그래프는 하나입니다


def update_step(model, optimizer, label_smoothing=0.1, pad_id=0):
    """한 스텝을 하는 함수를 만듭니다: 로짓, 손실, 기울기, 갱신.

    `train`이 되풀이하는 스텝입니다. 지금의 `tf.distribute` 전략으로 배치를 나누어
    계산합니다.

    Args:
        model: 가중치가 만들어진 Keras 모델.
        optimizer: 변수가 만들어진 Keras 옵티마이저.
        label_smoothing: ε, 0 이상 1 미만.
        pad_id: 패딩 토큰의 번호.

    Returns:
        `Batches.at`이 내는 배치를 받아 `(loss, tokens, healthy)`를 내는 함수.

        - loss: 갱신하기 전의 손실을 진짜 토큰으로 평균한 것, float32 스칼라.
        - tokens: 진짜 토큰의 수, float32 스칼라.
        - healthy: 손실도 기울기도 멀쩡한지, 불리언 스칼라. 거짓이어도 갱신은 합니다.

    Examples:
        >>> from transformer_notes.training.batches import Batches
        >>> source, target = (keras.Input((None,), dtype="int32") for _ in range(2))
        >>> embed = keras.layers.Embedding(8, 8, embeddings_initializer="identity")
        >>> model = keras.Model((source, target), embed(target))
        >>> sgd = keras.optimizers.SGD(1.0)
        >>> sgd.build(model.trainable_variables)
        >>> batch = Batches([([5], [2, 3]), ([5], [2, 6, 3])], tokens=4).at(0)
        >>> update = update_step(model, sgd)
        >>> for _ in range(2):  # 진짜 토큰은 셋
        ...     loss, tokens, healthy = update(batch)
        ...     print(f"{loss:.3f} {tokens:.0f} {healthy}")
        2.257 3 True
        2.022 3 True
    """
    strategy = tf.distribute.get_strategy()
    # float16의 손실 스케일러는 넘친 기울기를 스스로 건너뜁니다.
    skips = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)

    def replica_step(batch):
        inputs, labels = own_rows(batch)
        context = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            losses, real = token_losses(labels, logits, label_smoothing, pad_id)
            # 나누는 수는 모든 장치의 토큰입니다. 기울기는 Keras가 장치끼리 더합니다.
            tokens = context.all_reduce("sum", tf.reduce_sum(real))
            share = tf.math.divide_no_nan(tf.reduce_sum(losses), tokens)
            scaled = optimizer.scale_loss(share)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        loss = context.all_reduce("sum", share)
        finite = skips or tf.math.is_finite(
            context.all_reduce("sum", tf.linalg.global_norm(gradients))
        )
        return loss, tokens, finite & (loss < _EXPLODED)

    @tf.function(input_signature=[_BATCH])
    def update(batch):
        # 모든 장치가 같은 값을 냅니다. 하나만 가져옵니다.
        results = strategy.run(replica_step, (batch,))
        return [strategy.experimental_local_results(x)[0] for x in results]

    return update


def _scoring(model, pad_id):
    """데이터를 받아 `Scores`를 내는 함수. 그래프는 하나입니다."""
    strategy = tf.distribute.get_strategy()

    def replica_step(batch):
        inputs, labels = own_rows(batch)
        logits = model(inputs, training=False)
        losses, real = token_losses(labels, logits, pad_id=pad_id)
        hits, _ = token_hits(labels, logits, pad_id)
        return [tf.reduce_sum(x) for x in (losses, hits, real)]

    @tf.function(input_signature=[_BATCH])
    def sums(batch):
        results = strategy.run(replica_step, (batch,))
        return [strategy.reduce("SUM", x, axis=None) for x in results]

    def score(data):
        loss, hits, real = np.sum([sums(batch) for batch in data.epoch()], 0, float)
        return Scores(float(loss / real), float(hits / real))

    return score


def own_rows(batch):
    """배치에서 이 장치의 몫을 고릅니다: 장치가 R개이면 R줄마다 한 줄입니다.

    `strategy.run`이 부르는 함수 안에서만 뜻이 있습니다. 밖에서는 장치가 하나입니다.

    Args:
        batch: 첫 축이 batch인 텐서의 묶음. 모든 장치가 같은 것을 받습니다.

    Returns:
        같은 꼴의 묶음. 줄은 batch를 R로 나눈 만큼이고, 남는 줄은 앞의 장치가 가집니다.
    """
    context = tf.distribute.get_replica_context()
    first, count = context.replica_id_in_sync_group, context.num_replicas_in_sync
    return tf.nest.map_structure(lambda rows: rows[first::count], batch)


def _explain_explosion(step, loss, checkpoint):
    return (
        f"{step}번째 스텝에서 멈추었습니다. 손실: {loss:.4g}. NaN이거나, "
        f"{_EXPLODED:.0f}을 넘었거나, 기울기가 유한하지 않습니다. 학습률을 낮추거나 "
        "warmup_steps를 늘리고, adam(..., global_clipnorm=1.0)으로 기울기를 자르고, "
        "float16이라면 bfloat16이나 LossScaleOptimizer를 써 보세요. "
        f"마지막 체크포인트: {checkpoint or '없음'}."
    )


class _Progress:
    """스텝, 손실, 토큰의 빠르기, 남은 시간. 막대는 끝나거나 멈추면 지웁니다."""

    def __init__(self, step, total, shown):
        self.step, self.total, self.shown = step, total, shown
        self.start, self.tokens = None, 0
        isatty = getattr(sys.stdout, "isatty", bool)
        # rich는 환경 변수나 노트북을 보고 터미널이 아닌 곳에도 막대를 그립니다.
        live = shown and isatty()
        self.bar = Progress(
            BarColumn(20),
            TextColumn("{task.description}"),
            console=Console(),
            transient=True,
            redirect_stderr=False,  # 파일로 보낸 경고를 터미널로 가져오지 않습니다
            disable=not live,
        )
        begun = f"{step:,}/{total:,}스텝"
        self.task = self.bar.add_task(begun, total=total, completed=step)

    def __enter__(self):
        self.bar.start()
        return self

    def __exit__(self, *error):
        self.bar.stop()

    def update(self, step, loss, tokens):
        now = time.monotonic()
        if self.start is None:  # 첫 스텝은 그래프를 만드는 시간이므로 세지 않습니다
            self.start, self.first = now, step
        else:
            self.tokens += tokens
        self.step, self.seconds = step, now - self.start
        self.bar.update(self.task, completed=step, description=self._line(loss))

    def report(self, record):
        if self.shown:
            line = self._line(record["loss"])
            if "validation_loss" in record:
                line += f"  검증 손실 {record['validation_loss']:.4f}"
            print(line, flush=True)  # 막대가 있으면 그 위에 적힙니다

    def _line(self, loss):
        line = f"{self.step:,}/{self.total:,}스텝  손실 {loss:.4f}"
        if self.tokens and self.seconds:
            a_step = self.seconds / (self.step - self.first)
            left = _clock(a_step * (self.total - self.step))
            line += f"  {self.tokens / self.seconds:,.0f}토큰/초  남은 시간 {left}"
        return line


def _clock(seconds):
    """시계처럼 적은 시간입니다.

    >>> _clock(59.6), _clock(3661)
    ('1:00', '1:01:01')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
