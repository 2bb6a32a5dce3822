"""멀티 헤드 어텐션 (논문 3.2.2절, 3.2.3절)."""

import keras
import tensorflow as tf

from transformer_notes import checks
from transformer_notes.attention import _check_mask, scaled_dot_product_attention


@keras.saving.register_keras_serializable(package="transformer_notes")
class MultiHeadAttention(keras.layers.Layer):
    r"""쿼리, 키, 값을 헤드마다 작은 공간에 옮겨 따로 어텐션하고 이어 붙입니다.

    .. math::
        \mathrm{MultiHead}(Q, K, V) &=
            \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O \\
        \mathrm{head}_i &= \mathrm{Attention}(Q W_i^Q,\; K W_i^K,\; V W_i^V)

    헤드마다의 행렬을 옆으로 나란히 놓은 행렬 하나를 한 번 곱한 뒤에 헤드로 나눕니다.
    Keras의 마스크는 다음 층에 넘기지 않습니다.

    Args:
        d_model: 출력의 차원, 1 이상의 정수.
        num_heads: 헤드의 수. `key_dim`이나 `value_dim`을 정하지 않으면 `d_model`을
            나누어떨어지게 해야 합니다.
        key_dim: 헤드 하나의 쿼리와 키의 차원. None이면 d_model // num_heads입니다.
        value_dim: 헤드 하나의 값의 차원. None이면 d_model // num_heads입니다.
        use_bias: 네 선형 변환에 편향을 둘지. 논문의 식에는 편향이 없습니다.
        dropout: 학습할 때 가중치에 씌울 드롭아웃의 비율. 논문은 씌우지 않습니다.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    Call arguments:
        query: 실수, (batch, length_q, depth).
        key: 실수, (batch, length_k, depth).
        value: 실수, (batch, length_k, depth).
        attention_mask: 불리언, (batch, num_heads, length_q, length_k)로 늘어나는 모양.
            3차원이면 (batch, length_q, length_k)입니다. **True인 자리만 봅니다.**
        training: 드롭아웃을 씌울지.
        return_weights: 어텐션 가중치도 돌려받을지.
        cache: 지금까지의 키와 값, 모양이 (batch, num_heads, max_length, key_dim)과
            (batch, num_heads, max_length, value_dim)인 텐서의 쌍. dtype은 층의 계산
            dtype입니다. 주면 이번 토큰의 키와 값을 `start`부터 적어 넣고, 쿼리는 자신과
            앞선 자리만 봅니다. 이때 length_k는 max_length이고, 캐시를 지나는 기울기는
            없습니다.
        start: 이번 첫 토큰의 위치. 0 이상의 정수, 또는 정수 스칼라 텐서. None이면
            캐시를 읽기만 합니다. `key`와 `value`는 쓰지 않고, 가릴 자리는
            `attention_mask`로만 정합니다. 크로스 어텐션이 `keys_and_values`로 한 번
            계산해 둔 메모리를 읽을 때 씁니다.

    Returns:
        output (batch, length_q, d_model). `return_weights`이면 드롭아웃을 씌우기 전의
        가중치 (batch, num_heads, length_q, length_k)가, `cache`를 주었으면 새 캐시가
        차례로 뒤따르는 튜플입니다.

    Raises:
        TypeError: 정수가 아닌 크기나 `start`, 불리언이 아닌 마스크, 실수가 아닌 입력.
        ValueError: 나누어떨어지지 않는 `d_model`, 서로 맞지 않는 모양, 범위를 벗어난
            `dropout`, 음수 `start`, `max_length`를 넘는 start + length_q.
        tf.errors.InvalidArgumentError: 그래프를 실행해야 알 수 있는, 캐시 밖의 자리.
            XLA는 검사를 지우므로 `jit_compile=True`에서는 예외 대신 출력이 NaN입니다.

    Examples:
        >>> layer = MultiHeadAttention(d_model=8, num_heads=2)
        >>> x = tf.ones((1, 4, 8))
        >>> output, weights = layer(x, x, x, return_weights=True)
        >>> output.shape, weights.shape
        (TensorShape([1, 4, 8]), TensorShape([1, 2, 4, 4]))
        >>> [weight.name for weight in layer.weights[:4]]
        ['query_kernel', 'query_bias', 'key_kernel', 'key_bias']
    """

    # 마스크가 붙은 입력도 경고 없이 받습니다. compute_mask가 마스크를 끊습니다.
    supports_masking = True

    def __init__(
        self,
        d_model,
        num_heads,
        key_dim=None,
        value_dim=None,
        use_bias=True,
        dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.d_model = checks.positive_int("d_model", d_model)
        self.num_heads = checks.positive_int("num_heads", num_heads)
        if None in (key_dim, value_dim) and self.d_model % self.num_heads:
            raise ValueError(
                "d_model이 num_heads로 나누어떨어져야 합니다. 받은 것: "
                f"d_model={d_model}, num_heads={num_heads}. 헤드 수를 바꾸거나 "
                "key_dim과 value_dim을 정해 주세요."
            )
        share = self.d_model // self.num_heads
        self.key_dim = checks.positive_int(
            "key_dim", share if key_dim is None else key_dim
        )
        self.value_dim = checks.positive_int(
            "value_dim", share if value_dim is None else value_dim
        )
        self.use_bias = use_bias
        self.dropout = checks.rate("dropout", dropout)
        self._dropout = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)

    def build(self, query_shape, key_shape=None, value_shape=None):
        key_shape = query_shape if key_shape is None else key_shape
        value_shape = key_shape if value_shape is None else value_shape
        key_width = self.num_heads * self.key_dim
        value_width = self.num_heads * self.value_dim
        self.query_map = self._add_map("query", _depth(query_shape), key_width)
        self.key_map = self._add_map("key", _depth(key_shape), key_width)
        self.value_map = self._add_map("value", _depth(value_shape), value_width)
        self.output_map = self._add_map("output", value_width, self.d_model)

    def _add_map(self, name, rows, columns):
        kernel = self.add_weight(
            name=f"{name}_kernel", shape=(rows, columns), initializer="glorot_uniform"
        )
        if not self.use_bias:
            return (kernel,)
        return kernel, self.add_weight(
            name=f"{name}_bias", shape=(columns,), initializer="zeros"
        )

    def call(
        self,
        query,
        key,
        value,
        attention_mask=None,
        training=None,
        return_weights=False,
        cache=None,
        start=0,
    ):
        query = self._split(_linear("query", query, self.query_map), self.key_dim)
        mask = _four_dimensions(attention_mask)
        if cache is not None and start is None:
            key, value = cache
        else:
            key, value = self.keys_and_values(key, value)
        # 셋 다 (batch, num_heads, length, depth)

        if cache is not None and start is not None:
            key, value, seen = _append(cache, query, key, value, start)
            if mask is not None:
                scores = tf.TensorSpec(query.shape[:3].concatenate(key.shape[2:3]))
                seen = seen & _check_mask(mask, scores)
            mask = seen
            cache = key, value

        output, weights = scaled_dot_product_attention(query, key, value, mask)
        if self.dropout and training:
            output = tf.matmul(self._dropout(weights, training=True), value)
        output = _linear("output", self._join(output), self.output_map)
        # (batch, length_q, d_model)

        extras = [weights] if return_weights else []
        extras += [cache] if cache is not None else []
        return (output, *extras) if extras else output

    def keys_and_values(self, key, value):
        """키와 값을 헤드로 나눕니다. 여러 번 읽을 메모리를 한 번만 계산할 때 부릅니다.

        Args:
            key: 실수, (batch, length_k, depth).
            value: 실수, (batch, length_k, depth).

        Returns:
            (batch, num_heads, length_k, key_dim)과 (batch, num_heads, length_k,
            value_dim)의 쌍. `cache`에 넣고 `start`를 None으로 두면 읽습니다.
        """
        key = self._split(_linear("key", key, self.key_map), self.key_dim)
        value = self._split(_linear("value", value, self.value_map), self.value_dim)
        return key, value

    def _split(self, x, depth):
        """(batch, length, num_heads · depth)를 헤드로 나눕니다."""
        batch, length, _ = keras.ops.shape(x)  # 그래프에서 모르는 크기는 텐서입니다
        x = tf.reshape(x, (batch, length, self.num_heads, depth))
        return tf.transpose(x, (0, 2, 1, 3))  # (batch, num_heads, length, depth)

    def _join(self, x):
        """헤드를 다시 이어 붙입니다."""
        x = tf.transpose(x, (0, 2, 1, 3))  # (batch, length, num_heads, depth)
        batch, length, _, _ = keras.ops.shape(x)
        return tf.reshape(x, (batch, length, self.num_heads * self.value_dim))

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def compute_output_shape(self, query_shape, key_shape=None, value_shape=None):
        return (*query_shape[:-1], self.d_model)

    def compute_output_spec(
        self,
        query,
        key,
        value,
        attention_mask=None,
        training=None,
        return_weights=False,
        cache=None,
        start=0,
    ):
        shape = self.compute_output_shape(query.shape)
        output = keras.KerasTensor(shape, self.compute_dtype)
        batch, length_q = query.shape[:2]
        length_k = key.shape[1] if cache is None else cache[0].shape[2]
        shape = (batch, self.num_heads, length_q, length_k)
        weights = keras.KerasTensor(shape, self.compute_dtype)
        extras = [weights] if return_weights else []
        if cache is not None:  # 입력을 그대로 내면 함수형 모델이 이어지지 않습니다
            extras += [tuple(keras.KerasTensor(t.shape, t.dtype) for t in cache)]
        return (output, *extras) if extras else output

    def get_config(self):
        return {
            **super().get_config(),
            "d_model": self.d_model,
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "use_bias": self.use_bias,
            "dropout": self.dropout,
        }


