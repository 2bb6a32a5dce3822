"""조립한 모델 (논문 3장)."""

import functools

import keras
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes._keras_mask import StopsKerasMask
from transformer_notes.config import TransformerConfig
from transformer_notes.decoder import Decoder
from transformer_notes.embedding import TokenEmbedding
from transformer_notes.encoder import Configured, Encoder
from transformer_notes.linear_softmax import LinearSoftmax
from transformer_notes.masking import look_ahead_mask, padding_mask
from transformer_notes.multi_head_attention import Attended

__all__ = ["Transformer", "TransformerConfig"]


@keras.saving.register_keras_serializable(package="transformer_notes")
class Transformer(Configured, StopsKerasMask, keras.Model):
    """인코더-디코더 모델 전체입니다. 여느 Keras 모델처럼 `compile`하고 `fit`합니다.

    패딩 마스크와 룩어헤드 마스크는 토큰 번호에서 스스로 만듭니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.Model`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        inputs: 토큰 번호의 쌍 `(source_ids, target_ids)`. 정수, (batch, length_s)와
            (batch, length_t). target_ids는 정답을 한 칸 민 것, 곧 디코더의 입력입니다.
        training: 드롭아웃을 씌울지.

    Returns:
        로짓, (batch, length_t, vocab_size). t번째 자리는 target_ids의 t번째 토큰 다음에
        올 토큰의 점수입니다.

    Raises:
        TypeError: 정수가 아닌 토큰 번호.
        ValueError: 쌍이 아닌 입력, 2차원이 아닌 토큰 번호, 문장의 수가 서로 다른 두
            배치, 학습되는 위치 표보다 긴 문장.
        tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호.

    Examples:
        >>> config = TransformerConfig(20, d_model=8, num_heads=2, d_ff=16)
        >>> model = Transformer(config)
        >>> logits = model(([[5, 6, 7]], [[1, 8]]))
        >>> logits.shape
        TensorShape([1, 2, 20])
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        options = {"dtype": self.dtype_policy}
        self.target_embedding = TokenEmbedding(
            config.vocab_size, config.d_model, name="target_embedding", **options
        )
        self.source_embedding = self.target_embedding
        if config.source_vocab_size is not None:
            self.source_embedding = TokenEmbedding(
                config.source_vocab_size,
                config.d_model,
                name="source_embedding",
                **options,
            )
        self.positions = config.positional_encoding(name="positions", **options)
        self.source_dropout = keras.layers.Dropout(config.dropout, **options)
        self.target_dropout = keras.layers.Dropout(config.dropout, **options)
        self.make_stacks(**options)
        self.linear_softmax = LinearSoftmax(
            config.vocab_size,
            embedding=self.target_embedding if config.tie_embeddings else None,
            name="linear_softmax",
            **options,
        )

    def make_stacks(self, **options):
        """임베딩과 출력 사이의 스택을 만듭니다."""
        self.encoder = Encoder(self.config, name="encoder", **options)
        self.decoder = Decoder(self.config, name="decoder", **options)

    def build(self, input_shape=None):
        for name in self.part_shapes():
            self._build_part(name)

    def part_shapes(self):
        """가중치를 가진 부품의 이름과, 부품마다 `build`가 받을 모양입니다."""
        ids_shape, x_shape = (None, None), (None, None, self.config.d_model)
        return {
            "source_embedding": [ids_shape],
            "target_embedding": [ids_shape],
            "positions": [x_shape],
            "encoder": [x_shape],
            "decoder": [x_shape, x_shape],
            "linear_softmax": [x_shape],
        }

    def _build_part(self, name):
        part = getattr(self, name)
        if not part.built:  # 공유하는 임베딩, encode를 먼저 부른 인코더
            part.build(*self.part_shapes()[name])

    def get_build_config(self):
        # 인코더만 쓴 모델의 파일에는 디코더의 가중치가 없습니다. 쓴 부품만 적습니다.
        return {"parts": [n for n in self.part_shapes() if getattr(self, n).built]}

    def build_from_config(self, config):
        for name in config["parts"]:
            self._build_part(name)

    def __call__(self, inputs, *args, **kwargs):
        # Keras는 위치 인자로 텐서만 받습니다. 파이썬 목록은 먼저 텐서로 바꿉니다.
        source_ids, target_ids = inputs
        named = ("source_ids", source_ids), ("target_ids", target_ids)
        inputs = tuple(
            _tensors.token_ids(name, ids) if isinstance(ids, (list, tuple)) else ids
            for name, ids in named
        )
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=None):
        source_ids, target_ids = inputs
        memory = self.encode(source_ids, training=training)
        memory_mask = padding_mask(source_ids, self.config.pad_id)
        return self.decode(target_ids, memory, memory_mask, training=training)

    def encode(self, source_ids, training=None, return_weights=False):
        """입력 문장을 읽습니다.

        Args:
            source_ids: 정수, (batch, length_s).
            training: 드롭아웃을 씌울지.
            return_weights: `Attended`를 돌려받을지.

        Returns:
            memory, (batch, length_s, d_model). `return_weights`이면 `Encoder`처럼
            `Attended`입니다.

        Raises:
            TypeError: 정수가 아닌 토큰 번호.
            ValueError: 2차원이 아닌 토큰 번호, 학습되는 위치 표보다 긴 문장.
            tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호.
        """
        source_ids = _tensors.token_ids("source_ids", source_ids)
        # 인코더만 쓰는 모델도 Keras의 검사를 통과합니다. 나머지는 부를 때 만들어집니다.
        self.built = True
        x = self.positions(self.source_embedding(source_ids))
        x = self.source_dropout(x, training=training)  # (batch, length_s, d_model)
        position = tf.range(keras.ops.shape(source_ids)[1], dtype=tf.int64)
        return self.encoder(
            x,
            attention_mask=padding_mask(source_ids, self.config.pad_id),
            training=training,
            return_weights=return_weights,
            position_map=self.position_map(position),
        )

    def decode(
        self,
        target_ids,
        memory,
        memory_mask=None,
        training=None,
        return_weights=False,
        attention_mask=None,
        position=None,
        cache=None,
        slot=0,
    ):
        """memory를 보며 다음 토큰에 점수를 매깁니다.

        Args:
            target_ids: 정수, (batch, length_t).
            memory: `encode`의 출력.
            memory_mask: 입력 문장의 `padding_mask`.
            training: 드롭아웃을 씌울지.
            return_weights: `Attended`를 돌려받을지. `cache`를 주면 언제나 그렇습니다.
            attention_mask: 셀프 어텐션에서 더 가릴 자리. 불리언, (batch, num_heads,
                length_t, length_t)로 브로드캐스트되는 모양. 캐시를 쓰면 마지막 축은
                칸입니다.
            position: 토큰마다의 위치, 정수 (length_t,). None이면 slot부터 차례로
                셉니다. 칸과 위치가 다를 때(빔 탐색)에만 줍니다.
            cache: `Decoder`의 캐시. 주면 룩어헤드 마스크는 캐시가 대신합니다. 번호는
                캐시에 남지 않으므로, 이때에는 target_ids의 패딩을 가리지 않습니다.
            slot: 캐시에서 이번 첫 토큰을 적을 칸.

        Returns:
            로짓, (batch, length_t, vocab_size). `return_weights`이거나 `cache`를
            주었으면 `Decoder`처럼 `Attended`이고, output이 로짓입니다.

        Raises:
            TypeError: 정수가 아닌 토큰 번호나 `position`, 불리언이 아닌 마스크.
            ValueError: 2차원이 아닌 토큰 번호, 모양이 (length_t,)가 아닌 `position`,
                학습되는 위치 표보다 긴 답. 나머지는 `Decoder`와 같습니다.
            tf.errors.InvalidArgumentError: 어휘 집합에 없는 번호, 표를 벗어난 위치.

        Examples:
            >>> config = TransformerConfig(20, d_model=8, num_heads=2, d_ff=16)
            >>> model = Transformer(config)
            >>> memory = model.encode([[5, 6]])
            >>> whole = model.decode([[1, 7, 8]], memory)
            >>> cache = model.start_cache(memory, None, slots=3)
            >>> cache = model.decode([[1]], memory, cache=cache).cache
            >>> rest = model.decode([[7, 8]], memory, cache=cache, slot=1)
            >>> bool(tf.reduce_max(tf.abs(rest.output - whole[:, 1:])) < 1e-4)
            True
        """
        target_ids = _tensors.token_ids("target_ids", target_ids)
        position = self.target_position(target_ids, position, slot)
        x = self.positions(self.target_embedding(target_ids), position=position)
        x = self.target_dropout(x, training=training)  # (batch, length_t, d_model)
        if cache is None:
            attention_mask = self.target_mask(target_ids, attention_mask)
        x, weights, grown = self.decoder(
            x,
            memory,
            attention_mask=attention_mask,
            memory_mask=memory_mask,
            training=training,
            return_weights=True,
            position_map=self.position_map(position),
            cache=cache,
            slot=slot,
        )
        logits = self.linear_softmax(x)  # (batch, length_t, vocab_size)
        return Attended(logits, weights, grown) if return_weights or grown else logits

    def start_cache(self, memory, memory_mask, slots):
        """답을 한 토큰씩 만들기 시작할 때의 캐시입니다.

        Args:
            memory: `encode`의 출력.
            memory_mask: 입력 문장의 `padding_mask`. 여기서는 `decode`만 씁니다.
            slots: 답의 칸 수.

        Returns:
            층마다의 `LayerCache`. `Decoder.start_cache`와 같습니다.
        """
        return self.decoder.start_cache(memory, slots)

    def target_position(self, target_ids, position, slot):
        """답에서 토큰마다의 위치, int64 (length_t,). 인자는 `decode`의 것입니다."""
        if position is not None:
            return _tensors.positions("position", position, target_ids.shape[1])
        length = keras.ops.shape(target_ids)[1]
        return tf.cast(slot, tf.int64) + tf.range(length, dtype=tf.int64)

    def target_mask(self, target_ids, attention_mask):
        """답끼리의 마스크: 패딩, 룩어헤드, 그리고 `decode`가 받은 것이 있으면 그것.

        Examples:
            >>> model = Transformer(TransformerConfig(20, d_model=8, num_heads=2))
            >>> ids, own = tf.constant([[7, 8, 0]]), tf.eye(3, dtype=bool)
            >>> for given in None, own:
            ...     print(model.target_mask(ids, given)[0, 0].numpy())
            [[ True False False]
             [ True  True False]
             [ True  True False]]
            [[ True False False]
             [False  True False]
             [False False False]]
        """
        mask = padding_mask(target_ids, self.config.pad_id)
        mask &= look_ahead_mask(keras.ops.shape(target_ids)[1])
        return mask if attention_mask is None else mask & attention_mask

    def position_map(self, position):
        """쿼리와 키에 위치를 새길 함수. `MultiHeadAttention`이 부릅니다.

        Examples:
            위치를 어텐션에서만 새겨도 앞선 토큰의 순서를 압니다.

            >>> from transformer_notes.variants.positions import ALiBiConfig
            >>> config = ALiBiConfig(20, d_model=8, num_heads=2, num_layers=1)
            >>> model, ids = Transformer(config), [[5, 6, 7], [6, 5, 7]]
            >>> memory = model.encode(ids)
            >>> logits = model.decode(ids, tf.repeat(memory[:1], 2, axis=0))
            >>> for last in memory[:, 2], logits[:, 2]:
            ...     print(bool(tf.reduce_max(tf.abs(last[0] - last[1])) > 1e-4))
            True
            True
        """
        return functools.partial(self.positions.in_attention, position=position)

    def compute_output_shape(self, input_shape):
        _, target_shape = input_shape
        return (*target_shape, self.config.vocab_size)

    def compute_output_spec(self, inputs, training=None):
        source_ids, target_ids = inputs
        shape = self.compute_output_shape((source_ids.shape, target_ids.shape))
        return keras.KerasTensor(shape, dtype=self.compute_dtype)
