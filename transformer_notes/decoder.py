"""디코더의 층과 스택 (논문 3.1절)."""

from typing import NamedTuple

import keras
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes.encoder import ConfiguredLayer
from transformer_notes.multi_head_attention import Attended, KeysValues


class LayerCache(NamedTuple):
    """층 하나가 답을 한 토큰씩 만드는 동안 다시 쓰는 것."""

    #: 앞선 토큰의 키와 값, (batch, num_heads, slots, depth). 칸을 하나씩 채웁니다.
    own: KeysValues
    #: 메모리의 키와 값, (batch, num_heads, length_memory, depth). 바뀌지 않습니다.
    #: 크로스 어텐션이 없는 모델에서는 None입니다.
    memory: KeysValues | None


class AttentionWeights(NamedTuple):
    """디코더 층 하나의 어텐션 가중치."""

    #: (batch, num_heads, length, length). 캐시를 쓰면 마지막 축은 칸입니다.
    self_attention: tf.Tensor
    #: (batch, num_heads, length, length_memory).
    cross_attention: tf.Tensor


@keras.saving.register_keras_serializable(package="transformer_notes")
class DecoderLayer(ConfiguredLayer):
    r"""디코더 층 하나: 셀프 어텐션, 크로스 어텐션, 피드포워드. 저마다 Add & Norm입니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        x: 실수, (batch, length, d_model).
        memory: 인코더의 출력, (batch, length_memory, d_model). 크로스 어텐션의 키와
            값이 됩니다.
        attention_mask: 셀프 어텐션의 마스크. 불리언, (batch, num_heads, length,
            length)로 브로드캐스트되는 모양. 보통 `look_ahead_mask`와 `padding_mask`를
            묶은 것입니다. 캐시를 쓰면 마지막 축은 칸입니다.
        memory_mask: 크로스 어텐션의 마스크. 불리언, (batch, num_heads, length,
            length_memory)로 브로드캐스트되는 모양, 또는 (batch, length_memory). **입력
            문장의** 패딩을 가립니다.
        training: 드롭아웃을 씌울지.
        return_weights: `Attended`를 돌려받을지. `cache`를 주면 언제나 그렇습니다.
        position_map: 셀프 어텐션의 쿼리와 키에 위치를 새기는 함수.
            `MultiHeadAttention`과 같습니다.
        cache: `start_cache`가 만든 `LayerCache`. 주면 메모리를 다시 계산하지 않고, 앞선
            토큰은 캐시에서 읽습니다.
        slot: 이번 첫 토큰을 적을 칸. `MultiHeadAttention`과 같습니다.

    Returns:
        (batch, length, d_model). `return_weights`이거나 `cache`를 주었으면
        `Attended`이고, 가중치는 `AttentionWeights`, 캐시는 `LayerCache`입니다.

    Raises:
        TypeError: 불리언이 아닌 마스크.
        ValueError: 문장의 수가 서로 다른 x와 memory, 점수의 모양에 맞지 않는 마스크,
            맞지 않거나 칸이 모자란 캐시.

    Examples:
        >>> from transformer_notes.config import TransformerConfig
        >>> layer = DecoderLayer(TransformerConfig(20, d_model=8, num_heads=2, d_ff=16))
        >>> x, memory = tf.ones((1, 1, 8)), tf.ones((1, 5, 8))
        >>> expected = layer(x, memory)
        >>> cache = layer.start_cache(memory, max_length=2)
        >>> output, weights, cache = layer(x, memory, cache=cache)  # 0번 칸에 적습니다
        >>> bool(tf.reduce_max(tf.abs(output - expected)) < 1e-5)
        True
        >>> weights.self_attention.shape, weights.cross_attention.shape
        (TensorShape([1, 2, 1, 2]), TensorShape([1, 2, 1, 5]))
        >>> layer(x, tf.ones((2, 5, 8)))
        Traceback (most recent call last):
            ...
        ValueError: ...x와 memory에는 같은 수의 문장이 필요합니다...
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.self_attention = self.attention("self_attention")
        self.self_attention_norm = self.add_and_norm("self_attention_norm")
        self.cross_attention = self.attention("cross_attention")
        self.cross_attention_norm = self.add_and_norm("cross_attention_norm")
        self.feed_forward = self.position_wise("feed_forward")
        self.feed_forward_norm = self.add_and_norm("feed_forward_norm")

    def build(self, x_shape, memory_shape=None):
        shape = (None, None, self.config.d_model)  # x도 memory도 설정의 차원입니다
        self.self_attention.build(shape, shape, shape)
        self.self_attention_norm.build(shape)
        self.cross_attention.build(shape, shape, shape)
        self.cross_attention_norm.build(shape)
        self.feed_forward.build(shape)
        self.feed_forward_norm.build(shape)

    def call(
        self,
        x,
        memory,
        attention_mask=None,
        memory_mask=None,
        training=None,
        return_weights=False,
        position_map=None,
        cache=None,
        slot=0,
    ):
        _tensors.same_batch(x, memory)
        memory_mask = with_query_axis(memory_mask)

        weighing = {"training": training, "return_weights": True}
        own = {"attention_mask": attention_mask, "position_map": position_map}
        own |= {"cache": None if cache is None else cache.own, "slot": slot}

        def attend_to_self(x):
            return self.self_attention(x, x, x, **own, **weighing)

        def attend_to_memory(x):
            if cache is None:
                return self.cross_attention(x, memory, memory, memory_mask, **weighing)
            # 메모리의 키와 값은 이미 계산했습니다.
            read = self.cross_attention.read(x, cache.memory, memory_mask, training)
            return Attended(*read, [])

        x, seen, grown = self.self_attention_norm(x, attend_to_self, training)
        x, read, _ = self.cross_attention_norm(x, attend_to_memory, training)
        x = self.feed_forward_norm(x, self.feed_forward, training)
        grown = cache._replace(own=grown) if grown else []
        weights = AttentionWeights(seen, read)
        return Attended(x, weights, grown) if return_weights or grown else x

    def start_cache(self, memory, max_length):
        """층 하나의 `Decoder.start_cache`입니다."""
        batch = keras.ops.shape(memory)[0]
        own = self.self_attention.start_cache(batch, max_length)
        return LayerCache(own, self.cross_attention.keys_and_values(memory, memory))


@keras.saving.register_keras_serializable(package="transformer_notes")
class Decoder(ConfiguredLayer):
    r"""디코더 층을 `num_layers`겹 쌓습니다. 모든 층이 같은 memory를 봅니다.

    층마다 가중치가 다릅니다. pre-norm이면 마지막 층의 출력을 한 번 더 정규화합니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        x: 실수, (batch, length, d_model). 임베딩과 위치 인코딩을 더한 것입니다.
        memory: 인코더의 출력, (batch, length_memory, d_model).
        attention_mask: `DecoderLayer`와 같습니다.
        memory_mask: `DecoderLayer`와 같습니다.
        training: 드롭아웃을 씌울지.
        return_weights: `Attended`를 돌려받을지. `cache`를 주면 언제나 그렇습니다.
        position_map: `DecoderLayer`와 같습니다. 모든 층이 함께 씁니다.
        cache: 층마다 하나씩, `LayerCache`를 담은 목록. `start_cache`가 만듭니다.
        slot: 이번 첫 토큰을 적을 칸. `MultiHeadAttention`과 같습니다.

    Returns:
        (batch, length, d_model). `return_weights`이거나 `cache`를 주었으면
        `Attended`이고, 가중치와 캐시는 층마다의 목록입니다.

    Raises:
        TypeError: 불리언이 아닌 마스크.
        ValueError: 문장의 수가 서로 다른 x와 memory, 점수의 모양에 맞지 않는 마스크,
            층의 수와 다른 캐시의 수, 맞지 않거나 칸이 모자란 캐시.

    Examples:
        >>> from transformer_notes.config import TransformerConfig
        >>> config = TransformerConfig(20, d_model=8, num_heads=2, norm_first=True)
        >>> decoder = Decoder(config, name="own")
        >>> decoder.build((None, None, 8))  # 부르기 전에도 가중치를 모두 만듭니다
        >>> [weight.path for weight in decoder.weights[-3:]]
        ['own/layer_5/feed_forward_norm/norm/beta', 'own/norm/gamma', 'own/norm/beta']
        >>> x = tf.random.stateless_normal((1, 3, 8), seed=(0, 0))
        >>> z = decoder(x, memory=tf.ones((1, 5, 8)))  # 마지막에 정규화한 것입니다
        >>> z.shape, bool(tf.reduce_max(tf.abs(tf.reduce_mean(z, axis=-1))) < 1e-5)
        (TensorShape([1, 3, 8]), True)
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layers = [
            DecoderLayer(config, name=f"layer_{index}", dtype=self.dtype_policy)
            for index in range(config.num_layers)
        ]
        self.norm = self.final_norm()

    def build(self, x_shape, memory_shape=None):
        for layer in self.layers:
            layer.build(x_shape, memory_shape)
        if self.norm is not None:
            self.norm.build((None, None, self.config.d_model))

    def call(
        self,
        x,
        memory,
        attention_mask=None,
        memory_mask=None,
        training=None,
        return_weights=False,
        position_map=None,
        cache=None,
        slot=0,
    ):
        shared = {"attention_mask": attention_mask, "memory_mask": memory_mask}
        shared |= {"training": training, "return_weights": True}
        shared |= {"position_map": position_map, "slot": slot}
        weights, grown = [], []
        for layer, kept in zip(self.layers, self._one_for_each_layer(cache)):
            x, seen, kept = layer(x, memory, cache=kept, **shared)
            weights.append(seen)
            if cache is not None:
                grown.append(kept)
        x = x if self.norm is None else self.norm(x)
        return Attended(x, weights, grown) if return_weights or grown else x

    def start_cache(self, memory, max_length):
        """답을 한 토큰씩 만들기 시작할 때의 캐시입니다.

        Args:
            memory: 인코더의 출력, (batch, length_memory, d_model).
            max_length: 캐시의 칸 수. 답의 가장 긴 길이 이상이어야 합니다.

        Returns:
            층마다의 `LayerCache`. 답의 칸은 0으로 채우고, 메모리의 키와 값은 여기서 한
            번 계산합니다.

        Examples:
            >>> from transformer_notes.config import TransformerConfig
            >>> config = TransformerConfig(20, d_model=8, num_heads=2, d_ff=16)
            >>> decoder = Decoder(config)
            >>> x = tf.random.stateless_normal((2, 3, 8), seed=(0, 1))
            >>> memory = tf.random.stateless_normal((2, 5, 8), seed=(0, 2))
            >>> visible = tf.linalg.band_part(tf.ones((3, 3), bool), -1, 0)
            >>> cache = decoder.start_cache(memory, max_length=3)
            >>> whole = decoder(x, memory, attention_mask=visible)
            >>> output, _, cache = decoder(x[:, :1], memory, cache=cache)
            >>> for slot in 1, 2:
            ...     last = x[:, slot : slot + 1]
            ...     output, _, cache = decoder(last, memory, cache=cache, slot=slot)
            >>> bool(tf.reduce_max(tf.abs(output - whole[:, 2:])) < 1e-5)
            True
            >>> decoder(x, memory, cache=cache[0])  # 층 하나의 것
            Traceback (most recent call last):
                ...
            ValueError: ... 캐시 6개의 목록이 필요합니다. 받은 것: LayerCache...
            >>> decoder(x, memory, cache=[*cache[1:], None])
            Traceback (most recent call last):
                ...
            ValueError: ... 캐시 6개의 목록이 필요합니다. 받은 것: 6개 (와 None)...
        """
        memory = tf.cast(memory, self.compute_dtype)
        if not self.built:
            self.build(memory.shape, memory.shape)
        return [layer.start_cache(memory, max_length) for layer in self.layers]

    def _one_for_each_layer(self, cache):
        if cache is None:
            return [None] * len(self.layers)
        given = type(cache).__name__
        if isinstance(cache, list | tuple) and not isinstance(cache, LayerCache):
            if len(cache) == len(self.layers) and None not in cache:
                return cache
            given = f"{len(cache)}개" + (" (와 None)" if None in cache else "")
        raise ValueError(
            f"cache에는 층마다 하나씩, 캐시 {len(self.layers)}개의 목록이 필요합니다. "
            f"받은 것: {given}. decoder.start_cache(memory, max_length)로 만들어 "
            "주세요."
        )


def with_query_axis(mask):
    """(batch, length_memory)이면 헤드와 쿼리의 축을 넣습니다.

    Keras는 이름이 memory인 입력에 마스크가 붙어 있으면 memory_mask를 이것으로 채웁니다.

    Examples:
        >>> with_query_axis([[True, True, False]]).shape
        TensorShape([1, 1, 1, 3])
    """
    if mask is None:
        return None
    mask = tf.convert_to_tensor(mask)
    return mask[:, tf.newaxis, tf.newaxis] if mask.shape.rank == 2 else mask
