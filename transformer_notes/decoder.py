"""디코더의 층과 스택 (논문 3.1절)."""

import keras
import tensorflow as tf

from transformer_notes import checks
from transformer_notes.encoder import ConfiguredLayer


class MemoryLayer(ConfiguredLayer):
    """memory를 읽는 층의 공통 부분: 두 입력의 검사와, 캐시가 있을 때의 출력."""

    def check_shapes(self, x_shape, memory_shape):
        self.check_width("x", x_shape)
        self.check_width("memory", memory_shape)
        sentences = tf.TensorShape(x_shape)[:1], tf.TensorShape(memory_shape)[:1]
        if not sentences[0].is_compatible_with(sentences[1]):
            raise ValueError(
                "x와 memory에는 같은 수의 문장이 필요합니다. 받은 모양: "
                f"{tuple(x_shape)}, {tuple(memory_shape)}. 문장마다 그 문장의 memory를 "
                "짝지어 주세요."
            )

    def compute_output_spec(
        self,
        x,
        memory,
        attention_mask=None,
        memory_mask=None,
        training=None,
        cache=None,
        start=0,
    ):
        self.check_shapes(x.shape, memory.shape)
        output = keras.KerasTensor(x.shape, self.compute_dtype)
        if cache is None:
            return output
        # 받은 것을 그대로 내놓으면 함수형 모델이 입력과 출력을 구별하지 못합니다.
        return output, keras.tree.map_structure(
            lambda old: keras.KerasTensor(old.shape, self.compute_dtype), cache
        )