def _linear(name, x, weights):
    """(batch, length, rows)에 행렬 (rows, columns)를 곱하고 편향을 더합니다."""
    x = checks.sequence(name, x)
    if not x.shape[-1:].is_compatible_with(weights[0].shape[:1]):
        raise ValueError(
            f"{name}의 마지막 차원에는 층을 만들 때와 같은 {weights[0].shape[0]}이 "
            f"필요합니다. 받은 모양: {x.shape}."
        )
    kernel, *bias = (tf.cast(weight, x.dtype) for weight in weights)
    x = tf.tensordot(x, kernel, axes=1)  # (batch, length, columns)
    return x + bias[0] if bias else x


def _depth(shape):
    if len(shape) != 3 or shape[-1] is None:
        raise ValueError(
            "query, key, value에는 depth를 미리 아는 모양 (batch, length, depth)가 "
            f"필요합니다. 받은 모양: {tuple(shape)}."
        )
    return shape[-1]


def _four_dimensions(mask):
    """3차원 마스크 (batch, length_q, length_k)에 헤드 축을 넣습니다."""
    if mask is None:
        return None
    mask = tf.convert_to_tensor(mask)
    return mask[:, tf.newaxis] if mask.shape.rank == 3 else mask


def _append(cache, query, key, value, start):
    """캐시의 start 자리부터 키와 값을 적습니다. 쿼리마다 볼 자리도 돌려줍니다."""
    old_key, old_value = _check_cache(cache, query, key, value)
    start = checks.integer_scalar("start", start, minimum=0)
    length, max_length = _length(key), _length(old_key)
    value = _nan_unless_fits(value, start, length, max_length)
    index = (0, 0, start, 0)
    key = keras.ops.slice_update(old_key, index, key)
    value = keras.ops.slice_update(old_value, index, value)
    position = start + tf.range(length, dtype=tf.int64)  # (length_q,)
    slot = tf.range(max_length, dtype=tf.int64)
    return key, value, slot <= position[:, tf.newaxis]  # (length_q, max_length)


