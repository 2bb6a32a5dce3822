"""레이블 없는 글로 먼저 배우기: 가린 토큰을 채우기(BERT)와 이어 쓰기(GPT).

한 모델을 두 과제로 가르칩니다. 배운 몸통에 선형 변환 하나를 붙이면 분류기가 됩니다.
"""

import functools

import keras
import numpy as np
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes._keras_mask import StopsKerasMask
from transformer_notes.classification import NEVER, mean_over
from transformer_notes.embedding import TokenEmbedding
from transformer_notes.encoder import Configured, Encoder
from transformer_notes.linear_softmax import LinearSoftmax
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.tokenization import SPECIAL_TOKENS
from transformer_notes.training.batches import Batches

#: 고르는 비율. 이보다 작은 수가 나온 토큰을 고릅니다 (BERT 3.1절).
CHOSEN = 0.15
#: 고른 것의 80%는 `<mask>`로, 다음 10%는 아무 토큰으로 바꾸고, 나머지는 그대로 둡니다.
MASKED, REPLACED = 0.8 * CHOSEN, 0.9 * CHOSEN


def mask_tokens(token_ids, chance, random_ids, mask_id):
    """BERT의 방법으로 토큰을 가리고, 맞힐 토큰을 적습니다 (Devlin 외, 3.1절).

    토큰마다 0과 1 사이의 수 하나를 뽑아 정합니다.

    - 0.12보다 작으면 `mask_id`로 바꿉니다.
    - 0.12 이상 0.135 미만이면 `random_ids`의 토큰으로 바꿉니다.
    - 0.135 이상 0.15 미만이면 그대로 둡니다. 그래도 맞혀야 합니다.
    - 0.15 이상이면 그대로 두고, 맞히지 않습니다.

    특수 토큰(0부터 3까지)은 고르지 않습니다.

    Args:
        token_ids: 정수, (batch, length).
        chance: 0 이상 1 미만의 고른 난수, (batch, length).
        random_ids: 바꾸어 넣을 아무 토큰, 정수 (batch, length).
        mask_id: `<mask>`의 번호.

    Returns:
        `(inputs, labels)`. 정수, (batch, length)입니다. labels는 고른 자리에 본디의
        토큰을, 나머지 자리에 0을 적은 것입니다.

    Examples:
        >>> ids = np.array([[7, 8, 9, 5, 3, 0]])
        >>> chance = np.array([[0.05, 0.12, 0.135, 0.15, 0.01, 0.01]])
        >>> inputs, labels = mask_tokens(ids, chance, np.full_like(ids, 6), mask_id=10)
        >>> print(inputs, labels)
        [[10  6  9  5  3  0]] [[7 8 9 0 0 0]]
    """
    token_ids, chance = np.asarray(token_ids), np.asarray(chance)
    ordinary = token_ids >= len(SPECIAL_TOKENS)
    chosen = ordinary & (chance < CHOSEN)
    inputs = np.where(chosen & (chance < REPLACED), random_ids, token_ids)
    inputs = np.where(chosen & (chance < MASKED), mask_id, inputs)
    return inputs, np.where(chosen, token_ids, 0)


class MaskedBatches(Batches):
    """가린 토큰을 채우는 과제의 배치. 같은 글도 에폭마다 다른 자리를 가립니다.

    Args:
        rows: 토큰 번호의 목록. 글마다 1차원이고 `<eos>`로 끝납니다.
        mask_id: `<mask>`의 번호. 4부터 이보다 하나 작은 번호까지가 보통의 토큰입니다.
        tokens: 배치 하나의 한도. `Batches`와 같습니다.
        seed: 섞고 가리는 시드.

    Examples:
        >>> data = MaskedBatches([[5, 6, 7, 3]] * 9, mask_id=8, tokens=36)
        >>> (inputs, places), labels = data.at(0)
        >>> inputs.shape, places.shape == labels.shape
        ((9, 4), True)
        >>> print(np.reshape(inputs, -1)[places[0, :3]], labels[0, :3])
        [8 7 8] [7 7 7]
    """

    def __init__(self, rows, mask_id, tokens, seed=0):
        super().__init__([(row, [0, *row]) for row in rows], tokens, seed)
        self.mask_id = mask_id

    def at(self, step):
        """step번째 배치: `((inputs, places), labels)`.

        places는 맞힐 자리를 배치 전체에서 센 번호, int32 (1, n)이고 labels는 그 자리의
        토큰, int32 (1, n)입니다.
        """
        (token_ids, _), _ = super().at(step)
        rng = np.random.default_rng([self.seed, step])
        random_ids = rng.integers(len(SPECIAL_TOKENS), self.mask_id, token_ids.shape)
        chance = rng.random(token_ids.shape)
        return _asked(*mask_tokens(token_ids, chance, random_ids, self.mask_id))


