"""학습의 시험이 함께 쓰는 장난감: 거꾸로 적기 데이터, 작은 모델, 짧은 학습.

시험이 아니므로 이름이 `test_`로 시작하지 않습니다. 시험이 시작한 다른 프로세스도
가져다 씁니다.
"""

import keras
import numpy as np
import tensorflow as tf

from transformer_notes.training import Batches, adam, train
from transformer_notes.transformer import Transformer, TransformerConfig


def reversals(count, seed=0, longest=8):
    """거꾸로 적기: 입력 [a, b, c]의 정답은 <bos> c b a <eos>입니다."""
    rng = np.random.default_rng(seed)
    sources = [
        rng.integers(4, 12, size=rng.integers(1, longest + 1)) for _ in range(count)
    ]
    return [(source, [2, *source[::-1], 3]) for source in sources]


PAIRS = reversals(60, longest=4)


def tiny(dropout=0.0):
    keras.utils.set_random_seed(0)
    sizes = {"d_model": 16, "num_heads": 2, "num_layers": 1, "d_ff": 32}
    model = Transformer(TransformerConfig(12, dropout=dropout, **sizes))
    model.build()
    return model


class Toy(keras.Model):
    """그래프가 빨리 만들어지는 모델: 입력의 평균과 앞 토큰 하나만 봅니다."""

    def __init__(self, dropout, poison=None, width=16):
        super().__init__()
        self.embedding = keras.layers.Embedding(12, width)
        self.dropout = keras.layers.Dropout(dropout)
        self.dense = keras.layers.Dense(12)
        self.poison = poison

    def call(self, inputs, training=None):
        source, target = map(self.embedding, inputs)
        x = target + tf.reduce_mean(source, axis=1, keepdims=True)
        logits = self.dense(self.dropout(x, training=training))
        if self.poison is None:
            return logits
        return tf.where(tf.equal(self.poison.iterations, 3), np.float32("nan"), logits)


def toy(dropout=0.1, **options):
    keras.utils.set_random_seed(0)
    model = Toy(dropout, **options)
    model(Batches(PAIRS, 30).at(0)[0])
    return model


def run(folder, epochs=3, pairs=PAIRS, model=None, **options):
    model = toy() if model is None else model
    options = {"optimizer": adam(16, 20), "progress": False, **options}
    validation = Batches(reversals(15, seed=1, longest=4), 30)
    data = Batches(pairs, 30, seed=3)
    history = train(model, data, epochs, folder, validation, **options)
    return history, model.get_weights()


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
