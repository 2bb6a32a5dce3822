"""손실, 학습률 스케줄, 배치, 학습 루프와 체크포인트 (논문 5장, 6.1절)."""

import errno
import json
import math
import os
import re
import sys
import tempfile
import time
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from transformer_notes import checks

# ---------------------------------------------------------------- 손실과 정확도


@keras.saving.register_keras_serializable(package="transformer_notes")
def masked_cross_entropy(labels, logits, label_smoothing=0.0, pad_id=0):
    r"""로짓에서 바로 구한 크로스 엔트로피를 **진짜 토큰으로만** 평균합니다.

    .. math:: L = -\frac{1}{n} \sum_{t:\, y_t \ne \text{pad}} \sum_v q_t(v) \log p_t(v),
              \qquad p_t = \mathrm{softmax}(z_t)

    q는 정답에 1 - ε을 주고, 정답과 패딩을 뺀 나머지 토큰에 ε을 고르게 나누어 줍니다
    (5.4절의 레이블 스무딩). n은 진짜 토큰의 수입니다.

    로짓의 dtype이 무엇이든 float32 이상에서 계산합니다. `model.compile(loss=...)`에
    그대로 넣을 수 있습니다. 스무딩을 쓰려면 `MaskedCrossEntropy`를 넣습니다.

    Args:
        labels: 정답의 번호, (batch, length). Keras가 실수로 바꾸어 넘긴 것도 받습니다.
        logits: 실수, (batch, length, vocab_size).
        label_smoothing: ε, 0 이상 1 미만. 논문은 0.1입니다.
        pad_id: 패딩 토큰의 번호. 어휘 집합에 없는 번호여도 됩니다.

    Returns:
        스칼라. float32, 로짓이 float64이면 float64. 진짜 토큰이 없으면 0입니다.

    Raises:
        TypeError: 실수가 아닌 로짓, 수가 아닌 `label_smoothing`.
        ValueError: 서로 맞지 않는 모양, 범위를 벗어난 `label_smoothing`, 나누어 줄
            토큰이 없는 어휘 집합.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 정답. GPU와
            `jit_compile=True`에서는 예외 대신 NaN입니다.

    Examples:
        >>> logits = tf.math.log([[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]])
        >>> print(masked_cross_entropy([[2, 0]], logits).numpy())  # -log 0.7
        0.357
        >>> print(masked_cross_entropy([[2, 0]], logits, label_smoothing=0.1).numpy())
        0.482
    """
    losses, real = _token_losses(labels, logits, label_smoothing, pad_id)
    return tf.math.divide_no_nan(tf.reduce_sum(losses), tf.reduce_sum(real))


@keras.saving.register_keras_serializable(package="transformer_notes")
def masked_accuracy(labels, logits, pad_id=0):
    """점수가 가장 높은 토큰이 정답인 비율을 **진짜 토큰에서만** 구합니다.

    Args:
        labels: 정답의 번호, (batch, length).
        logits: 실수, (batch, length, vocab_size).
        pad_id: 패딩 토큰의 번호.

    Returns:
        float32 스칼라. 진짜 토큰이 없으면 0입니다.

    Raises:
        TypeError: 실수가 아닌 로짓.
        ValueError: 서로 맞지 않는 모양.

    Examples:
        >>> logits = tf.math.log([[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]])
        >>> print(masked_accuracy([[2, 0]], logits).numpy())
        1.0
    """
    right, real = _token_hits(labels, logits, pad_id)
    return tf.math.divide_no_nan(tf.reduce_sum(right), tf.reduce_sum(real))


@keras.saving.register_keras_serializable(package="transformer_notes")
class MaskedCrossEntropy(keras.losses.Loss):
    """`masked_cross_entropy`를 `compile`에 넣고 모델과 함께 저장하는 손실입니다.

    배치마다 진짜 토큰으로 평균합니다. `fit`이 보여 주는 에폭의 손실은 그 평균을
    문장의 수로 다시 평균한 것이어서, 토큰으로 평균한 값과 조금 다릅니다.

    Args:
        label_smoothing: ε, 0 이상 1 미만.
        pad_id: 패딩 토큰의 번호.
        **kwargs: `keras.losses.Loss`의 인자 (`name`).

    Examples:
        >>> loss = MaskedCrossEntropy(label_smoothing=0.1)
        >>> logits = tf.math.log([[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]])
        >>> print(loss([[2, 0]], logits).numpy())
        0.482
    """

    def __init__(self, label_smoothing=0.0, pad_id=0, **kwargs):
        super().__init__(**{"name": "masked_cross_entropy", **kwargs})
        self.label_smoothing = checks.rate("label_smoothing", label_smoothing)
        self.pad_id = checks.integer("pad_id", pad_id)

    def call(self, labels, logits):
        return masked_cross_entropy(labels, logits, self.label_smoothing, self.pad_id)

    def get_config(self):
        options = {"label_smoothing": self.label_smoothing, "pad_id": self.pad_id}
        return {**super().get_config(), **options}


