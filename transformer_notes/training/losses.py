"""진짜 토큰으로만 평균하는 손실과 정확도 (논문 5.4절)."""

import keras
import tensorflow as tf

from transformer_notes import _arguments


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
        ValueError: 서로 맞지 않는 모양, 범위를 벗어난 `label_smoothing`, 나누어 줄
            토큰이 없는 어휘 집합.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 정답.

    Examples:
        >>> logits = tf.math.log([[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]])
        >>> print(masked_cross_entropy([[2, 0]], logits).numpy())  # -log 0.7
        0.357
        >>> print(masked_cross_entropy([[2, 0]], logits, label_smoothing=0.1).numpy())
        0.482
        >>> for dtype in "bfloat16", "float64":
        ...     print(masked_cross_entropy([[2, 0]], tf.cast(logits, dtype)).dtype.name)
        float32
        float64
        >>> masked_cross_entropy([[1, 1]], logits[..., :2], label_smoothing=0.1)
        Traceback (most recent call last):
            ...
        ValueError: ...정답과 패딩 말고도 토큰이 있어야 합니다...
    """
    losses, real = token_losses(labels, logits, label_smoothing, pad_id)
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
        ValueError: 서로 맞지 않는 모양.

    Examples:
        >>> logits = tf.one_hot([[2, 2, 2]], depth=3)
        >>> print(masked_accuracy([[2, 1, 0]], logits).numpy())  # 맞음, 틀림, 패딩
        0.5
    """
    hits, real = token_hits(labels, logits, pad_id)
    return tf.math.divide_no_nan(tf.reduce_sum(hits), tf.reduce_sum(real))


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
        >>> loss = MaskedCrossEntropy(label_smoothing=0.1, name="smoothed")
        >>> logits = tf.math.log([[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]])
        >>> for each in loss, MaskedCrossEntropy():
        ...     print(each([[2, 0]], logits).numpy(), each.name)
        0.482 smoothed
        0.357 masked_cross_entropy
        >>> again = MaskedCrossEntropy.from_config(loss.get_config())
        >>> again.label_smoothing, again.name
        (0.1, 'smoothed')
    """

    def __init__(self, label_smoothing=0.0, pad_id=0, **kwargs):
        super().__init__(**{"name": "masked_cross_entropy", **kwargs})
        self.label_smoothing = _arguments.rate("label_smoothing", label_smoothing)
        self.pad_id = pad_id

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

    Examples:
        >>> metric = MaskedAccuracy()
        >>> logits = tf.one_hot([[1, 1, 1, 1]], depth=3)
        >>> for labels in [[1, 0, 0, 0]], [[2, 2, 2, 1]]:  # 하나 맞고, 넷 가운데 하나
        ...     metric.update_state(labels, logits)
        >>> print(metric.result().numpy())  # 둘의 평균인 0.625가 아닙니다
        0.4
        >>> MaskedAccuracy(name="right").name, metric.name
        ('right', 'masked_accuracy')
    """

    def __init__(self, pad_id=0, **kwargs):
        super().__init__(**{"name": "masked_accuracy", **kwargs})
        self.pad_id = pad_id
        self.right = self.add_variable((), "zeros")
        self.tokens = self.add_variable((), "zeros")

    def update_state(self, labels, logits, sample_weight=None):
        hits, real = token_hits(labels, logits, self.pad_id)
        self.right.assign_add(tf.reduce_sum(hits))
        self.tokens.assign_add(tf.reduce_sum(real))

    def result(self):
        return keras.ops.divide_no_nan(self.right, self.tokens)

    def get_config(self):
        return {**super().get_config(), "pad_id": self.pad_id}


def token_losses(labels, logits, label_smoothing=0.0, pad_id=0):
    """토큰마다의 크로스 엔트로피입니다. 더하고 나누는 일은 부르는 쪽이 합니다.

    여러 장치가 배치를 나누어 계산하면 장치마다 평균할 수 없습니다. 그래서 학습 루프는
    이 함수의 합을 모든 장치의 토큰 수로 나눕니다.

    Args:
        labels: 정답의 번호, (batch, length).
        logits: 실수, (batch, length, vocab_size).
        label_smoothing: ε, 0 이상 1 미만.
        pad_id: 패딩 토큰의 번호. 어휘 집합에 없는 번호여도 됩니다.

    Returns:
        `(losses, real)`. 둘 다 (batch, length)이고 dtype은 float32, 로짓이 float64이면
        float64입니다. 패딩 자리에서 losses는 0입니다. real은 진짜 토큰에서 1, 패딩에서
        0입니다.

    Raises:
        ValueError: 서로 맞지 않는 모양, 범위를 벗어난 `label_smoothing`, 나누어 줄
            토큰이 없는 어휘 집합.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 정답.

    Examples:
        >>> logits = tf.math.log([[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]])
        >>> losses, real = token_losses([[2, 0]], logits)
        >>> print(losses.numpy().round(3), real.numpy())
        [[0.357 0.   ]] [[1. 0.]]
        >>> losses, _ = token_losses([[0, -1]], logits, pad_id=-1)  # 0도 진짜 토큰
        >>> print(losses.numpy().round(3))
        [[2.303 0.   ]]
        >>> token_losses([[3, 0]], logits)
        Traceback (most recent call last):
            ...
        tensorflow...InvalidArgumentError: Expected ... to be true...
    """
    labels, logits, real = _labels_and_logits(labels, logits, pad_id)
    vocab_size = logits.shape[-1]
    if vocab_size is None:
        vocab_size = tf.shape(logits)[-1]
    known = (labels >= 0) & (labels < vocab_size)
    if _arguments.rate("label_smoothing", label_smoothing):
        target = target_distribution(
            labels, vocab_size, label_smoothing, pad_id, logits.dtype
        )
        # 로짓이 -inf여도 0 · log 0이 0이 되도록, 뺄셈이 넘치지 않을 만큼 작게 둡니다.
        logits = tf.maximum(logits, logits.dtype.min / 2)
        losses = tf.nn.softmax_cross_entropy_with_logits(target, logits)
    else:  # 분포를 펼치지 않고 정답의 -log p만 읽습니다
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            tf.where(known, labels, 0), logits
        )
    # 패딩의 번호는 어휘 집합에 없을 수도 있습니다.
    message = "labels에 어휘 집합에 없는 번호가 있습니다"
    checked = tf.debugging.Assert(tf.reduce_all(known | ~real), [message])
    with tf.control_dependencies([checked]):
        losses = tf.identity(losses)
    # 곱하지 않고 고릅니다. 패딩 자리의 손실이 NaN이어도 0이 됩니다.
    return tf.where(real, losses, 0.0), tf.cast(real, losses.dtype)


