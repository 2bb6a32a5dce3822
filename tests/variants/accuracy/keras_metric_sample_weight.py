"""Keras의 SparseCategoricalAccuracy에 sample_weight로 마스크를 주는 사람."""

import keras
from keras import ops


def masked(labels, logits):
    metric = keras.metrics.SparseCategoricalAccuracy()
    metric.update_state(labels, logits, sample_weight=ops.not_equal(labels, 0))
    return metric.result()


candidate = masked