@keras.saving.register_keras_serializable(package="transformer_notes")
class MaskedAccuracy(keras.metrics.Metric):
    """맞힌 토큰과 진짜 토큰을 끝까지 세는 정확도입니다.

    함수 `masked_accuracy`를 `compile`에 넣으면 Keras가 배치의 정확도를 평균합니다.
    배치마다 토큰의 수가 다르면 그 값은 전체의 비율이 아닙니다. 이 지표는 나누기를
    마지막에 한 번만 합니다.

    Args:
        pad_id: 패딩 토큰의 번호.
        **kwargs: `keras.metrics.Metric`의 인자 (`name`).
    """

    def __init__(self, pad_id=0, **kwargs):
        super().__init__(**{"name": "masked_accuracy", **kwargs})
        self.pad_id = checks.integer("pad_id", pad_id)
        self.right = self.add_variable((), "zeros", name="right")
        self.tokens = self.add_variable((), "zeros", name="tokens")

    def update_state(self, labels, logits, sample_weight=None):
        right, real = _token_hits(labels, logits, self.pad_id)
        self.right.assign_add(tf.reduce_sum(right))
        self.tokens.assign_add(tf.reduce_sum(real))

    def result(self):
        return keras.ops.divide_no_nan(self.right, self.tokens)

    def get_config(self):
        return {**super().get_config(), "pad_id": self.pad_id}


def _token_losses(labels, logits, label_smoothing, pad_id):
    """토큰마다의 손실과 진짜 토큰의 표시(1과 0). 둘 다 (batch, length)입니다."""
    labels, logits, real = _labels_and_logits(labels, logits, pad_id)
    labels = tf.where(real, labels, 0)  # 패딩의 번호는 어휘 집합에 없을 수도 있습니다
    known = (labels >= 0) & (labels < tf.shape(logits)[-1])
    if checks.rate("label_smoothing", label_smoothing):
        target = _target_distribution(labels, logits, label_smoothing, pad_id)
        # 로짓이 -inf여도 0 · log 0이 0이 되도록, 뺄셈이 넘치지 않을 만큼 작게 둡니다.
        logits = tf.maximum(logits, logits.dtype.min / 2)
        losses = tf.nn.softmax_cross_entropy_with_logits(target, logits)
    else:  # 분포를 펼치지 않고 정답의 -log p만 읽습니다
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            tf.where(known, labels, 0), logits
        )
    losses = checks.nan_unless(
        tf.reduce_all(known), losses, "labels에 어휘 집합에 없는 번호가 있습니다"
    )
    # 곱하지 않고 고릅니다. 패딩 자리의 손실이 NaN이어도 0이 됩니다.
    return tf.where(real, losses, 0.0), tf.cast(real, losses.dtype)


def _target_distribution(labels, logits, smoothing, pad_id):
    """정답에 1 - ε, 패딩에 0, 나머지에 ε을 고르게. (batch, length, vocab_size)."""
    size, dtype = logits.shape[-1], logits.dtype
    if size is None:
        size = tf.shape(logits)[-1]
    elif size < 2 + (0 <= pad_id < size):
        raise ValueError(
            "레이블 스무딩에는 정답과 패딩 말고도 토큰이 있어야 합니다. "
            f"받은 어휘 집합의 크기: {size}. label_smoothing을 0으로 두세요."
        )
    allowed = tf.cast(tf.range(size) != pad_id, dtype)  # (vocab_size,)
    share = smoothing / (tf.reduce_sum(allowed) - 1)
    return allowed * tf.one_hot(labels, size, 1 - smoothing, share, dtype=dtype)


def _token_hits(labels, logits, pad_id):
    labels, logits, real = _labels_and_logits(labels, logits, pad_id)
    right = tf.argmax(logits, axis=-1, output_type=tf.int32) == labels
    return tf.cast(right & real, tf.float32), tf.cast(real, tf.float32)


