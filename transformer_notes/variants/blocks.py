"""점수를 한꺼번에 만들지 않는 어텐션 (Milakov와 Gimelshein, 2018; Dao 외, 2022)."""

import dataclasses

import keras
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes.config import TransformerConfig
from transformer_notes.multi_head_attention import MultiHeadAttention


def attention_in_blocks(query, key, value, mask=None, block=128):
    """키를 조각내어 차례로 봅니다. (length_q, length_k) 행렬을 만들지 않습니다.

    쿼리마다 지금까지 본 점수의 최댓값, 분모, 분자만 지니고 다닙니다. 더 큰 점수가
    나오면 앞의 분모와 분자를 그만큼 줄입니다. 값은 `scaled_dot_product_attention`의
    출력과 같고, 볼 키가 하나도 없는 행은 0입니다. 기울기를 구하려면 조각마다의 계산이
    남으므로, 메모리는 답만 구할 때 줄어듭니다.

    Args:
        query: 실수, (..., length_q, d_k).
        key: `query`와 같은 dtype, (..., length_k, d_k).
        value: `query`와 같은 dtype, (..., length_k, d_v).
        mask: 불리언, (..., length_q, length_k)로 브로드캐스트되는 모양.
            **True인 자리만 봅니다.**
        block: 한 번에 볼 키의 수.

    Returns:
        query와 같은 dtype, (..., length_q, d_v).

    Raises:
        TypeError: 불리언이 아닌 마스크.
        ValueError: 서로 다른 앞쪽 차원, 길이가 서로 다른 키와 값, 점수의 모양에 맞지
            않는 마스크.
    """
    query, key, value = map(tf.convert_to_tensor, (query, key, value))
    if not (query.shape[:-2] == key.shape[:-2] and key.shape[:-1] == value.shape[:-1]):
        raise ValueError(
            "query, key, value에는 같은 앞쪽 차원(배치, 헤드)이, key와 value에는 같은 "
            f"길이가 필요합니다. 받은 모양: {query.shape}, {key.shape}, {value.shape}. "
            "앞쪽 차원은 tf.repeat로 맞추어 주세요."
        )
    dtype = tf.float64 if query.dtype == tf.float64 else tf.float32
    length = tf.shape(key)[-2]
    visible = tf.fill((length,), True)
    if mask is not None:
        shape = query.shape[:-1].concatenate(key.shape[-2:-1])
        visible &= _tensors.attention_mask(mask, shape)
    # 마지막 조각의 모양도 같게 채우고, 채운 키는 가립니다.
    rest = -length % block
    keys, values = (_pad(x, rest, 2) for x in (key, value))
    visible = _pad(visible, rest)
    scaled = tf.cast(query, dtype) * query.shape[-1] ** -0.5

    def see(start, highest, total, output):
        seen = _block(visible, start, block)
        k, v = (tf.cast(_block(x, start, block, 2), dtype) for x in (keys, values))
        scores = tf.matmul(scaled, k, transpose_b=True)  # (..., length_q, block)
        scores = tf.where(seen, scores, dtype.min)  # 무한대끼리 빼지 않습니다
        most = tf.reduce_max(scores, axis=-1, keepdims=True)
        most = tf.stop_gradient(tf.maximum(highest, most))
        weights = tf.where(seen, tf.exp(scores - most), tf.zeros((), dtype))
        shrink = tf.exp(highest - most)
        total = total * shrink + tf.reduce_sum(weights, axis=-1, keepdims=True)
        return start + block, most, total, output * shrink + tf.matmul(weights, v)

    nothing = tf.zeros_like(scaled[..., :1])  # (..., length_q, 1)
    sums = tf.repeat(nothing, value.shape[-1], axis=-1)  # (..., length_q, d_v)
    state = tf.constant(0), nothing + dtype.min, nothing, sums
    # 횟수를 알아야 XLA가 기울기도 구합니다.
    times = None if key.shape[-2] is None else -(-key.shape[-2] // block)
    _, _, total, output = tf.while_loop(
        lambda start, *_: start < length,
        see,
        state,
        parallel_iterations=1,  # 여럿을 함께 계산하면 메모리를 아끼지 못합니다
        maximum_iterations=times,
    )
    return tf.cast(tf.math.divide_no_nan(output, total), value.dtype)


def _pad(x, rest, axis=1):
    """뒤에서 axis번째 축의 끝을 0이나 False로 채웁니다."""
    paddings = [[0, 0]] * len(x.shape)
    paddings[-axis] = [0, rest]
    return tf.pad(x, paddings)


def _block(x, start, block, axis=1):
    """뒤에서 axis번째 축의 start부터 block개입니다."""
    begin, size = [0] * len(x.shape), list(keras.ops.shape(x))
    begin[-axis], size[-axis] = start, block
    return tf.slice(x, begin, size)


@keras.saving.register_keras_serializable(package="transformer_notes")
class AttentionInBlocks(MultiHeadAttention):
    """점수를 조각내어 계산하는 멀티 헤드 어텐션입니다. 인자도 출력도 같습니다.

    가중치를 만들지 않으므로 `Attended`의 weights는 `[]`이고, 가중치에 씌우는
    `dropout`은 받지 않습니다.

    Raises:
        ValueError: 0이 아닌 `dropout`.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.dropout:
            raise ValueError(
                f"dropout에는 0이 필요합니다. 받은 것: {self.dropout}. 조각내어 "
                "계산하면 드롭아웃을 씌울 가중치가 남지 않습니다."
            )

    def weigh(self, query, keys, values, mask=None):
        return attention_in_blocks(query, keys, values, mask), []


@keras.saving.register_keras_serializable(package="transformer_notes")
@dataclasses.dataclass(frozen=True)
class BlocksConfig(TransformerConfig):
    """모든 어텐션이 `AttentionInBlocks`인 모델의 설정입니다."""

    def attention(self, **options):
        return super().attention(AttentionInBlocks, **options)
