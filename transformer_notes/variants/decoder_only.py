"""디코더만 있는 모델: 입력과 답을 한 줄로 잇는 언어 모델 (Liu 외, 2018)."""

import dataclasses

import keras
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes.decoder import LayerCache
from transformer_notes.encoder import Encoder, EncoderLayer
from transformer_notes.masking import look_ahead_mask
from transformer_notes.multi_head_attention import Attended
from transformer_notes.transformer import Transformer
from transformer_notes.variants.attention import GroupedQueryConfig
from transformer_notes.variants.feed_forward import SwiGLUConfig
from transformer_notes.variants.norm import RMSNormConfig
from transformer_notes.variants.positions import RotaryConfig


@keras.saving.register_keras_serializable(package="transformer_notes")
class DecoderOnlyLayer(EncoderLayer):
    """크로스 어텐션이 없는 디코더 층. 인코더 층이 캐시를 쓸 수 있게 한 것입니다.

    인자는 `EncoderLayer`의 것에 `MultiHeadAttention`의 `cache`와 `slot`을 더한
    것입니다.
    """

    def call(
        self,
        x,
        attention_mask=None,
        training=None,
        return_weights=False,
        position_map=None,
        cache=None,
        slot=0,
    ):
        options = {"training": training, "return_weights": True}
        options |= {"attention_mask": attention_mask, "position_map": position_map}
        options |= {"cache": cache, "slot": slot}

        def attend(x):
            return self.self_attention(x, x, x, **options)

        x, weights, grown = self.self_attention_norm(x, attend, training)
        x = self.feed_forward_norm(x, self.feed_forward, training)
        return Attended(x, weights, grown) if return_weights or grown else x


@keras.saving.register_keras_serializable(package="transformer_notes")
class DecoderOnlyStack(Encoder):
    """`DecoderOnlyLayer`를 `num_layers`겹 쌓습니다."""

    layer_type = DecoderOnlyLayer

    def call(
        self,
        x,
        attention_mask=None,
        training=None,
        return_weights=False,
        position_map=None,
        cache=None,
        slot=0,
    ):
        options = {"training": training, "return_weights": True, "slot": slot}
        options |= {"attention_mask": attention_mask, "position_map": position_map}
        weights, grown = [], []
        for layer, kept in zip(self.layers, cache or [None] * len(self.layers)):
            x, seen, kept = layer(x, cache=kept, **options)
            weights.append(seen)
            if cache is not None:
                grown.append(kept)
        x = x if self.norm is None else self.norm(x)
        return Attended(x, weights, grown) if return_weights or grown else x