def _labels_and_logits(labels, logits, pad_id):
    labels = tf.convert_to_tensor(labels)
    logits = checks.float_tensor("logits", logits)
    if logits.dtype != tf.float64:
        logits = tf.cast(logits, tf.float32)
    pad_id = checks.integer("pad_id", pad_id)
    shapes_known = None not in (labels.shape.rank, logits.shape.rank)
    if shapes_known and (
        labels.shape.rank != 2
        or logits.shape.rank != 3
        or not labels.shape.is_compatible_with(logits.shape[:2])
    ):
        raise ValueError(
            "labels와 logits에는 모양 (batch, length)와 (batch, length, vocab_size)가 "
            f"필요합니다. 받은 모양: {labels.shape}, {logits.shape}. "
            "정답과 로짓의 차례, 그리고 정답을 한 칸 밀었는지 살펴보세요."
        )
    labels = tf.cast(labels, tf.int32)
    return labels, logits, labels != pad_id


# ---------------------------------------------------------------- 최적화


@keras.saving.register_keras_serializable(package="transformer_notes")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    r"""학습률을 직선으로 올렸다가 걸음의 제곱근에 반비례하게 내립니다 (5.3절의 식 3).

    .. math:: \eta(s) = d_\text{model}^{-0.5}
              \min\left(s^{-0.5},\; s \cdot \text{warmup\_steps}^{-1.5}\right)

    Keras는 걸음을 0부터 셉니다. 0에서는 1의 값을 줍니다.

    Args:
        d_model: 모델의 차원, 1 이상의 정수.
        warmup_steps: 웜업의 걸음 수, 1 이상의 정수.

    Call arguments:
        step: 걸음. 정수나 실수, 파이썬의 수나 텐서.

    Returns:
        학습률. step이 float64이면 float64, 아니면 Keras의 기본 실수 dtype입니다.

    Raises:
        TypeError: 정수가 아닌 `d_model`이나 `warmup_steps`.
        ValueError: 1보다 작은 `d_model`이나 `warmup_steps`.

    Examples:
        >>> schedule = WarmupSchedule(d_model=512)
        >>> print(f"{schedule(4000).numpy():.2e}")  # 가장 높은 곳
        6.99e-04
        >>> print(bool(schedule(0) == schedule(1)))
        True
    """

    def __init__(self, d_model, warmup_steps=4000):
        self.d_model = checks.positive_int("d_model", d_model)
        self.warmup_steps = checks.positive_int("warmup_steps", warmup_steps)

    def __call__(self, step):
        step = tf.convert_to_tensor(step)
        if step.dtype != tf.float64:
            step = tf.cast(step, keras.config.floatx())
        step = tf.maximum(step, 1)
        slope = self.warmup_steps**-1.5
        return self.d_model**-0.5 * tf.minimum(tf.math.rsqrt(step), step * slope)

    def get_config(self):
        return {"d_model": self.d_model, "warmup_steps": self.warmup_steps}


def adam(d_model, warmup_steps=4000, **kwargs):
    """논문의 Adam입니다 (5.3절): β1 0.9, β2 0.98, ε 1e-9, 웜업 스케줄.

    Args:
        d_model: 모델의 차원.
        warmup_steps: 웜업의 걸음 수.
        **kwargs: `keras.optimizers.Adam`의 다른 인자 (`global_clipnorm` 따위).

    Examples:
        >>> optimizer = adam(d_model=512)
        >>> optimizer.beta_2, optimizer.epsilon
        (0.98, 1e-09)
    """
    schedule = WarmupSchedule(d_model, warmup_steps)
    return keras.optimizers.Adam(
        schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9, **kwargs
    )


# ---------------------------------------------------------------- 배치


