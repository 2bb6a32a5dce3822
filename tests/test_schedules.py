"""웜업 스케줄과 논문의 Adam이 지키는 약속."""

import json

import keras
import numpy as np
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from transformer_notes.training.schedules import WarmupSchedule, adam


@given(st.integers(0, 10**7), st.integers(1, 4096), st.integers(1, 10**5))
def test_schedule_equals_the_formula_whatever_the_type_of_step(step, d_model, warmup):
    schedule = WarmupSchedule(d_model, warmup)
    s = max(step, 1)
    expected = d_model**-0.5 * min(s**-0.5, s * warmup**-1.5)
    for dtype in ("int32", "int64", "float32", "float64"):
        rate = schedule(tf.constant(step, dtype))
        assert rate.dtype == ("float64" if dtype == "float64" else "float32")
        np.testing.assert_allclose(rate, expected, rtol=1e-5)
    np.testing.assert_allclose(schedule(step), expected, rtol=1e-5)


def test_schedule_peaks_where_the_paper_says_and_survives_saving():
    schedule = WarmupSchedule(512)
    assert f"{schedule(4000).numpy():.2e}" == "6.99e-04"
    assert f"{WarmupSchedule(1024)(4000).numpy():.2e}" == "4.94e-04"
    assert schedule(3999) < schedule(4000) > schedule(4001)
    json.dumps(keras.saving.serialize_keras_object(adam(512)))
    restored = keras.optimizers.Adam.from_config(adam(512, 10).get_config())
    assert restored.learning_rate == WarmupSchedule(512, 10)(1)
    assert (restored.beta_1, restored.beta_2, restored.epsilon) == (0.9, 0.98, 1e-9)


def test_the_papers_adam_warms_up_for_four_thousand_steps():
    assert adam(512).learning_rate == WarmupSchedule(512, 4000)(1)
    assert adam(512, global_clipnorm=1.0).global_clipnorm == 1