class NextTokenBatches(Batches):
    """다음 토큰을 잇는 과제의 배치. 모든 자리에서 맞힙니다.

    Args:
        rows: 토큰 번호의 목록. 글마다 `<bos>`로 시작해 `<eos>`로 끝납니다.
        tokens: 배치 하나의 한도. `Batches`와 같습니다.
        seed: 섞는 시드.

    Examples:
        >>> data = NextTokenBatches([[2, 5, 6, 3], [2, 7, 3]], tokens=6)
        >>> (inputs, places), labels = data.at(0)
        >>> print(inputs.tolist(), places, labels)
        [[2, 7, 0], [2, 5, 6]] [[0 1 3 4 5]] [[7 3 5 6 3]]
    """

    def __init__(self, rows, tokens, seed=0):
        super().__init__([(row[:-1], row) for row in rows], tokens, seed)

    def at(self, step):
        """step번째 배치. `MaskedBatches.at`과 같은 꼴입니다."""
        (token_ids, _), labels = super().at(step)
        return _asked(token_ids, labels)


def _asked(inputs, labels):
    """맞힐 자리만 남깁니다. 나머지 자리는 로짓도 구하지 않습니다."""
    places = np.flatnonzero(labels)
    labels = labels.reshape(-1)[places]
    parts = inputs, places[np.newaxis], labels[np.newaxis]
    inputs, places, labels = (part.astype(np.int32) for part in parts)
    return (inputs, places), labels