class Batches:
    """길이가 비슷한 문장끼리, 토큰의 수가 한도를 넘지 않게 묶은 배치입니다 (5.1절).

    에폭마다 모든 짝이 꼭 한 번 나옵니다. 차례는 `(seed, 에폭)`이 정하므로, 걸음의
    번호만 알면 어느 배치든 바로 만듭니다. 한 에폭의 배치 수는 언제나 같습니다.

    Args:
        pairs: `(source_ids, target_ids)`의 열. 정수이고 길이는 저마다 달라도 됩니다.
            target_ids는 `<bos>`로 시작해 `<eos>`로 끝납니다. 뒤에 붙은 패딩은 뗍니다.
        tokens: 배치 하나의 한도. 패딩까지 세어, 입력도 정답도 이 수를 넘지 않습니다.
        seed: 섞는 씨앗, 0 이상의 정수.
        pad_id: 패딩 토큰의 번호.

    Raises:
        TypeError: 정수가 아닌 번호나 한도.
        ValueError: 빈 데이터, 빈 문장, 한도보다 긴 문장.

    Examples:
        >>> pairs = [([5, 6], [2, 7, 3]), ([8], [2, 9, 3]), ([5, 6, 7, 8], [2, 4, 3])]
        >>> data = Batches(pairs, tokens=4)
        >>> len(data)
        2
        >>> (source_ids, target_ids), labels = data.at(step=0)
        >>> print(target_ids[0], labels[0])  # 정답은 디코더의 입력을 한 칸 민 것
        [2 4] [4 3]
    """

    def __init__(self, pairs, tokens, seed=0, pad_id=0):
        self.tokens = checks.positive_int("tokens", tokens)
        self.seed = checks.integer("seed", seed, minimum=0)
        self.pad_id = checks.integer("pad_id", pad_id)
        pairs = [(_row(s, self.pad_id), _row(t, self.pad_id)) for s, t in pairs]
        if not pairs:
            raise ValueError(
                "pairs에는 (source_ids, target_ids)가 하나라도 필요합니다. "
                "받은 것: 빈 데이터."
            )
        self._sources, self._targets = zip(*pairs)
        # 디코더의 입력은 정답보다 하나 짧습니다.
        self._lengths = np.array([(len(s), len(t) - 1) for s, t in pairs])
        self._check_lengths()
        self._cuts = self._cut(self._lengths[self._by_length(np.arange(len(pairs)))])
        self._order = None, None  # 마지막으로 섞은 에폭과 그 차례

    def __len__(self):
        return len(self._cuts) + 1

    def at(self, step):
        """step번째 걸음의 배치입니다. 에폭이 바뀌면 새로 섞습니다.

        Args:
            step: 학습의 처음부터 센 걸음, 0 이상의 정수.

        Returns:
            `((source_ids, target_ids), labels)`. int32, (batch, 가장 긴 길이)입니다.
            labels는 target_ids를 한 칸 왼쪽으로 민 것입니다.
        """
        epoch, place = divmod(checks.integer("step", step, minimum=0), len(self))
        if self._order[0] != epoch:
            self._order = epoch, self._shuffle(epoch)
        rows = self._order[1][place]
        sources = self._pad([self._sources[row] for row in rows])
        targets = self._pad([self._targets[row] for row in rows])
        return (sources, targets[:, :-1]), targets[:, 1:]

    def epoch(self, number=0):
        """한 에폭의 배치를 차례로 내놓습니다.

        `model.fit(data.epoch(), steps_per_epoch=len(data), shuffle=False)`에도
        그대로 들어갑니다.
        """
        for step in range(number * len(self), (number + 1) * len(self)):
            yield self.at(step)

    def fingerprint(self):
        """데이터와 묶는 방법을 간추린 수. 다른 데이터로 이어 가는 일을 막습니다."""
        total = zlib.crc32(f"{self.tokens} {self.seed} {self.pad_id}".encode())
        for row in (*self._sources, *self._targets):
            total = zlib.crc32(row.tobytes() + b"|", total)
        return total

    def _check_lengths(self):
        for place, (source, target) in enumerate(self._lengths):
            if source < 1 or target < 1:
                raise ValueError(
                    "짝마다 입력에는 토큰 1개, 정답에는 <bos>와 <eos>까지 2개가 "
                    f"있어야 합니다. 받은 것: {place}번째의 {source}개와 {target + 1}"
                    "개. 빈 줄을 걸러 주세요."
                )
            if max(source, target) > self.tokens:
                raise ValueError(
                    f"tokens에는 가장 긴 문장의 길이 이상이 필요합니다. 받은 것: "
                    f"{self.tokens}, {place}번째 짝의 길이 {max(source, target)}. "
                    "긴 문장을 거르거나 tokens를 늘려 주세요."
                )

    def _by_length(self, rows):
        """길이 차례로 늘어놓습니다. 길이가 같은 것끼리는 받은 차례를 지킵니다."""
        source, target = self._lengths[rows].T
        return rows[np.lexsort((source, target, np.maximum(source, target)))]

    def _cut(self, lengths):
        """길이 차례로 놓인 짝을 한도 안에서 앞에서부터 자를 자리입니다."""
        cuts, start, longest = [], 0, 0
        for place, length in enumerate(lengths.max(axis=1)):
            longest = max(longest, length)
            if (place + 1 - start) * longest > self.tokens:
                cuts.append(place)
                start, longest = place, length
        return cuts

    def _shuffle(self, epoch):
        rng = np.random.default_rng([self.seed, epoch])
        rows = self._by_length(rng.permutation(len(self._lengths)))
        groups = np.split(rows, self._cuts)
        return [groups[place] for place in rng.permutation(len(groups))]

    def _pad(self, rows):
        padded = np.full((len(rows), max(map(len, rows))), self.pad_id, np.int32)
        for line, row in zip(padded, rows):
            line[: len(row)] = row
        return padded