def target_distribution(
    labels, vocab_size, label_smoothing, pad_id=0, dtype=tf.float32
):
    """레이블 스무딩의 목표 q입니다: 정답에 1 - ε, 패딩에 0, 나머지에 ε을 고르게.

    Args:
        labels: 정답의 번호, 정수 (batch, length). 패딩 자리의 줄은 뜻이 없습니다.
        vocab_size: 어휘 집합의 크기. 그래프가 실행되어야 알면 정수 텐서.
        label_smoothing: ε, 0 이상 1 미만.
        pad_id: 패딩 토큰의 번호. 어휘 집합에 없으면 정답만 빼고 나눕니다.
        dtype: 결과의 dtype.

    Returns:
        (batch, length, vocab_size).

    Raises:
        ValueError: 나누어 줄 토큰이 없는 어휘 집합.

    Examples:
        >>> print(target_distribution([[2, 3]], vocab_size=4, label_smoothing=0.4))
        tf.Tensor(
        [[[0.  0.2 0.6 0.2]
          [0.  0.2 0.2 0.6]]], shape=(1, 2, 4), dtype=float32)
        >>> print(target_distribution([[1, 0]], 2, 0.4, pad_id=2)[0])  # 패딩은 밖에
        tf.Tensor(
        [[0.4 0.6]
         [0.6 0.4]], shape=(2, 2), dtype=float32)
        >>> target_distribution([[1, 1]], vocab_size=2, label_smoothing=0.4)
        Traceback (most recent call last):
            ...
        ValueError: ...정답과 패딩 말고도 토큰이 있어야 합니다...
    """
    if not tf.is_tensor(vocab_size) and vocab_size < 2 + (0 <= pad_id < vocab_size):
        raise ValueError(
            "레이블 스무딩에는 정답과 패딩 말고도 토큰이 있어야 합니다. 받은 어휘 "
            f"집합의 크기: {vocab_size}. label_smoothing을 0으로 두세요."
        )
    allowed = tf.cast(tf.range(vocab_size) != pad_id, dtype)  # (vocab_size,)
    share = label_smoothing / (tf.reduce_sum(allowed) - 1)
    hot = tf.one_hot(labels, vocab_size, 1 - label_smoothing, share, dtype=dtype)
    return allowed * hot  # (batch, length, vocab_size)


def token_hits(labels, logits, pad_id=0):
    """점수가 가장 높은 토큰이 정답인 자리입니다. 패딩은 맞혀도 세지 않습니다.

    Args:
        labels: 정답의 번호, (batch, length).
        logits: 실수, (batch, length, vocab_size).
        pad_id: 패딩 토큰의 번호.

    Returns:
        `(hits, real)`. 맞힌 진짜 토큰과 진짜 토큰에서 1, 아니면 0. 둘 다 float32
        (batch, length)입니다.

    Raises:
        ValueError: 서로 맞지 않는 모양.

    Examples:
        >>> logits = tf.constant([[[0.0, 2.0, 1.0], [0.0, 1.0, 2.0], [3.0, 0.0, 0.0]]])
        >>> hits, real = token_hits([[1, 1, 0]], logits)  # 맞음, 틀림, 패딩
        >>> print(hits.numpy(), real.numpy())
        [[1. 0. 0.]] [[1. 1. 0.]]
        >>> token_hits([1, 1, 0], logits)
        Traceback (most recent call last):
            ...
        ValueError: ...받은 모양: (3,), (1, 3, 3)...
    """
    labels, logits, real = _labels_and_logits(labels, logits, pad_id)
    hits = tf.argmax(logits, axis=-1, output_type=tf.int32) == labels
    return tf.cast(hits & real, tf.float32), tf.cast(real, tf.float32)


def _labels_and_logits(labels, logits, pad_id):
    labels = tf.convert_to_tensor(labels)
    logits = tf.convert_to_tensor(logits)
    if logits.dtype != tf.float64:
        logits = tf.cast(logits, tf.float32)
    shapes_known = None not in (labels.shape.rank, logits.shape.rank)
    if shapes_known and (
        labels.shape.rank != 2
        or logits.shape.rank != 3
        or not labels.shape.is_compatible_with(logits.shape[:2])
    ):
        raise ValueError(
            "labels와 logits에는 모양 (batch, length)와 (batch, length, vocab_size)가 "
            f"필요합니다. 받은 모양: {labels.shape}, {logits.shape}. "
            "정답과 로짓의 순서, 그리고 정답을 한 칸 밀었는지 살펴보세요."
        )
    labels = tf.cast(labels, tf.int32)
    return labels, logits, labels != pad_id