@keras.saving.register_keras_serializable(package="transformer_notes")
class DecoderLayer(MemoryLayer):
    r"""디코더 층 하나: 셀프 어텐션, 크로스 어텐션, 피드포워드. 저마다 Add & Norm입니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    Call arguments:
        x: 실수, (batch, length, d_model).
        memory: 인코더의 출력, (batch, length_memory, d_model). 크로스 어텐션의 키와
            값이 됩니다.
        attention_mask: 셀프 어텐션의 마스크. 불리언, (batch, num_heads, length,
            length)로 브로드캐스트되는 모양. 보통 `look_ahead_mask`와 `padding_mask`를
            묶은 것입니다.
        memory_mask: 크로스 어텐션의 마스크. 불리언, (batch, num_heads, length,
            length_memory)로 브로드캐스트되는 모양, 또는 (batch, length_memory). **입력
            문장의** 패딩을 가립니다.
        training: 드롭아웃을 씌울지.
        cache: 셀프 어텐션의 캐시. `MultiHeadAttention`의 것과 같습니다. 메모리의 키와
            값까지 네 텐서이면(`Decoder.start_cache`) 메모리를 다시 계산하지 않습니다.
        start: 이번 첫 토큰의 위치.

    Returns:
        (batch, length, d_model). `cache`를 주었으면 `(출력, 새 캐시)`입니다.

    Raises:
        TypeError: 실수가 아닌 입력, 불리언이 아닌 마스크.
        ValueError: 맞지 않는 모양, 문장의 수가 서로 다른 x와 memory.
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
        self.check_shapes(x_shape, x_shape if memory_shape is None else memory_shape)
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
        cache=None,
        start=0,
    ):
        x, memory = checks.sequence("x", x), checks.sequence("memory", memory)
        self.check_shapes(x.shape, memory.shape)
        memory_mask = _memory_mask(memory_mask)
        own, read = (cache, ()) if cache is None else (cache[:2], tuple(cache[2:]))

        def attend_to_self(x):
            nonlocal own
            output = self.self_attention(
                x, x, x, attention_mask, training=training, cache=own, start=start
            )
            if own is not None:
                output, own = output
            return output

        def attend_to_memory(x):
            inputs = {"attention_mask": memory_mask, "training": training}
            if not read:
                return self.cross_attention(x, memory, memory, **inputs)
            output, _ = self.cross_attention(
                x, memory, memory, **inputs, cache=read, start=None
            )
            return output

        x = self.self_attention_norm(x, attend_to_self, training=training)
        x = self.cross_attention_norm(x, attend_to_memory, training=training)
        x = self.feed_forward_norm(x, self.feed_forward, training=training)
        return x if cache is None else (x, (*own, *read))

    def start_cache(self, memory, max_length):
        """층 하나의 `Decoder.start_cache`입니다."""
        read = self.cross_attention.keys_and_values(memory, memory)
        batch = keras.ops.shape(memory)[0]
        heads, empty = self.config.num_heads, []
        for depth in (self.self_attention.key_dim, self.self_attention.value_dim):
            empty.append(tf.zeros((batch, heads, max_length, depth), memory.dtype))
        return (*empty, *read)


@keras.saving.register_keras_serializable(package="transformer_notes")
class Decoder(MemoryLayer):
    r"""디코더 층을 `num_layers`겹 쌓습니다. 모든 층이 같은 memory를 봅니다.

    층마다 가중치가 다릅니다. pre-norm이면 마지막 층의 출력을 한 번 더 정규화합니다.

    Args:
        config: `TransformerConfig`.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    Call arguments:
        x: 실수, (batch, length, d_model). 임베딩과 위치 인코딩을 더한 것입니다.
        memory: 인코더의 출력, (batch, length_memory, d_model).
        attention_mask: `DecoderLayer`와 같습니다.
        memory_mask: `DecoderLayer`와 같습니다.
        training: 드롭아웃을 씌울지.
        cache: 층마다 하나씩, 층의 캐시를 담은 목록. `start_cache`가 만듭니다.
        start: 이번 첫 토큰의 위치.

    Returns:
        (batch, length, d_model). `cache`를 주었으면 `(출력, 새 캐시의 목록)`입니다.

    Raises:
        TypeError: 실수가 아닌 입력, 불리언이 아닌 마스크.
        ValueError: 맞지 않는 모양, 문장의 수가 서로 다른 x와 memory, 층의 수와 다른
            캐시의 수.

    Examples:
        >>> from transformer_notes.transformer import TransformerConfig
        >>> decoder = Decoder(TransformerConfig(20, d_model=8, num_heads=2, d_ff=16))
        >>> decoder(tf.ones((1, 3, 8)), memory=tf.ones((1, 5, 8))).shape
        TensorShape([1, 3, 8])
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
        cache=None,
        start=0,
    ):
        caches = self._one_for_each_layer(cache)
        new_cache = []
        for layer, layer_cache in zip(self.layers, caches):
            x = layer(
                x,
                memory,
                attention_mask=attention_mask,
                memory_mask=memory_mask,
                training=training,
                cache=layer_cache,
                start=start,
            )
            if cache is not None:
                x, layer_cache = x
                new_cache.append(layer_cache)
        x = x if self.norm is None else self.norm(x)
        return x if cache is None else (x, new_cache)

    def start_cache(self, memory, max_length):
        """답을 한 토큰씩 만들기 시작할 때의 캐시입니다.

        Args:
            memory: 인코더의 출력, (batch, length_memory, d_model).
            max_length: 답의 가장 긴 길이.

        Returns:
            층마다 (키, 값, 메모리의 키, 메모리의 값). 앞의 둘은 0으로 채운
            (batch, num_heads, max_length, depth)이고, 뒤의 둘은 여기서 한 번 계산하면
            끝까지 바뀌지 않는 (batch, num_heads, length_memory, depth)입니다.
        """
        memory = tf.cast(checks.sequence("memory", memory), self.compute_dtype)
        if not self.built:
            self.build(memory.shape, memory.shape)
        return [layer.start_cache(memory, max_length) for layer in self.layers]

    def _one_for_each_layer(self, cache):
        if cache is None:
            return [None] * len(self.layers)
        given = type(cache).__name__
        if isinstance(cache, (list, tuple)):
            pairs = [pair for pair in cache if pair is not None]
            if len(pairs) == len(cache) == len(self.layers):
                return pairs
            given = f"{len(pairs)}개"
            given += " (와 None)" if len(pairs) < len(cache) else ""
        raise ValueError(
            f"cache에는 층마다 하나씩, 캐시 {len(self.layers)}개의 목록이 필요합니다. "
            f"받은 것: {given}. [(key, value), ...]로 묶어 주세요."
        )


def _memory_mask(mask):
    """(batch, length_memory)이면 헤드와 쿼리의 축을 넣습니다.

    Keras는 이름이 memory인 입력에 마스크가 붙어 있으면 memory_mask를 이것으로 채웁니다.
    """
    if mask is None:
        return None
    mask = tf.convert_to_tensor(mask)
    return mask[:, tf.newaxis, tf.newaxis] if mask.shape.rank == 2 else mask