def _row(ids, pad_id):
    row = np.asarray(ids)
    if row.ndim != 1 or not (np.issubdtype(row.dtype, np.integer) or row.size == 0):
        raise TypeError(
            "pairs에는 정수 토큰 번호의 1차원 열이 필요합니다. 받은 것: "
            f"{row.dtype} {row.shape}. Tokenizer.encode로 번호를 만들어 주세요."
        )
    real = np.flatnonzero(row != pad_id)
    return row[: real[-1] + 1 if real.size else 0].astype(np.int32)


# ---------------------------------------------------------------- 학습 루프


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
    deterministic=True,
    progress=True,
    tensorboard=False,
):
    """모델을 학습시킵니다. 언제 죽어도 같은 명령으로 이어집니다.

    `save_every` 걸음마다 검증하고 체크포인트를 씁니다. `folder`에 체크포인트가 있으면
    가장 새것에서 이어 갑니다. 망가진 것은 경고하고 그 앞의 것을 씁니다. 가중치,
    옵티마이저, 드롭아웃의 씨앗, 걸음을 모두 되살리므로, 모델을 같은 씨앗으로 만들었다면
    죽지 않고 끝난 학습과 비트까지 같은 가중치로 끝납니다.

    `tf.distribute` 전략의 `scope()` 안에서 모델을 만들고 부르면 그 전략으로 학습합니다.
    배치를 나누어 계산하되 손실은 배치 전체의 토큰으로 평균합니다.

    Args:
        model: `model((source_ids, target_ids), training=...)`이 로짓을 내는 Keras 모델.
        data: 학습할 `Batches`.
        epochs: 에폭 수, 1 이상의 정수. 이어 갈 때 늘려도 됩니다.
        folder: 체크포인트(`step-*`), 가장 좋은 것(`best/`), 기록(`history.json`)을 둘
            폴더.
        validation: 검증할 `Batches`. 주면 손실이 가장 낮은 가중치를 `best/`에 둡니다.
        optimizer: Keras 옵티마이저. None이면 `adam(model.config.d_model)`.
        label_smoothing: 학습 손실의 ε. 검증 손실에는 쓰지 않습니다.
        save_every: 몇 걸음마다 쓸지. None이면 에폭마다.
        keep: 남겨 둘 새 체크포인트의 수.
        deterministic: 같은 입력이 언제나 같은 비트를 내는 연산만 쓸지. 켜면 프로세스
            전체에서 켜집니다.
        progress: 진행 막대를 표준 출력에 그릴지.
        tensorboard: TensorBoard가 읽을 기록을 `folder/logs`에 남길지.

    Returns:
        쓸 때마다의 기록 `{"step", "loss", "validation_loss"}`의 목록. 이어 간 학습도
        처음부터의 기록을 돌려줍니다.

    Raises:
        TypeError: `Batches`가 아닌 데이터, 정수가 아닌 수.
        ValueError: 다른 모델이나 다른 데이터로 만든 체크포인트가 있는 폴더.
        FloatingPointError: 손실이 NaN이 되거나 터졌을 때. 그 걸음을 말합니다.
        OSError: 디스크가 가득 찼을 때. 앞의 체크포인트는 그대로 있습니다.
    """
    _check_data("data", data)
    if validation is not None:
        _check_data("validation", validation)
    if deterministic:
        tf.config.experimental.enable_op_determinism()
    strategy = tf.distribute.get_strategy()
    if optimizer is None:
        optimizer = adam(model.config.d_model)
    model(data.at(0)[0])  # 가중치를 만듭니다
    optimizer.build(model.trainable_variables)

    total = checks.positive_int("epochs", epochs) * len(data)
    save_every = checks.positive_int("save_every", save_every or len(data))
    update = _update_step(strategy, model, optimizer, label_smoothing, data.pad_id)
    evaluate = _evaluation(strategy, model, data.pad_id)
    run = _Run(folder, model, optimizer, data, keep, strategy, tensorboard)
    step = run.restore()
    bar = _Progress(step, total, progress)

    loss_sum = tokens_seen = 0.0
    while step < total:
        loss, tokens, healthy = (x.numpy() for x in update(data.at(step)))
        step += 1
        if not healthy:
            raise FloatingPointError(_explain_explosion(step, loss, run.newest()))
        loss_sum, tokens_seen = loss_sum + loss * tokens, tokens_seen + tokens
        bar.update(step, loss, tokens)
        if step % save_every == 0 or step == total:
            record = {"step": step, "loss": float(loss_sum / tokens_seen)}
            if validation is not None:
                record["validation_loss"] = evaluate(validation)
            run.save(record)
            bar.report(record)
            loss_sum = tokens_seen = 0.0
    return run.history


