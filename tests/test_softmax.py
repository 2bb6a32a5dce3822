"""마스크를 쓰는 소프트맥스가 지키는 약속."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from layers import MODES, every_mode

from transformer_notes._tensors import masked_softmax

shapes = npst.array_shapes(min_dims=1, max_dims=4, max_side=5)
numbers = st.floats(-50, 50, width=32)


@st.composite
def scores_and_masks(draw):
    shape = draw(shapes)
    scores = draw(npst.arrays(np.float32, shape, elements=numbers))
    return scores, draw(npst.arrays(bool, shape))


@given(scores_and_masks())
def test_it_is_the_softmax_of_the_visible_scores_alone(case):
    scores, mask = case
    weights = masked_softmax(tf.constant(scores), mask).numpy()
    rows = zip(*(x.reshape(-1, x.shape[-1]) for x in (scores, mask, weights)))
    for score, visible, weight in rows:
        assert not np.any(weight[~visible])
        if visible.any():
            power = np.exp(np.float64(score[visible]) - score[visible].max())
            np.testing.assert_allclose(weight[visible], power / power.sum(), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_it_is_computed_in_float32_or_better(dtype):
    scores = tf.constant([[1.0, 2.0, -3.0]], dtype)
    expected = "float64" if dtype == "float64" else "float32"
    assert masked_softmax(scores).dtype == expected
    assert masked_softmax(scores, [[True, False, True]]).dtype == expected


@every_mode
def test_a_fully_hidden_row_is_zero_with_a_finite_gradient(mode):
    scores = tf.constant([[1.0, 2.0], [3.0, -4.0]])
    mask = [[False, False], [True, True]]

    def gradient(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            weights = masked_softmax(scores, mask)
            loss = tf.reduce_sum(weights**2)
        return weights, tape.gradient(loss, scores)

    weights, slope = MODES[mode](gradient)(scores)
    np.testing.assert_array_equal(weights[0], [0, 0])
    np.testing.assert_array_equal(slope[0], [0, 0])
    assert np.all(np.isfinite(slope)) and np.any(slope[1])
