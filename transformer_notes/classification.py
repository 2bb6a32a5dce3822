"""글을 분류하는 모델: 인코더 하나와 선형 변환 하나.

레이블 하나를 토큰 하나짜리 답으로 봅니다. 그래서 학습과 채점은 `training.train`과
`training.evaluate`가 그대로 합니다.
"""

import functools

import keras
import numpy as np
import tensorflow as tf

from transformer_notes import _arguments, _tensors
from transformer_notes._keras_mask import StopsKerasMask
from transformer_notes.embedding import TokenEmbedding
from transformer_notes.encoder import Configured, Encoder
from transformer_notes.masking import padding_mask
from transformer_notes.multi_head_attention import Attended
from transformer_notes.tokenization import pad_rows, text_rows

NEVER = -1e9  # 확률이 0이면서 손실도 기울기도 유한한 로짓


@keras.saving.register_keras_serializable(package="transformer_notes")
class Classifier(Configured, StopsKerasMask, keras.Model):
    r"""글의 레이블마다 점수를 매깁니다: 인코더, 진짜 토큰의 평균, 선형 변환.

    .. math:: z = \frac{1}{n} \sum_{t:\, x_t \ne \text{pad}} h_t \, W + b

    h는 인코더의 출력이고 n은 진짜 토큰의 수입니다. 평균은 float32 이상에서 구합니다.

    `Batches`의 정답은 `[bos, 1 + 레이블]`입니다(`label_pairs`). 그러면 이 모델은 토큰을
    하나만 쓰는 번역기와 같습니다. 로짓의 0번은 패딩의 자리이고 확률은 언제나 0입니다.

    Args:
        config: `TransformerConfig`. 어휘 집합은 하나이고 패딩은 0번입니다. 디코더의
            설정은 쓰지 않습니다.
        num_labels: 레이블의 수.
        **kwargs: `keras.Model`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        inputs: 쌍 `(source_ids, target_ids)`. source_ids는 정수, (batch, length)입니다.
            target_ids는 `Batches`가 함께 내는 것이고 쓰지 않습니다.
        training: 드롭아웃을 씌울지.
        return_weights: `Attended`를 돌려받을지.

    Returns:
        로짓, (batch, 1, 1 + num_labels). float32이고 float64 모델에서는 float64입니다.
        `return_weights`이면 `Encoder`처럼 `Attended`이고, output이 로짓입니다.

    Raises:
        TypeError: 정수가 아닌 토큰 번호.
        ValueError: 0이 아닌 pad_id, 어휘 집합이 둘인 config, 2차원이 아닌 토큰 번호,
            학습되는 위치 표보다 긴 글.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호.

    Examples:
        >>> from transformer_notes.config import TransformerConfig
        >>> config = TransformerConfig(20, d_model=8, num_heads=2, d_ff=16)
        >>> model = Classifier(config, num_labels=2, dtype="mixed_bfloat16")
        >>> model = Classifier.from_config(model.get_config())
        >>> logits = model(([[5, 6, 7]], [[2]]))
        >>> logits.shape, logits.dtype.name
        (TensorShape([1, 1, 3]), 'float32')
        >>> print(tf.nn.softmax(logits).numpy()[0, 0, 0])
        0.0
        >>> Classifier(TransformerConfig(20, pad_id=1), num_labels=2)
        Traceback (most recent call last):
            ...
        ValueError: config에는 pad_id=0과 ...이 필요합니다. 받은 것: pad_id=1...
        >>> Classifier(TransformerConfig(20, source_vocab_size=30), num_labels=2)
        Traceback (most recent call last):
            ...
        ValueError: ...source_vocab_size=None이 필요합니다. 받은 것: ...
    """

    def __init__(self, config, num_labels, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        self.num_labels = num_labels
        if config.pad_id != 0 or config.source_vocab_size is not None:
            raise ValueError(
                "config에는 pad_id=0과 source_vocab_size=None이 필요합니다. 받은 것: "
                f"pad_id={config.pad_id}, source_vocab_size={config.source_vocab_size}."
            )
        options = {"dtype": self.dtype_policy}
        self.embedding = TokenEmbedding(
            config.vocab_size, config.d_model, name="embedding", **options
        )
        self.positions = config.positional_encoding(name="positions", **options)
        self.embedding_dropout = keras.layers.Dropout(config.dropout, **options)
        self.encoder = Encoder(config, name="encoder", **options)
        self.mean_dropout = keras.layers.Dropout(config.dropout, **options)
        self.linear = keras.layers.Dense(num_labels, name="linear", **options)

    def build(self, input_shape=None):
        x_shape = (None, None, self.config.d_model)
        for part, shape in (
            (self.embedding, (None, None)),
            (self.positions, x_shape),
            (self.encoder, x_shape),
            (self.linear, (None, self.config.d_model)),
        ):
            if not part.built:
                part.build(shape)

    def __call__(self, inputs, *args, **kwargs):
        # Keras는 위치 인자로 텐서만 받습니다. 파이썬 목록은 먼저 텐서로 바꿉니다.
        inputs = tuple(
            tf.convert_to_tensor(ids) if isinstance(ids, (list, tuple)) else ids
            for ids in inputs
        )
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=None, return_weights=False):
        source_ids = _tensors.token_ids("source_ids", inputs[0])
        mask = padding_mask(source_ids)  # (batch, 1, 1, length)
        x = self.positions(self.embedding(source_ids))
        x = self.embedding_dropout(x, training=training)  # (batch, length, d_model)
        position = tf.range(tf.shape(source_ids)[1], dtype=tf.int64)
        x, weights, _ = self.encoder(
            x,
            attention_mask=mask,
            training=training,
            return_weights=True,
            position_map=functools.partial(
                self.positions.in_attention, position=position
            ),
        )
        x = mean_over(x, mask[:, 0, 0])  # (batch, d_model)
        x = self.linear(self.mean_dropout(x, training=training))
        x = tf.cast(x, keras.backend.result_type(x.dtype, "float32"))
        # 0번은 패딩의 자리입니다.
        logits = tf.pad(x, [(0, 0), (1, 0)], constant_values=NEVER)[:, tf.newaxis]
        return Attended(logits, weights, []) if return_weights else logits

    def get_config(self):
        return {**super().get_config(), "num_labels": self.num_labels}