_IDS = tf.TensorSpec((None, None), tf.int32)
_BATCH = ((_IDS, _IDS), _IDS)  # 길이가 달라도 그래프는 하나입니다


def _update_step(strategy, model, optimizer, label_smoothing, pad_id):
    """한 걸음: 로짓, 손실, 기울기, 갱신. 배치의 손실과 토큰 수, 멀쩡한지를 냅니다."""
    # float16의 손실 스케일러는 넘친 기울기를 스스로 건너뜁니다.
    skips = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)

    def replica_step(batch):
        inputs, labels = _own_rows(batch)
        context = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            losses, real = _token_losses(labels, logits, label_smoothing, pad_id)
            # 나누는 수는 모든 장치의 토큰입니다. 기울기는 Keras가 장치끼리 더합니다.
            tokens = context.all_reduce("sum", tf.reduce_sum(real))
            share = tf.math.divide_no_nan(tf.reduce_sum(losses), tokens)
            scaled = optimizer.scale_loss(share)
        gradients = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        loss = context.all_reduce("sum", share)
        norm = (
            0.0
            if skips
            else context.all_reduce("sum", tf.linalg.global_norm(gradients))
        )
        limit = 10 * math.log(logits.shape[-1])  # 아무렇게나 찍을 때 손실의 열 배
        return loss, tokens, tf.math.is_finite(norm) & (loss < limit)

    @tf.function(input_signature=[_BATCH])
    def update(batch):
        # 모든 장치가 같은 값을 냅니다. 하나만 가져옵니다.
        results = strategy.run(replica_step, (batch,))
        return [strategy.experimental_local_results(x)[0] for x in results]

    return update


def _evaluation(strategy, model, pad_id):
    """스무딩 없는 크로스 엔트로피를 데이터 전체의 토큰으로 평균하는 함수."""

    def replica_step(batch):
        inputs, labels = _own_rows(batch)
        logits = model(inputs, training=False)
        losses, real = _token_losses(labels, logits, 0.0, pad_id)
        return tf.reduce_sum(losses), tf.reduce_sum(real)

    @tf.function(input_signature=[_BATCH])
    def sums(batch):
        results = strategy.run(replica_step, (batch,))
        return [strategy.reduce("SUM", x, axis=None) for x in results]

    def evaluate(data):
        loss, tokens = np.sum([sums(batch) for batch in data.epoch()], 0, np.float64)
        return float(loss / tokens)

    return evaluate


def _own_rows(batch):
    """배치에서 이 장치의 몫: 장치가 R개이면 R줄마다 한 줄입니다."""
    context = tf.distribute.get_replica_context()
    first, count = context.replica_id_in_sync_group, context.num_replicas_in_sync
    if count == 1:
        return batch
    return tf.nest.map_structure(lambda rows: rows[first::count], batch)


def _explain_explosion(step, loss, checkpoint):
    return (
        f"{step}번째 걸음에서 멈추었습니다. 손실: {loss:.4g}. NaN이거나, 아무 토큰이나 "
        "고를 때의 열 배를 넘었거나, 기울기가 유한하지 않습니다. 학습률을 낮추거나 "
        "warmup_steps를 늘리고, adam(..., global_clipnorm=1.0)으로 기울기를 자르고, "
        "float16이라면 bfloat16이나 LossScaleOptimizer를 써 보세요. "
        f"마지막 체크포인트: {checkpoint or '없음'}."
    )


def _check_data(name, data):
    if not isinstance(data, Batches):
        raise TypeError(
            f"{name}에는 Batches가 필요합니다. 받은 것: {type(data).__name__}. "
            "Batches(pairs, tokens=4096)으로 만들어 주세요."
        )


# ---------------------------------------------------------------- 체크포인트


