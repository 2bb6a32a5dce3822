"""트랜스포머 이전의 모델: 순환 신경망 인코더-디코더와 두 어텐션.

점수를 매기는 두 방법은 논문 3.2.1절에서 견줍니다.
"""

import keras
import tensorflow as tf

from transformer_notes import _arguments, _tensors
from transformer_notes._keras_mask import StopsKerasMask


class ScoredAttention(StopsKerasMask, keras.layers.Layer):
    """점수를 가중치로 바꾸어 값을 평균합니다. 점수는 물려받은 층이 매깁니다."""

    def call(self, query, key, value, attention_mask=None):
        for name, given in {"query": query, "key": key, "value": value}.items():
            if given.shape.rank != 3:  # 행렬곱은 없는 축을 조용히 늘립니다
                raise ValueError(
                    f"{name}에는 모양 (batch, length, depth)가 필요합니다. 받은 모양: "
                    f"{given.shape}. 상태 하나라면 {name}[:, tf.newaxis]로 감싸 주세요."
                )
        scores = self.scores(query, key)  # (batch, length_q, length_k)
        mask = attention_mask
        if mask is not None:  # 모든 쿼리가 같은 키를 봅니다
            mask = tf.convert_to_tensor(mask)[:, tf.newaxis, :]
            mask = _tensors.attention_mask(mask, scores.shape)
        weights = tf.cast(_tensors.masked_softmax(scores, mask), value.dtype)
        return tf.matmul(weights, value), weights  # (batch, length_q, d_v)