@keras.saving.register_keras_serializable(package="transformer_notes")
class LanguageModel(Configured, StopsKerasMask, keras.Model):
    """글을 읽고 자리마다 토큰을 맞히는 모델: 임베딩, 인코더, 소프트맥스의 로짓.

    `causal`이면 룩어헤드 마스크를 걸어 앞만 봅니다. 크로스 어텐션이 없는 디코더, 곧
    GPT의 몸통입니다. 아니면 앞뒤를 모두 봅니다. BERT의 몸통입니다. 마스크 말고는 같은
    모델입니다.

    Args:
        config: `TransformerConfig`. 어휘 집합은 하나입니다.
        causal: 앞만 볼지.
        **kwargs: `keras.Model`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        inputs: 쌍 `(token_ids, places)`. token_ids는 정수 (batch, length), places는
            맞힐 자리를 배치 전체에서 센 번호, 정수 (1, n)입니다.
        training: 드롭아웃을 씌울지.

    Returns:
        로짓, (1, n, vocab_size).

    Raises:
        TypeError: 정수가 아닌 토큰 번호.
        ValueError: 2차원이 아닌 토큰 번호, 학습되는 위치 표보다 긴 글.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호.

    Examples:
        >>> from transformer_notes.config import TransformerConfig
        >>> config = TransformerConfig(20, d_model=8, num_heads=2, d_ff=16)
        >>> model = LanguageModel(config)
        >>> model((np.array([[5, 6, 3], [7, 3, 0]]), np.array([[0, 3]]))).shape
        TensorShape([1, 2, 20])
        >>> def moves(model):  # 뒤의 토큰을 바꾸면 앞의 벡터가 바뀌는지
        ...     first, other = (model.read([[5, 6, last]])[0, 0] for last in (3, 9))
        ...     return bool(np.abs(first - other).max() > 1e-6)
        >>> moves(model), moves(LanguageModel(config, causal=True))
        (True, False)
    """

    def __init__(self, config, causal=False, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        self.causal = causal
        options = {"dtype": self.dtype_policy}
        self.embedding = TokenEmbedding(
            config.vocab_size, config.d_model, name="embedding", **options
        )
        self.positions = config.positional_encoding(name="positions", **options)
        self.dropout = keras.layers.Dropout(config.dropout, **options)
        self.encoder = Encoder(config, name="encoder", **options)
        self.linear_softmax = LinearSoftmax(
            config.vocab_size,
            embedding=self.embedding if config.tie_embeddings else None,
            name="linear_softmax",
            **options,
        )

    def build(self, input_shape=None):
        x_shape = (None, None, self.config.d_model)
        for part, shape in (
            (self.embedding, (None, None)),
            (self.positions, x_shape),
            (self.encoder, x_shape),
            (self.linear_softmax, x_shape),
        ):
            if not part.built:  # read가 먼저 만든 것
                part.build(shape)

    def read(self, token_ids, training=None):
        """자리마다의 벡터를 구합니다. 모델을 부를 때와 같은 것을 거절합니다.

        Args:
            token_ids: 정수, (batch, length).
            training: 드롭아웃을 씌울지.

        Returns:
            (batch, length, d_model).
        """
        token_ids = _tensors.token_ids("token_ids", token_ids)
        length = tf.shape(token_ids)[1]
        mask = padding_mask(token_ids, self.config.pad_id)  # (batch, 1, 1, length)
        if self.causal:
            mask &= look_ahead_mask(length)  # (batch, 1, length, length)
        position = tf.range(length, dtype=tf.int64)
        x = self.dropout(self.positions(self.embedding(token_ids)), training=training)
        return self.encoder(  # (batch, length, d_model)
            x,
            attention_mask=mask,
            training=training,
            position_map=functools.partial(
                self.positions.in_attention, position=position
            ),
        )

    def call(self, inputs, training=None):
        token_ids, places = inputs
        x = self.read(token_ids, training)
        x = tf.reshape(x, (-1, self.config.d_model))  # (batch × length, d_model)
        return self.linear_softmax(tf.gather(x, places))  # (1, n, vocab_size)

    def get_config(self):
        return {**super().get_config(), "causal": self.causal}


@keras.saving.register_keras_serializable(package="transformer_notes")
class FineTuned(StopsKerasMask, keras.Model):
    """`LanguageModel`의 몸통에 선형 변환 하나를 붙인 분류기.

    진짜 토큰의 벡터를 평균해 레이블마다 점수를 매깁니다. 몸통도 함께 배웁니다. 쓰는
    법은 `Classifier`와 같습니다: `label_pairs`, `Batches`, `train`, `classify`.

    Args:
        body: `LanguageModel`. 사전 학습한 것이어도, 갓 만든 것이어도 됩니다.
        num_labels: 레이블의 수.
        **kwargs: `keras.Model`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        inputs: 쌍 `(source_ids, target_ids)`. target_ids는 쓰지 않습니다.
        training: 드롭아웃을 씌울지.

    Returns:
        로짓, (batch, 1, 1 + num_labels). 0번의 확률은 0입니다. float32이고 float64
        모델에서는 float64입니다.

    Raises:
        TypeError: 정수가 아닌 토큰 번호.
        ValueError: 2차원이 아닌 토큰 번호, 학습되는 위치 표보다 긴 글.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호.

    Examples:
        >>> from transformer_notes.config import TransformerConfig
        >>> config = TransformerConfig(20, d_model=8, num_heads=2, d_ff=16)
        >>> body = LanguageModel(config, causal=True, dtype="mixed_bfloat16")
        >>> model = FineTuned(body, num_labels=2, dtype="mixed_bfloat16")
        >>> model = FineTuned.from_config(model.get_config())
        >>> logits = model((np.array([[5, 6, 3], [7, 3, 0]]), np.array([[2], [2]])))
        >>> logits.shape, logits.dtype.name, model.body.causal
        (TensorShape([2, 1, 3]), 'float32', True)
        >>> print(tf.nn.softmax(logits)[:, 0, 0].numpy())
        [0. 0.]
    """

    def __init__(self, body, num_labels, **kwargs):
        super().__init__(**kwargs)
        self.body = body
        self.num_labels = num_labels
        options = {"dtype": self.dtype_policy}
        self.dropout = keras.layers.Dropout(body.config.dropout, **options)
        self.linear = keras.layers.Dense(num_labels, name="linear", **options)

    def build(self, input_shape=None):
        if not self.body.built:
            self.body.build()
        self.linear.build((None, self.body.config.d_model))

    def call(self, inputs, training=None):
        source_ids = inputs[0]
        real = source_ids != self.body.config.pad_id  # (batch, length)
        x = mean_over(self.body.read(source_ids, training), real)  # (batch, d_model)
        scores = self.linear(self.dropout(x, training=training))  # (batch, num_labels)
        scores = tf.cast(scores, keras.backend.result_type(scores.dtype, "float32"))
        return tf.pad(scores, [(0, 0), (1, 0)], constant_values=NEVER)[:, tf.newaxis]

    def get_config(self):
        body = keras.saving.serialize_keras_object(self.body)
        return {**super().get_config(), "body": body, "num_labels": self.num_labels}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        inner = keras.saving.deserialize_keras_object(config["body"])
        return cls(**{**config, "body": inner})