class _Run:
    """학습의 상태를 폴더에 쓰고 되살립니다.

    상태는 가중치, 옵티마이저, 드롭아웃의 씨앗, 걸음, 가장 좋은 검증 손실입니다.
    데이터의 자리는 걸음이 정합니다.
    """

    def __init__(self, folder, model, optimizer, data, keep, strategy, tensorboard):
        self.folder = Path(folder)
        self.history = []
        self.step = tf.Variable(0, dtype=tf.int64)
        self.best = tf.Variable(np.inf, dtype=tf.float64)
        self.data = tf.Variable(data.fingerprint(), dtype=tf.int64)
        weights = [weight.value for weight in model.weights]
        counted = {id(weight) for weight in model.weights}
        # 가중치가 아닌 변수: Dropout이 난수를 뽑을 때마다 바꾸는 씨앗
        seeds = [v.value for v in model.variables if id(v) not in counted]
        self.checkpoint = tf.train.Checkpoint(
            weights=weights,
            optimizer=[variable.value for variable in optimizer.variables],
            seeds=seeds,
            step=self.step,
            best=self.best,
            data=self.data,
        )
        self.home = self.folder
        if not _is_chief(strategy):
            # 여러 기계에서는 모두가 함께 써야 합니다. 남길 것은 하나만 남깁니다.
            self._scratch = tempfile.TemporaryDirectory()
            self.home = Path(self._scratch.name)
        best = tf.train.Checkpoint(weights=weights)
        self.manager = _manager(self.checkpoint, self.home, keep)
        self.best_manager = _manager(best, self.home / "best", keep=1)
        self.writer = None
        if tensorboard and self.home == self.folder:
            self.writer = tf.summary.create_file_writer(str(self.folder / "logs"))

    def restore(self):
        """읽을 수 있는 가장 새 체크포인트를 되살리고 걸음을 돌려줍니다."""
        path = self.newest()
        if path is None:
            return 0
        saved = tf.train.load_checkpoint(path)
        if saved.get_tensor(_key("data")) != self.data.numpy():
            raise ValueError(
                f"{path}에는 다른 데이터로 학습하던 체크포인트가 있습니다. pairs, "
                "tokens, seed를 그때와 같게 하거나 다른 folder를 써 주세요."
            )
        try:
            self.checkpoint.restore(path).assert_consumed()
        except (AssertionError, ValueError, tf.errors.OpError) as error:
            raise ValueError(
                f"{path}에는 다른 모델이나 다른 옵티마이저의 체크포인트가 있습니다. "
                f"설정을 그때와 같게 하거나 다른 folder를 써 주세요. ({error})"
            ) from None
        step = int(self.step.numpy())
        records = _read_history(self.folder / "history.json")
        self.history = [record for record in records if record["step"] <= step]
        return step

    def newest(self):
        return next(_readable(self.folder), None)

    def save(self, record):
        """기록과 체크포인트를 씁니다. 다 쓴 뒤에야 옛것을 지웁니다."""
        self.history.append(record)
        self.step.assign(record["step"])
        loss = record.get("validation_loss", np.inf)
        try:
            self._write_history()
            if loss < self.best.numpy():
                self.best.assign(loss)
                self.best_manager.save(record["step"])
            # 이것이 마지막입니다. 그 앞에서 죽으면 앞의 체크포인트에서 되풀이합니다.
            self.manager.save(record["step"])
            self._log(record)
        except (OSError, tf.errors.ResourceExhaustedError) as error:
            if isinstance(error, OSError) and error.errno != errno.ENOSPC:
                raise
            raise OSError(
                errno.ENOSPC,
                f"디스크가 가득 차서 {record['step']}번째 걸음의 체크포인트를 쓰지 "
                f"못했습니다. 마지막 체크포인트: {self.newest() or '없음'}. "
                "자리를 비우고 같은 명령을 다시 실행하면 거기에서 이어 갑니다",
                str(self.folder),
            ) from error

    def _write_history(self):
        path = self.home / "history.json"
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(self.history, indent=1), encoding="utf-8")
        os.replace(partial, path)

    def _log(self, record):
        if self.writer is None:
            return
        # 지표의 꼴을 스스로 적으면 tensorboard가 깔려 있지 않아도 됩니다.
        metadata = tf.compat.v1.SummaryMetadata()
        metadata.plugin_data.plugin_name = "scalars"
        with self.writer.as_default():
            for name in set(record) - {"step"}:
                tf.summary.write(name, record[name], record["step"], metadata)
        self.writer.flush()


def average_checkpoints(folder, n=5):
    """가장 새 체크포인트 n개의 가중치를 평균합니다 (6.1절).

    논문은 10분마다 쓴 체크포인트를 base에서 5개, big에서 20개 평균했습니다.

    Args:
        folder: `train`의 폴더.
        n: 평균할 체크포인트의 수, 1 이상의 정수.

    Returns:
        가중치의 목록. `model.set_weights(average_checkpoints(folder))`로 넣습니다.

    Raises:
        TypeError: 정수가 아닌 n.
        ValueError: 읽을 수 있는 체크포인트가 n개보다 적은 폴더.
    """
    n = checks.positive_int("n", n)
    paths = [path for _, path in zip(range(n), _readable(Path(folder)))]
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


def _weights(path):
    saved = tf.train.load_checkpoint(path)
    count = sum(
        name.startswith("weights/") for name in saved.get_variable_to_shape_map()
    )
    return [saved.get_tensor(_key(f"weights/{i}")) for i in range(count)]