@keras.saving.register_keras_serializable(package="transformer_notes")
class AdditiveAttention(ScoredAttention):
    r"""쿼리와 키를 더해 점수를 매기는 어텐션입니다 (Bahdanau 등, 2015).

    .. math:: s_{ij} = v^\top \tanh(q_i W_q + k_j W_k), \qquad
              \alpha_i = \mathrm{softmax}(s_i), \qquad c_i = \sum_j \alpha_{ij} v_j

    점수를 매기는 동안 (batch, length_q, length_k, units)인 배열을 만듭니다.
    쿼리와 키의 차원은 서로 달라도 됩니다. Keras의 마스크는 다음 층에 넘기지 않습니다.

    Args:
        units: 쿼리와 키를 더할 공간의 차원.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        query: 실수, (batch, length_q, d_q).
        key: 실수, (batch, length_k, d_k).
        value: 실수, (batch, length_k, d_v).
        attention_mask: 불리언, (batch, length_k). **True인 키만 봅니다.**
            None이면 모두 봅니다.

    Returns:
        `(context, weights)`. context는 (batch, length_q, d_v), weights는
        (batch, length_q, length_k)입니다. weights의 행은 더해서 1이거나, 볼 키가 없으면
        모두 0이고 그때 context도 0입니다.

    Raises:
        TypeError: 불리언이 아닌 마스크.
        ValueError: 3차원이 아닌 쿼리, 키, 값, 모양이 맞지 않는 마스크.
        tf.errors.InvalidArgumentError: 1차원 마스크.

    Examples:
        >>> layer = AdditiveAttention(units=1)
        >>> layer.build((1, 1, 1), (1, 2, 1))
        >>> [weight.name for weight in layer.weights]
        ['query_kernel', 'key_kernel', 'vector']
        >>> layer.set_weights([tf.ones((1, 1)), tf.ones((1, 1)), tf.constant([2.0])])
        >>> query, key = tf.constant([[[0.5]]]), tf.constant([[[-0.5], [0.5]]])
        >>> context, weights = layer(query, key, key)
        >>> print(weights.numpy().round(3))  # softmax(2 tanh(0), 2 tanh(1))
        [[[0.179 0.821]]]
        >>> context, weights = layer(query, key, key, attention_mask=[[True, False]])
        >>> print(context.numpy(), weights.numpy())  # 첫째 키만 봅니다
        [[[-0.5]]] [[[1. 0.]]]
        >>> layer(query[:, 0], key, key)
        Traceback (most recent call last):
            ...
        ValueError: ...query에는 모양 (batch, length, depth)가 필요합니다...
        >>> wider = tf.ones((1, 2, 4))
        >>> context, _ = AdditiveAttention(units=3)(query, wider, wider)  # 1, 4차원
        >>> context.shape
        TensorShape([1, 1, 4])
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, query_shape, key_shape=None, value_shape=None):
        key_shape = query_shape if key_shape is None else key_shape
        self.query_kernel = self.add_weight(
            name="query_kernel", shape=(query_shape[-1], self.units)
        )
        self.key_kernel = self.add_weight(
            name="key_kernel", shape=(key_shape[-1], self.units)
        )
        self.vector = self.add_weight(name="vector", shape=(self.units,))

    def scores(self, query, key):
        query = tf.matmul(query, tf.cast(self.query_kernel, query.dtype))
        key = tf.matmul(key, tf.cast(self.key_kernel, key.dtype))
        # 쿼리와 키를 모든 짝으로 더합니다.
        pairs = tf.tanh(query[:, :, tf.newaxis, :] + key[:, tf.newaxis, :, :])
        # (batch, length_q, length_k, units)
        return tf.tensordot(pairs, tf.cast(self.vector, pairs.dtype), axes=1)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable(package="transformer_notes")
class MultiplicativeAttention(ScoredAttention):
    r"""쿼리와 키를 곱해 점수를 매기는 어텐션입니다 (Luong 등, 2015).

    .. math:: s_{ij} = q_i \cdot k_j \quad\text{(dot)}, \qquad
              \frac{q_i \cdot k_j}{\sqrt{d_k}} \quad\text{(scaled)}, \qquad
              q_i W k_j^\top \quad\text{(general)}

    "scaled"가 논문의 식 1입니다. 배우는 가중치는 "general"에만 있습니다. 부르는 방법과
    돌려주는 것은 `AdditiveAttention`과 같습니다.

    Args:
        score: "dot", "scaled", "general" 가운데 하나. "general"이면 쿼리와 키의 차원이
            서로 달라도 됩니다.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    Raises:
        TypeError: 불리언이 아닌 마스크.
        ValueError: 모르는 `score`, 3차원이 아닌 쿼리, 키, 값, 모양이 맞지 않는 마스크.
        tf.errors.InvalidArgumentError: 내적하는데 쿼리와 차원이 다른 키, 1차원 마스크.

    Examples:
        >>> query, key = tf.constant([[[1.0]]]), tf.constant([[[0.0], [1.0]]])
        >>> context, weights = MultiplicativeAttention()(query, key, key)
        >>> print(weights.numpy().round(3))  # softmax(0, 1)
        [[[0.269 0.731]]]
        >>> query, key = tf.ones((1, 1, 9)), tf.ones((1, 1, 9)) / 3  # 내적은 3
        >>> key = tf.concat([0 * key, key], axis=1)
        >>> context, weights = MultiplicativeAttention("scaled")(query, key, key)
        >>> print(weights.numpy().round(3))  # softmax(0, 3 / sqrt(9))
        [[[0.269 0.731]]]
        >>> layer, longer = MultiplicativeAttention("general"), tf.ones((1, 2, 4))
        >>> context, weights = layer(query, longer, longer)  # 9차원과 4차원
        >>> layer.kernel.name, layer.kernel.shape
        ('kernel', TensorShape([9, 4]))
    """

    def __init__(self, score="dot", **kwargs):
        super().__init__(**kwargs)
        self.score = _arguments.choice("score", score, ("dot", "scaled", "general"))

    def build(self, query_shape, key_shape=None, value_shape=None):
        if self.score == "general":
            shape = query_shape[-1], (key_shape or query_shape)[-1]
            self.kernel = self.add_weight(name="kernel", shape=shape)

    def scores(self, query, key):
        if self.score == "general":
            query = tf.matmul(query, tf.cast(self.kernel, query.dtype))
        elif self.score == "scaled":
            query = query / query.shape[-1] ** 0.5
        return tf.matmul(query, key, transpose_b=True)

    def get_config(self):
        return {**super().get_config(), "score": self.score}


@keras.saving.register_keras_serializable(package="transformer_notes")
class Seq2Seq(StopsKerasMask, keras.Model):
    r"""순환 신경망으로 읽고 순환 신경망으로 쓰는 인코더-디코더입니다.

    .. math::
        m_j, z_j &= \mathrm{RNN}_e(x_j,\, z_{j-1}), \qquad
        h_t, z'_t = \mathrm{RNN}_d(y_t,\, z'_{t-1}), \qquad z'_0 = z_n \\
        c_t &= \mathrm{Attention}(h_t, m, m), \qquad
        \mathrm{logits}_t = \tanh([c_t; h_t] W_c)\, W_o + b_o

    어텐션이 없으면 인코더에서 디코더로 가는 것은 마지막 상태 z_n뿐이고, 로짓은
    h_t W_o + b_o입니다. 두 어텐션은 모두 디코더 셀의 다음에 두므로(Luong의 자리) 점수를
    매기는 방법만 다릅니다.

    Args:
        vocab_size: 정답 쪽 어휘 집합의 크기.
        units: 임베딩과 은닉 상태의 차원.
        attention: None, "additive", "multiplicative"(dot) 가운데 하나.
        cell: "lstm"이나 "gru".
        source_vocab_size: 입력 쪽 어휘 집합의 크기. None이면 정답 쪽과 같은 임베딩을
            함께 씁니다.
        pad_id: 패딩 토큰의 번호. 입력의 패딩은 읽지 않고, 어텐션도 보지 않습니다.
        **kwargs: `keras.Model`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        inputs: 토큰 번호의 쌍 `(source_ids, target_ids)`. 정수, (batch, length_s)와
            (batch, length_t). 패딩은 뒤에 둡니다. target_ids는 정답을 한 칸 민 것, 곧
            디코더의 입력입니다.
        return_weights: 어텐션 가중치도 돌려받을지.

    Returns:
        로짓, (batch, length_t, vocab_size). `return_weights`이면
        `(로짓, 가중치 (batch, length_t, length_s))`. 어텐션이 없으면 가중치는
        None입니다.

    Raises:
        TypeError: 정수가 아닌 번호.
        ValueError: 모르는 `attention`이나 `cell`, 2차원이 아닌 토큰 번호.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호.

    Examples:
        >>> model = Seq2Seq(20, units=8, attention="additive", source_vocab_size=30)
        >>> model = Seq2Seq.from_config(model.get_config())
        >>> source_ids, target_ids = tf.constant([[5, 6, 29]]), tf.constant([[1, 8]])
        >>> logits, weights = model((source_ids, target_ids), return_weights=True)
        >>> logits.shape, weights.shape
        (TensorShape([1, 2, 20]), TensorShape([1, 2, 3]))
    """

    def __init__(
        self,
        vocab_size,
        units,
        attention=None,
        cell="lstm",
        source_vocab_size=None,
        pad_id=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocab_size, self.units, self.pad_id = vocab_size, units, pad_id
        self.source_vocab_size = source_vocab_size
        self.attention = _arguments.choice(
            "attention", attention, (None, "additive", "multiplicative")
        )
        self.cell = _arguments.choice("cell", cell, ("lstm", "gru"))
        options = {"dtype": self.dtype_policy}
        embedding, dense = keras.layers.Embedding, keras.layers.Dense
        self.target_embedding = embedding(vocab_size, units, name="target", **options)
        self.source_embedding = self.target_embedding
        if source_vocab_size is not None:
            size = source_vocab_size
            self.source_embedding = embedding(size, units, name="source", **options)
        recurrent = keras.layers.LSTM if cell == "lstm" else keras.layers.GRU
        both = {"return_sequences": True, "return_state": True, **options}
        self.encoder = recurrent(units, name="encoder", **both)
        self.decoder = recurrent(units, name="decoder", **both)
        self.attend = self.combine = None
        if attention == "additive":
            self.attend = AdditiveAttention(units, name="attend", **options)
        elif attention == "multiplicative":
            self.attend = MultiplicativeAttention(name="attend", **options)
        if self.attend is not None:
            how = {"activation": "tanh", "use_bias": False}
            self.combine = dense(units, name="combine", **how, **options)
        self.classify = dense(vocab_size, name="classify", **options)

    def build(self, input_shape=None):
        shape = (None, None, self.units)
        for part, *shapes in (
            (self.target_embedding, None),
            (self.source_embedding, None),
            (self.encoder, shape),
            (self.decoder, shape),
            (self.attend, shape, shape),
            (self.combine, (None, None, 2 * self.units)),
            (self.classify, shape),
        ):
            # 공유하는 임베딩, encode와 decode가 먼저 만든 것은 건너뜁니다.
            if part is not None and not part.built:
                part.build(*shapes)

    def call(self, inputs, return_weights=False):
        source_ids, target_ids = inputs
        logits, _, weights = self.decode(target_ids, *self.encode(source_ids))
        return (logits, weights) if return_weights else logits

    def encode(self, source_ids):
        """입력 문장을 읽습니다.

        Args:
            source_ids: 정수, (batch, length_s).

        Returns:
            `(state, memory, memory_mask)`. state는 마지막 진짜 토큰까지 읽은 상태로,
            LSTM이면 `[h, c]`, GRU이면 `[h]`이고 저마다 (batch, units)입니다. memory는
            자리마다의 은닉 상태 (batch, length_s, units), memory_mask는 패딩이 아닌
            자리가 True인 (batch, length_s)입니다.

        Raises:
            TypeError: 정수가 아닌 번호.
            ValueError: 2차원이 아닌 토큰 번호.
            tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호.

        Examples:
            >>> model = Seq2Seq(vocab_size=20, units=8)
            >>> (h, c), memory, memory_mask = model.encode([[5, 6, 0]])
            >>> print(memory_mask.numpy())
            [[ True  True False]]
            >>> bool(tf.reduce_all(h == memory[:, 1]))  # 패딩은 읽지 않습니다
            True
        """
        x = _embed(self.source_embedding, "source_ids", source_ids)
        memory_mask = tf.not_equal(tf.cast(source_ids, tf.int64), self.pad_id)
        # 가린 스텝에서는 상태가 그대로 넘어갑니다.
        memory, *state = self.encoder(x, mask=memory_mask)
        # tf.identity는 Keras가 memory에 붙인 마스크를 떼어 냅니다.
        return state, tf.identity(memory), memory_mask

    def decode(self, target_ids, state, memory=None, memory_mask=None):
        """다음 토큰에 점수를 매깁니다. 한 토큰이든 문장 전체이든 같은 계산입니다.

        Args:
            target_ids: 정수, (batch, length_t). 한 스텝씩이면 (batch, 1).
            state: 앞 스텝의 상태. 첫 스텝에는 `encode`가 돌려준 것.
            memory: `encode`가 돌려준 것. 어텐션이 없으면 쓰지 않습니다.
            memory_mask: `encode`가 돌려준 것.

        Returns:
            `(로짓, 새 상태, 가중치)`. 모양은 모델을 부를 때와 같습니다. 어텐션이 없으면
            가중치는 None입니다.

        Raises:
            TypeError: 정수가 아닌 번호.
            ValueError: 2차원이 아닌 토큰 번호, 수가 셀에 맞지 않는 상태.
            tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호.

        Examples:
            >>> model = Seq2Seq(vocab_size=20, units=8, attention="additive")
            >>> state, memory, memory_mask = model.encode([[5, 6, 7]])
            >>> logits, state, _ = model.decode([[1]], state, memory, memory_mask)
            >>> logits.shape, [part.shape for part in state]
            (TensorShape([1, 1, 20]), [TensorShape([1, 8]), TensorShape([1, 8])])
            >>> gru = Seq2Seq(vocab_size=20, units=8, cell="gru")  # 어텐션이 없습니다
            >>> _, state_of_gru, weights = gru.decode([[1]], *gru.encode([[5, 6, 7]]))
            >>> len(state_of_gru), weights
            (1, None)
            >>> gru.decode([[1]], state)  # LSTM의 상태
            Traceback (most recent call last):
                ...
            ValueError: gru에는 상태 1개의 목록 state가 필요합니다...
        """
        size = 2 if self.cell == "lstm" else 1
        if not isinstance(state, (list, tuple)) or len(state) != size:
            raise ValueError(
                f"{self.cell}에는 상태 {size}개의 목록 state가 필요합니다. "
                f"받은 것: {state!r}. encode나 앞 스텝의 decode가 돌려준 것을 그대로 "
                "넘겨 주세요."
            )
        x = _embed(self.target_embedding, "target_ids", target_ids)
        hidden, *state = self.decoder(x, initial_state=list(state))
        weights = None
        if self.attend is not None:
            context, weights = self.attend(
                hidden, memory, memory, attention_mask=memory_mask
            )
            hidden = self.combine(tf.concat([context, hidden], axis=-1))
        logits = self.classify(hidden)  # (batch, length_t, vocab_size)
        return logits, state, weights

    def get_config(self):
        names = "vocab_size units attention cell source_vocab_size pad_id"
        own = {name: getattr(self, name) for name in names.split()}
        return {**super().get_config(), **own}


def _embed(embedding, name, token_ids):
    """번호를 벡터로 바꿉니다. 모르는 번호가 그럴듯한 벡터가 되지 않게 합니다."""
    ids = _tensors.token_ids(name, token_ids)
    return embedding(_tensors.known_ids(name, ids, embedding.input_dim))
