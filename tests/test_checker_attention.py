"""검사기가 어텐션과 멀티 헤드 어텐션의 실수를 혼자서도 여럿이서도 알아봅니다."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from transformer_notes.attention import scaled_dot_product_attention
from transformer_notes.checker import check
from transformer_notes.multi_head_attention import MultiHeadAttention


def softmax(scores, axis):
    weights = np.exp(scores - scores.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def with_mistakes(wrong, multiply="zero"):
    """NumPy로 어텐션을 쓰는 사람의 함수."""

    def attention(query, key, value, mask=None):
        if 11 in wrong:
            query, key, value = key, value, query
        scores = np.einsum("...qd,...kd->...qk", query, key)
        if 8 not in wrong:
            scores = scores / np.sqrt(key.shape[-1])
        mask = np.asarray(mask) == (0 if 2 in wrong else 1)
        mask = mask.swapaxes(-1, -2) if 5 in wrong else mask
        if 3 not in wrong:
            scores = np.where(mask, scores, -1e9)
        elif multiply == "zero":
            scores = scores * mask
        elif multiply == "large":
            scores = np.where(mask, scores, -1e9 * scores)
        else:
            scores = scores + ~mask * -np.inf
        weights = softmax(scores, -2 if 9 in wrong else -1)
        if 14 in wrong:
            weights = weights * (np.random.random(weights.shape) > 0.2) / 0.8
        return weights @ value, weights

    return attention


@pytest.mark.parametrize("count", [0, 1, 2])
def test_mistakes_of_attention_are_named_alone_and_in_pairs(subtests, count):
    for wrong in itertools.combinations((2, 3, 5, 8, 9, 11, 14), count):
        with subtests.test(str(wrong)):
            report = check(with_mistakes(wrong), "attention")
            assert (report.passed, report.mistakes) == (not wrong, wrong)


@pytest.mark.parametrize("also", [(), (2,), (8,), (9,)])
def test_multiplying_with_a_large_number_is_mistake_3_too(also):
    report = check(with_mistakes((3, *also), "large"), "attention")
    assert report.mistakes == tuple(sorted((3, *also)))


def scored(change):
    """점수를 `change(점수, 실수 마스크)`로 바꾸는 어텐션. 최댓값을 빼지 않습니다."""

    def attention(query, key, value, mask):
        scores = query @ np.swapaxes(key, -1, -2) / query.shape[-1] ** 0.5
        weights = np.exp(change(scores, np.asarray(mask, np.float32)))
        return weights / weights.sum(-1, keepdims=True) @ value

    return attention


@pytest.mark.parametrize(
    "change, cause",
    [
        (lambda s, m: np.where(m == 1, s * np.float32(1e38) * 9, -1e9), "넘칩니다"),
        (lambda s, m: s + (1 - m) * -np.inf, "0에 무한대를 곱합니다"),
        (lambda s, m: np.where(m == 1, 1e4 * s, -1e9), "수가 너무 커서 넘칩니다"),
        (lambda s, m: np.where(m == 1, s, -1e9) / np.float32(0), "0으로 나눕니다"),
    ],
)
def test_an_output_of_nan_is_named_for_what_it_is(change, cause):
    report = check(scored(change), "attention")
    assert (report.verdict, report.mistakes) == ("wrong", ()), str(report)
    assert cause in str(report) and "번째 줄" in str(report)


def test_rows_that_a_flipped_mask_hides_wholly_may_be_nan():
    """최댓값을 빼지 않으면, 모두 가려진 행은 0 / 0입니다."""
    report = check(scored(lambda s, m: s + m * -1e9), "attention")
    assert report.mistakes == (2,), str(report)


def test_tensors_that_turn_to_nan_are_called_nan():
    def attention(query, key, value, mask):
        scores = tf.matmul(query, key, transpose_b=True) / query.shape[-1] ** 0.5
        hidden = 1 - tf.cast(mask, tf.float32)
        return tf.matmul(tf.nn.softmax(scores + hidden * -np.inf), value)

    report = check(attention, "attention")
    assert (report.verdict, report.mistakes) == ("wrong", ()), str(report)
    assert "NaN" in str(report) and "0 · ∞" in str(report)


def test_masks_are_shown_as_they_were_put_in():
    def attention(query, key, value, mask):
        seen.append(np.array(mask))
        return with_mistakes((8,))(query, key, value, ~np.asarray(mask, bool))

    seen = []
    report = check(attention, "attention", mask_true="hide")
    assert report.mistakes == (8,)
    assert any(np.array_equal(report.example.inputs["mask"], mask) for mask in seen)


def test_the_other_polarity_is_hinted_at_when_masks_seem_flipped():
    assert "--mask-true hide" in str(check(with_mistakes((2,)), "attention"))
    report = check(with_mistakes(()), "attention", mask_true="hide")
    assert report.mistakes == (2,) and "--mask-true attend" in str(report)


def test_an_always_failing_function_is_told_of_the_usual_shapes():
    def attention(query, key, value, mask):
        raise ValueError("아직")

    assert "query (1, 2, 2)" in str(check(attention, "attention"))


def test_joining_heads_in_another_order_than_they_were_split_is_right():
    """이어 붙이는 차례가 다르면 W^O의 행의 차례가 다를 뿐입니다."""

    class Strided:
        def __init__(self, d_model, num_heads):
            rng = np.random.default_rng(1)
            self.heads = num_heads
            self.maps = [rng.normal(size=(d_model, d_model)) for _ in range(4)]

        def __call__(self, query, key, value, mask):
            def split(x, w):  # 홀수 열과 짝수 열처럼 건너뛰며 나눕니다
                x = (x @ w).reshape(*x.shape[:2], -1, self.heads)
                return x.transpose(0, 3, 1, 2)

            heads = (split(x, w) for x, w in zip((query, key, value), self.maps))
            output, _ = with_mistakes(())(*heads, mask)
            return output.swapaxes(1, 2).reshape(query.shape) @ self.maps[3]

    assert check(Strided, NAME).passed


@pytest.mark.parametrize("also", [(), (2,), (8,), (9,)])
@pytest.mark.parametrize("back", [False, True])
def test_half_precision_that_adds_a_product_is_mistake_4(back, also):
    def attention(query, key, value, mask):
        query, key, value = (x.astype("float16") for x in (query, key, value))
        scores = query @ key.swapaxes(-1, -2)
        if 8 not in also:
            scores = scores / np.float16(np.sqrt(key.shape[-1]))
        if mask is not None:
            hidden = np.float16(mask if 2 in also else 1 - mask)
            scores = scores + hidden * np.float16(-1e9)
        output = softmax(scores, -2 if 9 in also else -1) @ value
        return output.astype("float32") if back else output

    assert check(attention, "attention").mistakes == (4,)


# ---------------------------------------------------------------- 정직한 관습


def numpy_infinite(q, k, v, m):
    with np.errstate(invalid="ignore"):
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        return softmax(np.where(m, scores, -np.inf), -1) @ v


def numpy_added(query, key, value, mask):
    scores = query @ np.swapaxes(key, -1, -2) / query.shape[-1] ** 0.5
    return softmax(scores + (1.0 - mask) * -1e9, -1) @ value


def numpy_half(query, key, value, mask):
    query, key, value = (np.asarray(x, "float16") for x in (query, key, value))
    scores = query @ np.swapaxes(key, -1, -2) / np.float16(query.shape[-1] ** 0.5)
    return softmax(np.where(mask, scores, np.float16(-6e4)), -1) @ value


def numpy_each_sentence(query, key, value, mask):
    return [numpy_infinite(*one) for one in zip(query, key, value, mask)]


def numpy_one_sentence(query, key, value, mask):
    assert query.ndim == mask.ndim == 2
    return numpy_infinite(query, key, value, mask)


def tensorflow_float_mask(q, k, v, mask=None, *, name=None):
    scores = tf.einsum("bhqd,bhkd->bhqk", q, k) / tf.sqrt(float(q.shape[-1]))
    weights = tf.nn.softmax(scores + (1.0 - mask) * -1e9)
    return {"name": name, "pair": (tf.matmul(weights, v), weights)}["pair"]


class KerasLayer(keras.layers.Layer):
    def call(self, value, key, query, attention_mask=None, training=None):
        scores = tf.matmul(query, key, transpose_b=True) / query.shape[-1] ** 0.5
        scores = tf.where(attention_mask, scores, -1e9)
        return tf.matmul(tf.nn.softmax(scores), value)


@pytest.mark.parametrize(
    "candidate",
    [
        *(numpy_infinite, numpy_added, numpy_half, numpy_one_sentence),
        *(numpy_each_sentence, lambda *given: [*with_mistakes(())(*given)]),
        *(tensorflow_float_mask, tf.function(tensorflow_float_mask)),
        *(KerasLayer, KerasLayer(), scaled_dot_product_attention),
    ],
)
def test_honest_attention_is_right(candidate):
    report = check(candidate, "attention")
    assert (report.passed, report.mistakes) == (True, ()), str(report)


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_a_mask_that_hides_where_true_is_told_by_mask_true(dtype):
    def attention(query, key, value, mask):
        hidden = np.asarray(mask, dtype) == 1
        scores = query @ np.swapaxes(key, -1, -2) / query.shape[-1] ** 0.5
        return softmax(np.where(hidden, -1e9, scores), -1) @ value

    assert check(attention, "attention", mask_true="hide").passed
    assert check(attention, "attention").mistakes == (2,)


@pytest.mark.parametrize(
    "change, said",
    [
        (
            lambda f: (
                lambda q, k, v, m: f(q, k, v, m)[0] + v[..., -1:, :] - v[..., :1, :]
            ),
            "가린 키의 값",
        ),
        (lambda f: lambda q, k, v, m: 2 * f(q, k, v, m)[0], "나와야 할 값의 2배"),
        (lambda f: lambda q, k, v, m: f(q, k, v, m)[0] / 0, "NaN"),
        (lambda f: lambda q, k, v, m: f(q / q.shape[-1], k, v, m), "식으로 계산한"),
        (
            lambda f: (
                lambda q, k, v, m: f(q, k + np.arange(k.shape[-2])[:, None], v, m)
            ),
            "차례를 함께",
        ),
    ],
)
def test_the_first_property_that_fails_is_told_without_a_number(change, said):
    report = check(change(with_mistakes(())), "attention")
    assert (report.passed, report.mistakes) == (False, ()) and said in str(report)


# ---------------------------------------------------------------- 멀티 헤드


NAME = "multi_head_attention"


def closure(d_model, num_heads):
    """가중치를 클로저에 품은 NumPy 함수. 편향도 있습니다."""
    rng = np.random.default_rng(3)
    wq, wk, wv, wo = (rng.normal(size=(d_model, d_model)) for _ in range(4))
    bq, bk, bv, bo = rng.normal(size=(4, d_model))

    def split(x):
        return x.reshape(*x.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)

    def call(query, key, value, mask):
        q, k, v = split(query @ wq + bq), split(key @ wk + bk), split(value @ wv + bv)
        output, _ = with_mistakes(())(q, k, v, mask)
        return output.transpose(0, 2, 1, 3).reshape(query.shape) @ wo + bo

    return call


def only_output_bias(d_model, num_heads):
    rng = np.random.default_rng(3)
    wq, wk, wv, wo = rng.normal(size=(4, d_model, d_model))
    bo = rng.normal(size=d_model)

    def split(x):
        return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)

    def call(query, key, value, mask):
        heads = split(query @ wq), split(key @ wk), split(value @ wv)
        output, _ = with_mistakes(())(*heads, mask)
        return output.swapaxes(1, 2).reshape(query.shape) @ wo + bo

    return call


def keras_own(d_model, num_heads):
    return keras.layers.MultiHeadAttention(num_heads, d_model // num_heads)


@pytest.mark.parametrize(
    "candidate",
    [
        *(MultiHeadAttention, MultiHeadAttention(8, 2), keras_own),
        *(closure, closure(6, 2), only_output_bias),
    ],
)
def test_honest_heads_are_right_however_the_weights_are_kept(candidate):
    report = check(candidate, NAME)
    assert (report.passed, report.mistakes) == (True, ()), str(report)
    assert "성질만" not in str(report)


def test_the_example_of_wide_heads_counts():
    report = check(lambda d, h: keras.layers.MultiHeadAttention(h, d), NAME)
    assert report.mistakes == (13,)
    assert report.example.inputs == {"d_model": 4, "num_heads": 2}


def test_a_batch_size_that_a_graph_does_not_know_is_mistake_41():
    report = check(graph, "attention")
    assert report.mistakes == (41,), str(report)


def test_a_candidate_that_turns_arrays_into_tensors_is_traced_too():
    parts = [graph]
    report = check(lambda q, k, v, mask: parts[0](q, k, v, mask), "attention")
    assert report.mistakes == (41,), str(report)


def test_a_batch_size_that_the_adapter_froze_is_not_the_candidates():
    def adapter(candidate, query, key, value, mask):
        query = tf.reshape(query, (query.shape[0], *query.shape[1:]))
        return candidate(query, key, value, mask)

    def plain(query, key, value, mask):
        scores = tf.matmul(query, key, transpose_b=True) / query.shape[-1] ** 0.5
        return tf.matmul(tf.nn.softmax(tf.where(mask, scores, -1e9)), value)

    assert check(plain, "attention", adapter=adapter).passed


def graph(query, key, value, mask):
    batch, length, depth = query.shape
    query = tf.reshape(query, (batch, length, depth))
    scores = tf.matmul(query, key, transpose_b=True) / query.shape[-1] ** 0.5
    return tf.matmul(tf.nn.softmax(tf.where(mask, scores, -1e9)), value)