def _key(name):
    return f"{name}/.ATTRIBUTES/VARIABLE_VALUE"


def _written(folder):
    """다 쓴 체크포인트의 경로를 옛것부터. 색인은 맨 나중에 쓰입니다."""
    numbered = (
        (int(match[1]), str(path.with_suffix("")))
        for path in folder.glob("step-*.index")
        if (match := re.fullmatch(r"step-(\d+)", path.stem))
    )
    return [path for _, path in sorted(numbered)]


def _readable(folder):
    """온전히 읽히는 체크포인트의 경로를 새것부터. 망가진 것은 경고하고 건너뜁니다."""
    for path in reversed(_written(folder)):
        try:
            saved = tf.train.load_checkpoint(path)
            for name in saved.get_variable_to_shape_map():
                saved.get_tensor(name)  # 읽으며 검사합(checksum)을 봅니다
        except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
            warnings.warn(
                f"체크포인트 {path}이(가) 망가져 읽지 못합니다. 그 앞의 것을 씁니다. "
                f"({str(error).splitlines()[0]})",
                RuntimeWarning,
                stacklevel=2,
            )
            continue
        yield path


def _manager(checkpoint, folder, keep):
    """폴더에 실제로 있는 체크포인트로 명부를 다시 적고 관리자를 만듭니다.

    명부가 망가졌거나, 적기 전에 죽었거나, 시계가 뒤로 갔어도 잃지 않습니다.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [os.path.basename(path) for path in _written(folder)]
    if names:
        tf.__internal__.train.update_checkpoint_state(
            str(folder),
            names[-1],
            names,
            all_model_checkpoint_timestamps=[1.0 + i for i in range(len(names))],
            last_preserved_timestamp=0.0,
        )
    return tf.train.CheckpointManager(checkpoint, folder, keep, checkpoint_name="step")


def _read_history(path):
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        if all(type(record["step"]) is int for record in records):
            return records
    except (OSError, ValueError, TypeError, KeyError):
        pass
    return []  # 기록이 없어도 학습은 이어집니다


def _is_chief(strategy):
    """여러 기계 가운데 쓰는 일을 맡은 하나인지."""
    resolver = strategy.cluster_resolver
    if resolver is None or resolver.task_type in (None, "", "chief"):
        return True
    alone = "chief" not in resolver.cluster_spec().as_dict()
    return alone and resolver.task_type == "worker" and resolver.task_id == 0


# ---------------------------------------------------------------- 진행 막대


class _Progress:
    """걸음, 손실, 토큰의 빠르기, 남은 시간. 터미널이 아니면 쓸 때마다 한 줄입니다."""

    def __init__(self, step, total, shown, stream=None):
        self.first, self.step, self.total = step, step, total
        self.stream = sys.stdout if stream is None else stream
        self.shown, self.live = shown, shown and self.stream.isatty()
        self.start, self.tokens, self.drawn = None, 0, 0.0

    def update(self, step, loss, tokens):
        now = time.monotonic()
        self.step = step
        if self.start is None:  # 첫 걸음은 그래프를 만드는 시간이므로 세지 않습니다
            self.start, self.first = now, step
        else:
            self.tokens += tokens
        if self.live and (now - self.drawn > 0.2 or step == self.total):
            self.drawn = now
            self.stream.write(f"\r\x1b[K{self._line(loss, now)}")
            self.stream.flush()

    def report(self, record):
        if not self.shown:
            return
        line = self._line(record["loss"], time.monotonic())
        if "validation_loss" in record:
            line += f"  검증 손실 {record['validation_loss']:.4f}"
        self.stream.write(("\r\x1b[K" if self.live else "") + line + "\n")
        self.stream.flush()

    def _line(self, loss, now):
        width = 20
        done = width * self.step // self.total
        bar = "█" * done + "·" * (width - done)
        line = f"{bar} {self.step:,}/{self.total:,}걸음  손실 {loss:.4f}"
        seconds, steps = now - self.start, self.step - self.first
        if steps and seconds:
            left = seconds / steps * (self.total - self.step)
            line += f"  {self.tokens / seconds:,.0f}토큰/초  남은 시간 {_clock(left)}"
        return line


def _clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Score(NamedTuple):
    loss: float
    accuracy: float


def evaluate(model, data):
    accuracy, total, tokens = MaskedAccuracy(), 0.0, 0
    for inputs, labels in data.epoch():
        logits = model(inputs)
        accuracy.update_state(labels, logits)
        real = int((labels != data.pad_id).sum())
        total += float(masked_cross_entropy(labels, logits)) * real
        tokens += real
    return Score(total / tokens, float(accuracy.result()))
