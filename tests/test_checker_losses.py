"""손실, 정확도, 스케줄의 검사: 배우는 이가 쓰는 대로 쓴 후보들."""

import itertools
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from transformer_notes.checker import check
from transformer_notes.training import masked_accuracy, masked_cross_entropy
from transformer_notes.training.schedules import WarmupSchedule


def log_softmax(z):
    z = np.asarray(z, np.float64)
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def averaged(each, real, wrong):
    if "all" in wrong:
        return each.mean()
    return (each * real).sum() / (real.size if "zeroed" in wrong else real.sum())


def cross_entropy(wrong=()):
    """번호 29와, 패딩을 평균하는 두 방법."""

    def loss(y_true, y_pred):
        log_p = log_softmax(y_pred)
        if 29 in wrong:
            log_p = log_softmax(np.exp(log_p))
        each = -np.take_along_axis(log_p, y_true[..., None], -1)[..., 0]
        return averaged(each, y_true != 0, wrong)

    return loss


def smoothed(wrong=(), sharing="others", fixed=None):
    """레이블 스무딩. 33은 패딩에도 주거나 0 · log 0을 그대로 계산합니다."""

    def target(labels, size, epsilon):
        hot = np.eye(size)[labels]
        if 33 in wrong:
            return (1 - epsilon) * hot + epsilon / size
        if sharing == "others":
            q = np.where(hot == 1, 1 - epsilon, epsilon / (size - 2))
        else:
            q = (1 - epsilon) * hot + epsilon / (size - 1)
        q[..., 0] = 0
        return q

    def loss(labels, logits, label_smoothing=0.1):
        epsilon = label_smoothing if fixed is None else fixed
        z = np.exp(log_softmax(logits)) if 29 in wrong else logits
        with np.errstate(all="ignore"):
            p = np.exp(log_softmax(z))
            log_p = np.log(p) if "naive" in wrong else log_softmax(z)
            q = target(labels, logits.shape[-1], epsilon)
            each = -(q * log_p).sum(-1)
        return averaged(each, labels != 0, wrong)

    if fixed is not None:
        return lambda labels, logits: loss(labels, logits)
    return loss


def accuracy(wrong=()):
    def measure(labels, logits):
        return averaged(np.argmax(logits, -1) == labels, labels != 0, wrong)

    return measure


def numbers(wrong):
    renamed = {"all": 30, "zeroed": 30, "naive": 33}
    return tuple(sorted({renamed.get(one, one) for one in wrong}))


AVERAGES = ((), ("all",), ("zeroed",))


def told(subtests, make, what, *parts):
    """저마다 하나씩 고른 것을 모두 함께 했을 때, 그 번호들이 불립니다."""
    for chosen in itertools.product(*parts):
        wrong = tuple(itertools.chain(*chosen))
        with subtests.test(str(wrong)):
            report = check(make(wrong), what)
            assert report.mistakes == numbers(wrong), str(report)
            assert report.passed == (not report.mistakes)


def test_a_loss_is_told_what_is_wrong(subtests):
    told(subtests, cross_entropy, "loss", AVERAGES, [(), (29,)])


@pytest.mark.parametrize("fixed", [None, 0.1])
def test_a_smoothed_loss_is_told_what_is_wrong(subtests, fixed):
    def make(wrong):
        return smoothed(wrong, fixed=fixed)

    told(subtests, make, "loss", AVERAGES, [(), (29,)], [(), (33,)])


def test_zero_times_the_logarithm_of_zero_is_named(subtests):
    told(subtests, smoothed, "loss", AVERAGES, [("naive",)])


def test_an_accuracy_is_told_what_is_wrong(subtests):
    told(subtests, accuracy, "accuracy", AVERAGES)


@tf.function
def tensorflow_loss(real, pred):
    mask = tf.cast(tf.not_equal(real, 0), pred.dtype)
    each = tf.keras.losses.sparse_categorical_crossentropy(real, pred, True)
    return tf.reduce_sum(each * mask) / tf.reduce_sum(mask)


def half_loss(labels, logits):
    return np.float16(cross_entropy()(labels, logits.astype(np.float16)))


@pytest.mark.parametrize(
    "right",
    [
        masked_cross_entropy,
        tensorflow_loss,
        smoothed(),
        smoothed(sharing="all"),
        smoothed(sharing="all", fixed=0.1),
        smoothed(fixed=0.0),
        half_loss,
        lambda labels, logits: float(cross_entropy()(labels, logits)),
        lambda labels, logits: (cross_entropy()(labels, logits), (labels != 0).sum()),
    ],
)
def test_honest_losses_pass(right):
    report = check(right, "loss")
    assert report.passed, str(report)


@pytest.mark.parametrize("right", [masked_accuracy, accuracy()])
def test_honest_accuracies_pass(right):
    assert check(right, "accuracy").passed