def _check_cache(cache, query, key, value):
    try:
        old_key, old_value = map(tf.convert_to_tensor, cache)
    except (TypeError, ValueError):
        raise ValueError(
            "cache에는 키와 값을 담을 텐서의 쌍이 필요합니다. "
            f"받은 것: {type(cache).__name__}."
        ) from None
    if not query.shape[2:3].is_compatible_with(key.shape[2:3]):
        raise ValueError(
            "cache를 쓸 때에는 query와 key의 길이가 같아야 합니다. 받은 길이: "
            f"{query.shape[2]}, {key.shape[2]}. 크로스 어텐션에는 cache를 주지 마세요."
        )
    slots = old_key.shape[2:3] if old_key.shape.rank == 4 else [None]
    for old, new in ((old_key, key), (old_value, value)):
        expected = new.shape[:2].concatenate(slots).concatenate(new.shape[3:])
        if old.dtype != new.dtype or not old.shape.is_compatible_with(expected):
            raise ValueError(
                "cache에는 (batch, num_heads, max_length, depth) 텐서의 쌍이 "
                f"필요합니다. 받은 것: {old.dtype.name} {old.shape}. "
                f"{new.dtype.name} {expected}로 만들어 주세요."
            )
    return old_key, old_value


def _nan_unless_fits(value, start, length, max_length):
    """캐시가 모자라면 예외를 냅니다. 검사를 지우는 XLA에서는 값이 NaN이 됩니다."""
    fits = (start >= 0) & (start + length <= max_length)
    if fits is False:
        raise ValueError(
            f"cache에는 {start + length}자리가 필요합니다. 받은 것: {max_length}자리 "
            f"(start={start}, 길이 {length}). 더 긴 캐시를 만들어 주세요."
        )
    message = "캐시의 자리가 모자랍니다. 자리의 수, start, 이번 길이:"
    return checks.nan_unless(fits, value, message, max_length, start, length)


def _length(x):
    """(batch, num_heads, length, depth)의 길이. 그래프에서 모르면 int64 텐서입니다."""
    return tf.shape(x, tf.int64)[2] if x.shape[2] is None else x.shape[2]
