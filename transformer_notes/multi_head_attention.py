"""멀티 헤드 어텐션 (논문 3.2.2절, 3.2.3절)."""

from typing import NamedTuple

import keras
import tensorflow as tf

from transformer_notes import _tensors
from transformer_notes._keras_mask import StopsKerasMask
from transformer_notes.attention import scaled_dot_product_attention


class KeysValues(NamedTuple):
    """헤드로 나눈 키와 값. 다시 계산하지 않으려고 담아 두면 캐시입니다."""

    #: (batch, num_heads, length_k, key_dim).
    keys: tf.Tensor
    #: (batch, num_heads, length_k, value_dim).
    values: tf.Tensor


class Attended(NamedTuple):
    """어텐션을 지나온 것. 층도 스택도 모델도 출력 말고 더 돌려줄 때에는 이것입니다."""

    #: 부른 것의 출력, (batch, length_q, d_model). 모델이면 로짓입니다.
    output: tf.Tensor
    #: 드롭아웃을 씌우기 전의 가중치, (batch, num_heads, length_q, length_k). 스택과
    #: 모델에서는 층마다의 목록입니다.
    weights: tf.Tensor | list
    #: 이번 토큰까지 적은 새 캐시. 받은 캐시가 없으면 `[]`입니다.
    cache: tuple | list