def divergence(labels, logits, smoothing=0.1):
    """목표 분포와의 KL 발산. 목표의 엔트로피만큼 손실보다 작습니다."""
    log_p, hot = log_softmax(logits), np.eye(logits.shape[-1])[labels]
    others = (1 - hot) * (np.arange(logits.shape[-1]) > 0)
    q = (1 - smoothing) * hot + smoothing * others / (logits.shape[-1] - 2)
    each = (q * (np.log(np.where(q > 0, q, 1)) - log_p)).sum(-1)
    return each[labels != 0].mean()


def of_probabilities(labels, logits):
    p = np.clip(np.take_along_axis(logits, labels[..., None], -1)[..., 0], 1e-7, 1)
    return (-np.log(p) * (labels != 0)).sum() / (labels != 0).sum()


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (lambda *given: cross_entropy(())(*given) / np.log(2), "로그의 밑이"),
        (lambda *given: divergence(*given), "KL 발산"),
        (of_probabilities, "같은 수를 더하면"),
        (lambda labels, logits: logits, "스칼라를 돌려주어야"),
        (lambda labels, logits: np.nan, "NaN이나 무한대"),
        (lambda labels, logits: float(logits.sum()), "패딩"),
    ],
)
def test_what_is_not_known_is_described_and_not_accused(wrong, sentence):
    report = check(wrong, "loss")
    assert not report.passed and report.mistakes == ()
    assert sentence in str(report)


def test_the_smallest_example_has_one_word_and_one_padding():
    report = check(cross_entropy({"zeroed"}), "loss")
    assert report.example.inputs["labels"].tolist() == [[2, 0]]
    assert np.isclose(report.example.given, report.example.expected / 2)


# ---------------------------------------------------------------- 스케줄


class PlainSchedule:
    """0을 생각하지 않은 스케줄."""

    def __init__(self, d_model, warmup_steps=4000):
        self.d_model, self.warmup_steps = d_model, warmup_steps

    def __call__(self, step):
        return self.d_model**-0.5 * min(step**-0.5, step * self.warmup_steps**-1.5)


class CastingSchedule(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps=4000):
        self.d_model = tf.cast(d_model, tf.float32)
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        rising = step * self.warmup_steps**-1.5
        return tf.math.rsqrt(self.d_model) * tf.math.minimum(
            tf.math.rsqrt(step), rising
        )


class NeedsAFloat(CastingSchedule):
    def __call__(self, step):
        return tf.math.rsqrt(self.d_model) * tf.math.minimum(
            tf.math.rsqrt(step), step * self.warmup_steps**-1.5
        )


class HoldsATensor(CastingSchedule):
    def get_config(self):
        return {"d_model": self.d_model, "warmup_steps": self.warmup_steps}


def from_one(step, d_model=512, warmup=4000):
    step = step + 1
    return d_model**-0.5 * min(1 / math.sqrt(step), step * warmup**-1.5)


def annotated(step, model_size, factor, warmup):
    step = max(step, 1)
    return factor * model_size**-0.5 * min(step**-0.5, step * warmup**-1.5)


@pytest.mark.parametrize(
    "right",
    [
        WarmupSchedule,
        WarmupSchedule(512, 40),
        CastingSchedule,
        CastingSchedule(128),
        from_one,
        annotated,
        lambda step: from_one(step, 64, 7),
        lambda d_model, warmup_steps: lambda s: from_one(s, d_model, warmup_steps),
    ],
)
def test_honest_schedules_pass(right):
    report = check(right, "schedule")
    assert report.passed, str(report)


@pytest.mark.parametrize(
    "wrong",
    [PlainSchedule, PlainSchedule(512), NeedsAFloat, HoldsATensor, HoldsATensor(64)],
)
def test_step_zero_whole_steps_and_tensors_in_the_settings_are_named(wrong):
    assert check(wrong, "schedule").mistakes == (34,)


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (lambda step, d_model, warmup: 1e-3, "비례해 오르지"),
        (
            lambda step, d_model, warmup: d_model**-0.5 * step * warmup**-1.5,
            "제곱근에 반비례",
        ),
        (
            lambda step, d_model, warmup: from_one(step, 1, warmup),
            "d_model^-0.5의 크기",
        ),
        (
            lambda step, d_model=512, warmup_steps=4000: from_one(
                step, 1, warmup_steps
            ),
            "d_model^-0.5의 크기",
        ),
        (lambda *given: 2 * from_one(*given), "나와야 할 값의 2배"),
    ],
)
def test_a_wrong_formula_is_described_and_not_accused(wrong, sentence):
    report = check(wrong, "schedule")
    assert not report.passed and report.mistakes == ()
    assert sentence in str(report)
