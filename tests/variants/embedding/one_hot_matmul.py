"""one-hot에 행렬을 곱하는 사람: 찾는 것과 같습니다."""

import keras
from keras import ops


class OneHotEmbedding(keras.layers.Layer):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.vocab_size, self.d_model = vocab_size, d_model
        self.kernel = self.add_weight(
            shape=(vocab_size, d_model),
            initializer=keras.initializers.RandomNormal(stddev=d_model**-0.5),
            name="kernel",
        )

    def call(self, ids):
        one_hot = ops.one_hot(ids, self.vocab_size)
        return ops.matmul(one_hot, self.kernel) * ops.sqrt(float(self.d_model))


candidate = OneHotEmbedding