@keras.saving.register_keras_serializable(package="transformer_notes")
class MultiHeadAttention(StopsKerasMask, keras.layers.Layer):
    r"""쿼리, 키, 값을 헤드마다 작은 공간에 옮겨 따로 어텐션하고 이어 붙입니다.

    .. math::
        \mathrm{MultiHead}(Q, K, V) &=
            \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O \\
        \mathrm{head}_i &= \mathrm{Attention}(Q W_i^Q,\; K W_i^K,\; V W_i^V)

    헤드마다의 행렬을 옆으로 나란히 놓은 행렬 하나를 한 번 곱한 뒤에 헤드로 나눕니다.
    Keras의 마스크는 다음 층에 넘기지 않습니다.

    Args:
        d_model: 출력의 차원.
        num_heads: 헤드의 수. `key_dim`이나 `value_dim`을 정하지 않으면 `d_model`을
            나누어떨어지게 해야 합니다.
        key_dim: 헤드 하나의 쿼리와 키의 차원. None이면 d_model // num_heads입니다.
        value_dim: 헤드 하나의 값의 차원. None이면 d_model // num_heads입니다.
        use_bias: 네 선형 변환에 편향을 둘지. 논문의 식에는 편향이 없습니다.
        dropout: 학습할 때 가중치에 씌울 드롭아웃의 비율. 논문은 씌우지 않습니다.
        **kwargs: `keras.layers.Layer`의 인자 (`name`, `dtype`, `trainable`).

    호출 인자:
        query: 실수, (batch, length_q, depth).
        key: 실수, (batch, length_k, depth).
        value: 실수, (batch, length_k, depth).
        attention_mask: 불리언, (batch, num_heads, length_q, length_k)로 늘어나는 모양.
            3차원이면 (batch, length_q, length_k)입니다. **True인 자리만 봅니다.**
        training: 드롭아웃을 씌울지.
        return_weights: `Attended`를 돌려받을지. `cache`를 주면 언제나 그렇습니다.
        position_map: 헤드로 나눈 쿼리와 키 (batch, num_heads, length, key_dim)를 받아
            위치를 새긴 쿼리와 키를 돌려주는 함수. None이면 그대로 씁니다.
            `PositionalEncoding.in_attention`이 이 자리에서 불립니다.
        cache: 지금까지의 `KeysValues`. 모양이 (batch, num_heads, slots, depth)이고
            dtype은 층의 계산 dtype입니다. 주면 이번 토큰의 키와 값을 `slot`번 칸부터
            적어 넣고, 쿼리는 제 칸과 앞선 칸만 봅니다. 이때 length_k는 slots이고,
            캐시를 지나는 기울기는 없습니다.
        slot: 이번 첫 토큰을 적을 칸. 0 이상의 정수, 또는 정수 스칼라 텐서. 칸은 적은
            순서일 뿐이고 위치가 아닙니다. 위치는 `position_map`만 압니다.

    Returns:
        output (batch, length_q, d_model). `return_weights`이거나 `cache`를 주었으면
        `Attended(output, weights, cache)`입니다.

    Raises:
        TypeError: 불리언이 아닌 마스크.
        ValueError: 나누어떨어지지 않는 `d_model`, 점수의 모양에 맞지 않는 마스크, 맞지
            않는 캐시, 음수 `slot`, slots를 넘는 slot + length_q.
        tf.errors.InvalidArgumentError: 그래프를 실행해야 알 수 있는, 캐시 밖의 칸.

    Examples:
        >>> layer = MultiHeadAttention(d_model=8, num_heads=2, name="own")
        >>> x = tf.ones((1, 4, 8))
        >>> layer(x, x, x).shape, layer(x, x, x, return_weights=True).weights.shape
        (TensorShape([1, 4, 8]), TensorShape([1, 2, 4, 4]))
        >>> [weight.path for weight in layer.weights[:4]]
        ['own/query_kernel', 'own/query_bias', 'own/key_kernel', 'own/key_bias']
        >>> print(layer.weights[1].numpy())  # 편향은 0에서 시작합니다
        [0. 0. 0. 0. 0. 0. 0. 0.]
        >>> layer(*[keras.Input((4, 8))] * 3, return_weights=True).weights.shape
        (None, 2, 4, 4)
        >>> uneven = MultiHeadAttention(d_model=8, num_heads=3, key_dim=2, value_dim=5)
        >>> uneven(x, tf.ones((1, 4, 5)), tf.ones((1, 4, 6))).shape  # 달라도 됩니다
        TensorShape([1, 4, 8])
        >>> same = lambda query, keys: (query, keys)  # 여기에서 위치를 새깁니다
        >>> layer(x, x[:, 1:], x[:, 1:], position_map=same).shape
        TensorShape([1, 4, 8])
        >>> layer = MultiHeadAttention(d_model=8, num_heads=2, dropout=0.5)
        >>> once, again = layer(x, x, x), layer(x, x, x)
        >>> attended = layer(x, x, x, training=True, return_weights=True)
        >>> [bool(tf.reduce_all(once == other)) for other in (again, attended.output)]
        [True, False]
        >>> print(attended.weights[0, 0, 0].numpy())  # 드롭아웃을 씌우기 전의 것
        [0.25 0.25 0.25 0.25]
        >>> layer.compute_output_shape((None, 4, 6))
        (None, 4, 8)
        >>> MultiHeadAttention(d_model=8, num_heads=3)
        Traceback (most recent call last):
            ...
        ValueError: d_model이 num_heads로 나누어떨어져야 합니다...
    """

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
        self.d_model, self.num_heads = d_model, num_heads
        if None in (key_dim, value_dim) and d_model % num_heads:
            raise ValueError(
                "d_model이 num_heads로 나누어떨어져야 합니다. 받은 것: "
                f"d_model={d_model}, num_heads={num_heads}. 헤드 수를 바꾸거나 "
                "key_dim과 value_dim을 정해 주세요."
            )
        share = d_model // num_heads
        self.key_dim = share if key_dim is None else key_dim
        self.value_dim = share if value_dim is None else value_dim
        self.use_bias, self.dropout = use_bias, dropout
        self._dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    @property
    def key_heads(self):
        """키와 값을 나눌 헤드의 수. 논문에서는 쿼리의 헤드마다 하나씩입니다."""
        return self.num_heads

    def build(self, query_shape, key_shape=None, value_shape=None):
        key_shape = query_shape if key_shape is None else key_shape
        value_shape = key_shape if value_shape is None else value_shape
        query_width = self.num_heads * self.key_dim
        key_width = self.key_heads * self.key_dim
        value_width = self.key_heads * self.value_dim
        self.query_map = self._add_map("query", query_shape, query_width)
        self.key_map = self._add_map("key", key_shape, key_width)
        self.value_map = self._add_map("value", value_shape, value_width)
        joined = (None, None, self.num_heads * self.value_dim)
        self.output_map = self._add_map("output", joined, self.d_model)

    def _add_map(self, name, shape, columns):
        shape = shape[-1], columns
        kernel = self.add_weight(name=f"{name}_kernel", shape=shape)
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
        position_map=None,
        cache=None,
        slot=0,
    ):
        query = self._project(query, self.query_map, self.num_heads)
        keys, values = self.keys_and_values(key, value)
        # 셋 다 (batch, num_heads, length, depth)
        if position_map is not None:
            query, keys = position_map(query, keys)
        grown = []
        if cache is not None:
            grown, seen = write_slots(cache, KeysValues(keys, values), query, slot)
            keys, values = grown
            attention_mask = _both(attention_mask, seen, query, keys)
        output, weights = self.attend(query, keys, values, attention_mask, training)
        return Attended(output, weights, grown) if return_weights or grown else output

    def keys_and_values(self, key, value):
        """키와 값을 헤드로 나누어 미리 계산합니다. 여러 번 볼 메모리에 씁니다.

        Args:
            key: 실수, (batch, length_k, depth).
            value: 실수, (batch, length_k, depth).

        Returns:
            `KeysValues`. `read`에 넣습니다.
        """
        return KeysValues(
            self._project(key, self.key_map, self.key_heads),
            self._project(value, self.value_map, self.key_heads),
        )

    def read(self, query, memory, attention_mask=None, training=None):
        """미리 계산해 둔 키와 값을 보기만 합니다. 부른 것과 결과가 같습니다.

        Args:
            query: 실수, (batch, length_q, depth).
            memory: `keys_and_values`가 돌려준 `KeysValues`.
            attention_mask: 층을 부를 때와 같습니다.
            training: 드롭아웃을 씌울지.

        Returns:
            `(output, weights)`. 모양은 층을 부를 때와 같습니다.

        Examples:
            >>> layer = MultiHeadAttention(d_model=8, num_heads=2, dropout=0.5)
            >>> x, memory = tf.ones((1, 2, 8)), tf.ones((1, 5, 8))
            >>> expected = layer(x, memory, memory)
            >>> kept = layer.keys_and_values(memory, memory)
            >>> reads = [layer.read(x, kept, training=t)[0] for t in (False, True)]
            >>> [bool(tf.reduce_all(output == expected)) for output in reads]
            [True, False]
        """
        query = self._project(query, self.query_map, self.num_heads)
        return self.attend(query, *memory, attention_mask, training)

    def attend(self, query, keys, values, attention_mask=None, training=None):
        """헤드마다 어텐션하고, 이어 붙여 W^O를 곱합니다.

        Args:
            query: 헤드로 나눈 쿼리, (batch, num_heads, length_q, key_dim).
            keys: 헤드로 나눈 키, (batch, num_heads, length_k, key_dim).
            values: 헤드로 나눈 값, (batch, num_heads, length_k, value_dim).
            attention_mask: 층을 부를 때와 같습니다.
            training: 드롭아웃을 씌울지.

        Returns:
            `(output, weights)`. (batch, length_q, d_model)과 (batch, num_heads,
            length_q, length_k).
        """
        mask = _with_head_axis(attention_mask)
        output, weights = self.weigh(query, keys, values, mask)
        if self.dropout and training:
            output = tf.matmul(self._dropout(weights, training=True), values)
        output = linear(self.join_heads(output), self.output_map)
        return output, weights  # (batch, length_q, d_model)

    def weigh(self, query, keys, values, mask=None):
        """헤드마다의 어텐션입니다. 점수를 달리 매기는 층은 이 메서드를 다시 적습니다.

        Returns:
            `(output, weights)`. `scaled_dot_product_attention`과 같습니다.
        """
        return scaled_dot_product_attention(query, keys, values, mask)

    def start_cache(self, batch, slots):
        """아직 아무것도 적지 않은 캐시 `KeysValues`입니다.

        Args:
            batch: 문장의 수.
            slots: 칸의 수.

        Examples:
            두 토큰씩 넣어도 한꺼번에 넣은 것과 같습니다.

            >>> layer = MultiHeadAttention(d_model=8, num_heads=2)
            >>> x = tf.random.stateless_normal((1, 4, 8), seed=(0, 0))
            >>> visible = tf.linalg.band_part(tf.ones((4, 4), bool), -1, 0)
            >>> whole = layer(x, x, x, attention_mask=visible)
            >>> cache = layer.start_cache(batch=1, slots=4)
            >>> first, last = x[:, :2], x[:, 2:]
            >>> _, _, cache = layer(first, first, first, cache=cache)
            >>> output, _, cache = layer(last, last, last, cache=cache, slot=2)
            >>> bool(tf.reduce_max(tf.abs(output - whole[:, 2:])) < 1e-5)
            True
        """
        return KeysValues(
            *(
                tf.zeros((batch, self.key_heads, slots, depth), self.compute_dtype)
                for depth in (self.key_dim, self.value_dim)
            )
        )

    def _project(self, x, weights, heads):
        # call 밖에서 부르면 Keras가 층의 계산 dtype으로 바꾸어 주지 않습니다.
        return self.split_heads(linear(tf.cast(x, self.compute_dtype), weights), heads)

    def split_heads(self, x, heads):
        """(batch, length, heads · depth)를 헤드로 나눕니다.

        Returns:
            (batch, heads, length, depth).
        """
        batch, length, width = keras.ops.shape(x)  # 그래프에서 모르는 크기는 텐서입니다
        x = tf.reshape(x, (batch, length, heads, width // heads))
        return tf.transpose(x, (0, 2, 1, 3))  # (batch, heads, length, depth)

    def join_heads(self, x):
        """헤드를 다시 이어 붙입니다. `split_heads`의 반대입니다.

        Returns:
            (batch, length, num_heads · depth).
        """
        x = tf.transpose(x, (0, 2, 1, 3))  # (batch, length, num_heads, depth)
        batch, length, _, depth = keras.ops.shape(x)
        return tf.reshape(x, (batch, length, self.num_heads * depth))

    def compute_output_shape(self, query_shape, key_shape=None, value_shape=None):
        return (*query_shape[:-1], self.d_model)

    def compute_output_spec(self, *args, **kwargs):
        # 출력이 하나일 때도 여럿일 때도 있으므로, call을 그려 보고 그 꼴을 알립니다.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)

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


def linear(x, weights):
    """(batch, length, rows)에 행렬 (rows, columns)를 곱하고 편향을 더합니다.

    Args:
        x: 실수, (batch, length, rows).
        weights: `(행렬,)` 또는 `(행렬, 편향)`.

    Returns:
        (batch, length, columns), x와 같은 dtype.

    Examples:
        >>> x, kernel, bias = tf.ones((1, 1, 2)), [[1.0], [2.0]], [10.0]
        >>> print(linear(x, (kernel,)).numpy(), linear(x, (kernel, bias)).numpy())
        [[[3.]]] [[[13.]]]
    """
    kernel, *bias = (tf.cast(weight, x.dtype) for weight in weights)
    x = tf.tensordot(x, kernel, axes=1)  # (batch, length, columns)
    return x + bias[0] if bias else x


def write_slots(cache, new, query, slot):
    """캐시의 slot번 칸부터 새 키와 값을 적습니다.

    Args:
        cache: `KeysValues`, 칸이 slots개.
        new: 이번 토큰의 `KeysValues`.
        query: 이번 토큰의 쿼리, (batch, num_heads, length_q, key_dim).
        slot: 첫 토큰을 적을 칸.

    Returns:
        `(새 캐시, 쿼리마다 볼 칸)`. 뒤의 것은 불리언 (length_q, slots)이고, 쿼리는 제
        칸과 앞선 칸을 봅니다.

    Raises:
        ValueError: 맞지 않는 캐시, 길이가 서로 다른 쿼리와 키, 모자란 칸.
        tf.errors.InvalidArgumentError: 그래프를 실행해야 알 수 있는, 모자란 칸.

    Examples:
        >>> layer = MultiHeadAttention(d_model=8, num_heads=2)
        >>> x, longer = tf.ones((1, 2, 8)), tf.ones((1, 3, 8))
        >>> cache = layer.start_cache(batch=1, slots=3)
        >>> layer(x, x, x, cache=cache, slot=2)
        Traceback (most recent call last):
            ...
        ValueError: ... 4칸이 필요합니다. 받은 것: 3칸 (slot=2, 길이 2)...
        >>> layer(x, x, x, cache=cache, slot=tf.constant(2))
        Traceback (most recent call last):
            ...
        tensorflow...InvalidArgumentError: ...
        >>> layer(x, longer, longer, cache=cache)
        Traceback (most recent call last):
            ...
        ValueError: ... query와 key의 길이가 같아야 합니다. 받은 길이: 2, 3...
        >>> layer(x, x, x, cache=layer.start_cache(batch=2, slots=3))
        Traceback (most recent call last):
            ...
        ValueError: ...float32 (2, 2, 3, 4). float32 (1, 2, 3, 4)로 만들어 주세요...
        >>> layer(x, x, x, cache=cache.keys)
        Traceback (most recent call last):
            ...
        ValueError: ... 키와 값을 담을 텐서의 쌍이 필요합니다...
    """
    cache = _check_cache(cache, new, query)
    length, slots = _length(new.keys), _length(cache.keys)
    slot = _inside(slot, length, slots)
    index = (0, 0, slot, 0)
    written = KeysValues(*map(keras.ops.slice_update, cache, (index, index), new))
    own = slot + tf.range(length, dtype=tf.int64)  # (length_q,)
    return written, tf.range(slots, dtype=tf.int64) <= own[:, tf.newaxis]


def _both(mask, seen, query, keys):
    """받은 마스크가 있으면 점수의 모양에 맞는지 보고 함께 가립니다."""
    if mask is None:
        return seen
    shape = query.shape[:3].concatenate(keys.shape[2:3])
    return seen & _tensors.attention_mask(_with_head_axis(mask), shape)


def _with_head_axis(mask):
    """3차원 마스크 (batch, length_q, length_k)에 헤드 축을 넣습니다."""
    if mask is None:
        return None
    mask = tf.convert_to_tensor(mask)
    return mask[:, tf.newaxis] if mask.shape.rank == 3 else mask


def _check_cache(cache, new, query):
    try:
        cache = KeysValues(*map(tf.convert_to_tensor, cache))
    except (TypeError, ValueError):
        raise ValueError(
            "cache에는 키와 값을 담을 텐서의 쌍이 필요합니다. "
            f"받은 것: {type(cache).__name__}."
        ) from None
    if not query.shape[2:3].is_compatible_with(new.keys.shape[2:3]):
        raise ValueError(
            "cache를 쓸 때에는 query와 key의 길이가 같아야 합니다. 받은 길이: "
            f"{query.shape[2]}, {new.keys.shape[2]}. 크로스 어텐션에는 cache 대신 "
            "read를 써 주세요."
        )
    slots = cache.keys.shape[2:3] if cache.keys.shape.rank == 4 else [None]
    for old, fresh in zip(cache, new):
        expected = fresh.shape[:2].concatenate(slots).concatenate(fresh.shape[3:])
        if old.dtype != fresh.dtype or not old.shape.is_compatible_with(expected):
            raise ValueError(
                "cache에는 (batch, num_heads, slots, depth) 텐서의 쌍이 "
                f"필요합니다. 받은 것: {old.dtype.name} {old.shape}. "
                f"{fresh.dtype.name} {expected}로 만들어 주세요."
            )
    return cache


def _inside(slot, length, slots):
    """캐시의 칸이 모자라지 않는지 봅니다. 모자라면 다른 칸에 덮어쓰게 됩니다."""
    if tf.is_tensor(slot):
        slot = tf.cast(slot, tf.int64)
    fits = (slot >= 0) & (slot + length <= slots)
    if fits is False:
        raise ValueError(
            f"cache에는 {slot + length}칸이 필요합니다. 받은 것: {slots}칸 "
            f"(slot={slot}, 길이 {length}). 더 긴 캐시를 만들어 주세요."
        )
    message = "캐시의 칸이 모자랍니다. 칸의 수, slot, 이번 길이:"
    checked = tf.debugging.Assert(fits, [message, slots, slot, length])
    with tf.control_dependencies([checked]):
        return tf.cast(slot, tf.int64)


def _length(x):
    """(batch, num_heads, length, depth)의 길이. 그래프에서 모르면 int64 텐서입니다."""
    return tf.shape(x, tf.int64)[2] if x.shape[2] is None else x.shape[2]