def mean_over(x, real):
    """진짜 토큰의 벡터만 평균합니다.

    Args:
        x: 실수, (batch, length, d_model).
        real: 진짜 토큰인지, 불리언 (batch, length).

    Returns:
        (batch, d_model). float32이고 x가 float64이면 float64. 진짜 토큰이 없는 줄은
        0입니다.

    Examples:
        >>> x = tf.constant([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [9.0, 9.0]]])
        >>> print(mean_over(x, [[True, True], [True, False]]).numpy())
        [[2. 3.]
         [5. 6.]]
        >>> print(mean_over(x, [[False, False], [True, True]]).numpy())
        [[0.  0. ]
         [7.  7.5]]
    """
    dtype = keras.backend.result_type(x.dtype, "float32")
    real = tf.cast(real, dtype)[..., tf.newaxis]  # (batch, length, 1)
    total = tf.reduce_sum(tf.cast(x, dtype) * real, axis=1)
    return tf.math.divide_no_nan(total, tf.reduce_sum(real, axis=1))


def label_pairs(tokenizer, texts, labels):
    """글과 레이블의 번호를 `Batches`가 받는 짝으로 바꿉니다.

    Args:
        tokenizer: `Tokenizer`.
        texts: 문자열의 목록. 저마다 비어 있지 않아야 합니다.
        labels: 글마다의 레이블, 0 이상의 정수.

    Returns:
        `(source_ids, [bos, 1 + 레이블])`의 목록. 글은 `<eos>`로 닫습니다.

    Raises:
        TypeError: 문자열이 아닌 글.
        ValueError: 빈 글, 음수인 레이블, 수가 서로 다른 글과 레이블.

    Examples:
        >>> from transformer_notes.tokenization import Tokenizer
        >>> tokenizer = Tokenizer.train(["책을 책을"], vocab_size=10)
        >>> label_pairs(tokenizer, ["책을"], [1])
        [(array([8, 3], dtype=int32), [2, 2])]
        >>> label_pairs(tokenizer, ["책을"], [-1])
        Traceback (most recent call last):
            ...
        ValueError: labels에는 0 이상의 번호가 필요합니다. 받은 것: -1.
    """
    rows, labels = text_rows(tokenizer, texts), list(labels)
    if any(label < 0 for label in labels):
        raise ValueError(
            f"labels에는 0 이상의 번호가 필요합니다. 받은 것: {min(labels)}."
        )
    return [
        (row, [tokenizer.bos_id, 1 + label])
        for row, label in zip(rows, labels, strict=True)
    ]


def classify(model, tokenizer, texts, batch=64):
    """글마다 레이블의 확률을 구합니다.

    Args:
        model: `Classifier`나 `pretraining.FineTuned`.
        tokenizer: 모델과 같은 어휘 집합의 `Tokenizer`.
        texts: 문자열의 목록. 저마다 비어 있지 않아야 합니다.
        batch: 한 번에 읽을 글의 수. 확률을 바꾸지 않습니다.

    Returns:
        확률, float32, (글의 수, num_labels). 줄마다 더하면 1입니다.

    Raises:
        TypeError: 문자열이 아닌 글, 정수가 아닌 batch.
        ValueError: 빈 글, 1보다 작은 batch, 학습되는 위치 표보다 긴 글.
    """
    rows, batch = text_rows(tokenizer, texts), _arguments.positive_int("batch", batch)
    found = np.empty((len(rows), model.num_labels), np.float32)
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    for start in range(0, len(order), batch):  # 비슷한 길이끼리 읽습니다
        places = order[start : start + batch]
        ids = pad_rows([rows[place] for place in places], tokenizer.pad_id)
        logits = model((ids, ids[:, :1]))
        found[places] = tf.nn.softmax(logits[:, 0, 1:])
    return found