@keras.saving.register_keras_serializable(package="transformer_notes")
class DecoderOnly(Transformer):
    """인코더 없이, 입력과 답을 한 줄로 이어 읽는 모델입니다.

    입력 뒤에 답을 여는 토큰이 오고, 그것이 둘을 가르는 `<sep>`입니다. 모든 토큰은 제
    앞의 토큰만 봅니다. 쓰는 법은 `Transformer`와 같아서 `greedy`, `beam_search`,
    `fit`이 그대로 받습니다. 손실도 그대로이므로 입력은 맞히지 않고 답만 맞힙니다.

    패딩이 입력과 답 사이에 끼지 않도록 입력을 오른쪽으로 붙이고, 답은 언제나 위치
    `max_length // 2`에서 시작합니다. 그래서 패딩을 더해도 로짓이 바뀌지 않고, 입력은
    `max_length // 2` 토큰까지 받습니다.

    Args:
        config: `TransformerConfig`. `num_layers`는 층 모두의 수입니다.
        **kwargs: `keras.Model`의 인자 (`name`, `dtype`, `trainable`).

    Raises:
        ValueError: `max_length // 2` 토큰보다 긴 입력. 나머지는 `Transformer`와
            같습니다.

    Examples:
        >>> from transformer_notes.config import TransformerConfig
        >>> config = TransformerConfig(20, d_model=8, num_heads=2, d_ff=16)
        >>> DecoderOnly(config)(([[5, 6, 7]], [[1, 8]])).shape
        TensorShape([1, 2, 20])
    """

    def make_stacks(self, **options):
        self.decoder = DecoderOnlyStack(self.config, name="decoder", **options)

    def part_shapes(self):
        shapes = super().part_shapes()
        del shapes["encoder"]
        return shapes | {"decoder": shapes["positions"]}

    def encode(self, source_ids, training=None):
        """입력의 임베딩입니다. 읽는 일은 `start_cache`와 `decode`가 합니다.

        Args:
            source_ids: 정수, (batch, length_s).
            training: 쓰지 않습니다.

        Returns:
            (batch, length_s, d_model).

        Raises:
            TypeError: 정수가 아닌 토큰 번호.
            ValueError: 2차원이 아닌 토큰 번호, `max_length // 2` 토큰보다 긴 입력.
        """
        source_ids = _tensors.token_ids("source_ids", source_ids)
        most = self.config.max_length // 2
        if (source_ids.shape[1] or 0) > most:
            raise ValueError(
                f"source_ids에는 {most}토큰까지 담습니다. 받은 것: {source_ids.shape}. "
                "입력을 줄이거나 max_length를 늘려 주세요."
            )
        return self.source_embedding(source_ids)

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
        """입력에 이어 답을 읽고, 다음 토큰에 점수를 매깁니다.

        Args:
            target_ids: 정수, (batch, length_t).
            memory: `encode`의 출력. 캐시가 있으면 배치와 길이만 봅니다.
            memory_mask: 입력 문장의 `padding_mask`.
            training: 드롭아웃을 씌울지.
            return_weights: `Attended`를 돌려받을지. `cache`를 주면 언제나 그렇습니다.
            attention_mask: 답끼리의 어텐션에서 더 가릴 자리. `Transformer.decode`와
                같습니다.
            position: 답에서 토큰마다의 위치. None이면 slot부터 차례로 셉니다.
            cache: `start_cache`의 캐시.
            slot: 답의 칸 가운데 이번 첫 토큰을 적을 칸.

        Returns:
            `Transformer.decode`와 같습니다. 가중치는 입력과 답을 이은 길이의 것입니다.
        """
        target_ids = _tensors.token_ids("target_ids", target_ids)
        before, visible = self._prefix(memory, memory_mask)
        length_s, length_t = keras.ops.shape(memory)[1], keras.ops.shape(target_ids)[1]
        position = self.target_position(target_ids, position, slot)
        x = self.target_embedding(target_ids)
        if cache is None:
            x = tf.concat([before, x], axis=1)  # (batch, length_s + length_t, d_model)
            position = tf.concat([_places_before(length_s), position], axis=0)
            own = self.target_mask(target_ids, attention_mask)
            seen = look_ahead_mask(length_s + length_t) & _widen(visible, (0, length_t))
            mask = seen & _widen(own, (length_s, 0), (length_s, 0))
        else:
            slots = keras.ops.shape(cache[0].own.keys)[2] - length_s
            own = tf.fill((1, 1, 1, slots), True)
            own = own if attention_mask is None else own & attention_mask
            mask = _widen(visible, (0, slots)) & _widen(own, (length_s, 0))
            cache, slot = [layer.own for layer in cache], length_s + slot
        x, weights, grown = self._read(x, position, mask, training, cache, slot)
        logits = self.linear_softmax(x if grown else x[:, length_s:])
        grown = [LayerCache(own, None) for own in grown]
        return Attended(logits, weights, grown) if return_weights or grown else logits

    def start_cache(self, memory, memory_mask, slots):
        """입력을 한 번 읽어, 층마다 그 키와 값을 담은 캐시를 만듭니다.

        Args:
            memory: `encode`의 출력.
            memory_mask: 입력 문장의 `padding_mask`.
            slots: 답의 칸 수.

        Returns:
            층마다의 `LayerCache`. 입력의 칸 뒤에 답의 빈칸이 있고, memory는 None입니다.
        """
        before, visible = self._prefix(memory, memory_mask)
        batch, length, _ = keras.ops.shape(before)
        cache = [
            layer.self_attention.start_cache(batch, length + slots)
            for layer in self.decoder.layers
        ]
        mask = _widen(visible, (0, slots))
        read = self._read(before, _places_before(length), mask, False, cache, 0)
        return [LayerCache(own, None) for own in read.cache]

    def _prefix(self, memory, memory_mask):
        """오른쪽으로 붙인 입력과, 그것의 패딩 마스크 (batch, 1, 1, length_s)."""
        visible = tf.fill(tf.shape(memory)[:2], True)
        if memory_mask is not None:
            visible &= memory_mask[:, 0, 0]
        order = tf.argsort(tf.cast(visible, tf.int32), axis=1, stable=True)
        visible = tf.gather(visible, order, batch_dims=1)
        return tf.gather(memory, order, batch_dims=1), visible[
            :, tf.newaxis, tf.newaxis
        ]

    def _read(self, x, position, mask, training, cache, slot):
        position += self.config.max_length // 2  # 답의 첫 토큰이 놓이는 위치
        x = self.target_dropout(self.positions(x, position=position), training=training)
        return self.decoder(
            x,
            attention_mask=mask,
            training=training,
            return_weights=True,
            position_map=self.position_map(position),
            cache=cache,
            slot=slot,
        )


def _places_before(length):
    """답의 첫 토큰을 0으로 셀 때 입력의 위치: -length부터 -1까지."""
    return tf.range(-length, 0, dtype=tf.int64)


def _widen(mask, keys, queries=(0, 0)):
    """마스크의 두 축에 볼 자리를 더합니다. keys와 queries는 앞과 뒤에 더할 수입니다."""
    return tf.pad(mask, [(0, 0), (0, 0), queries, keys], constant_values=True)


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class Today(RMSNormConfig, RotaryConfig, SwiGLUConfig, GroupedQueryConfig):
    """오늘의 언어 모델처럼 고른 설정: pre-norm, RMSNorm, 회전, SwiGLU, 그룹 쿼리.

    `DecoderOnly(Today(...))`로 씁니다. 부품마다의 설정을 함께 물려받고 pre-norm을 켠
    것입니다. 키와 값의 헤드는 `num_key_heads`개이고, 적지 않으면 하나입니다.
    """

    norm_first: bool = True
