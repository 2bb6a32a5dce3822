"""선형 변환과 소프트맥스: 벡터에서 다음 토큰의 확률로 (논문 3.4절)."""

import keras
import tensorflow as tf

from transformer_notes._keras_mask import StopsKerasMask


@keras.saving.register_keras_serializable(package="transformer_notes")
class LinearSoftmax(StopsKerasMask, keras.layers.Layer):
    r"""벡터마다 어휘 집합의 모든 토큰에 점수(로짓)를 매깁니다 (논문 3.4절).

    .. math:: z = x W, \qquad p_i = \frac{e^{z_i}}{\sum_j e^{z_j}}

    층을 부르면 로짓 z를 돌려줍니다. 손실은 로짓에서 바로 계산하고, 확률 p가 필요할
    때만 `probabilities`를 부릅니다. 편향은 두지 않습니다.

    `embedding`을 주면 가중치를 공유합니다. W는 sqrt(d_model)을 **곱하지 않은** 표 E를
    뒤집은 것이고, 이 층은 가중치를 따로 만들지 않습니다. 공유한 표는 `.keras` 파일로
    저장하고 읽어도 하나입니다. 다만 `keras.models.clone_model`은 층을 하나씩 따로
    복사하므로 공유가 풀립니다.

    Args:
        vocab_size: 정답 쪽 어휘 집합의 크기.
        embedding: 가중치를 공유할 `TokenEmbedding`. None이면 W를 따로 배웁니다.

    호출 인자:

    - x: 실수, (..., d_model).

    출력은 로짓 (..., vocab_size)이고, dtype은 층의 계산 dtype입니다. 혼합 정밀도에서는
    float16이나 bfloat16이므로, 손실을 구할 때 float32로 바꿉니다. Keras의 마스크는
    넘기지 않습니다.

    Attributes:
        kernel: W, (d_model, vocab_size). 가중치를 공유하면 없습니다.

    Raises:
        ValueError: `embedding`과 다른 `vocab_size`.

    Examples:
        >>> layer = LinearSoftmax(vocab_size=3)
        >>> layer.build((None, 2))
        >>> [weight.name for weight in layer.weights]
        ['kernel']
        >>> kernel = layer.kernel.assign([[1.0, 1.0, -1.0], [1.0, -1.0, 2.0]])
        >>> x = tf.constant([[2.0, 1.0]])
        >>> print(layer(x).numpy())
        [[3. 1. 0.]]
        >>> print(layer.probabilities(x).numpy().round(3))
        [[0.844 0.114 0.042]]
    """

    def __init__(self, vocab_size, embedding=None, **kwargs):
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        if embedding is not None and embedding.vocab_size != vocab_size:
            raise ValueError(
                "가중치를 공유하려면 vocab_size가 같아야 합니다. "
                f"LinearSoftmax: {vocab_size}, embedding: {embedding.vocab_size}. "
                "정답 쪽(디코더) 어휘 집합의 임베딩을 넘겼는지 살펴보세요."
            )
        self.embedding = embedding

    def build(self, input_shape):
        if self.embedding is None:
            shape = input_shape[-1], self.vocab_size
            self.kernel = self.add_weight(name="kernel", shape=shape)
        elif not self.embedding.built:
            self.embedding.build((None, None))

    def call(self, x):
        tied = self.embedding is not None
        matrix = tf.cast(self.embedding.embeddings if tied else self.kernel, x.dtype)
        # 앞쪽 축을 하나로 펴서 곱합니다. 그대로 곱하면 역전파가 행렬의 기울기를 배치의
        # 문장마다 따로 만든 뒤에 더합니다.
        flat = tf.reshape(x, (-1, x.shape[-1]))  # (n, d_model)
        logits = tf.matmul(flat, matrix, transpose_b=tied)  # (n, vocab_size)
        shape = tf.concat([tf.shape(x)[:-1], [self.vocab_size]], axis=0)
        return tf.reshape(logits, shape)  # (..., vocab_size)

    def probabilities(self, x):
        """로짓에 소프트맥스를 씌웁니다.

        Args:
            x: 실수, (..., d_model).

        Returns:
            확률, (..., vocab_size). 마지막 축을 따라 더하면 1입니다. float16과
            bfloat16 층에서도 float32로 계산해 돌려주고, float64 층에서는 float64입니다.
        """
        dtype = "float64" if self.compute_dtype == "float64" else "float32"
        return keras.ops.softmax(keras.ops.cast(self(x), dtype), axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.vocab_size)

    def get_config(self):
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "embedding": keras.saving.serialize_keras_object(self.embedding),
        }

    @classmethod
    def from_config(cls, config):
        embedding = keras.saving.deserialize_keras_object(config.get("embedding"))
        return super().from_config({**config, "embedding": embedding})
