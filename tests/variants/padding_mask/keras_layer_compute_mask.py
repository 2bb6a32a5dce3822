"""Keras Embedding(mask_zero=True)이 만드는 마스크를 그대로 쓰는 사람."""

import keras
import tensorflow as tf

_embedding = keras.layers.Embedding(1000, 4, mask_zero=True)


def candidate(token_ids):
    mask = _embedding.compute_mask(tf.convert_to_tensor(token_ids))
    return mask[:, tf.newaxis, tf.newaxis, :]
