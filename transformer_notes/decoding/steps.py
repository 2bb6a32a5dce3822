"""답을 한 토큰씩 만드는 반복문: `decoding`의 안쪽 (논문 6.1절)."""

from typing import NamedTuple

import tensorflow as tf

from transformer_notes.masking import padding_mask


def generate(model, source_ids, choose, *, bos_id, eos_id, max_extra):
    """`choose`가 고른 토큰을 이어 붙입니다. `greedy`와 `sample`의 안쪽 반복입니다.

    Args:
        model: `Transformer`.
        source_ids: int32, (batch, length_s).
        choose: `choose(logits, time)`. 로짓 (batch, vocab_size)에서 줄마다 토큰 하나를
            골라 int32 (batch,)로 돌려주는 함수. 패딩의 로짓은 음의 무한대입니다.
        bos_id: 답을 여는 토큰의 번호.
        eos_id: 답을 닫는 토큰의 번호.
        max_extra: 입력보다 더 쓸 수 있는 토큰의 수.

    Returns:
        int32, (batch, length_s + max_extra). 뒤는 `pad_id`로 채웁니다.

    Examples:
        >>> from transformer_notes.transformer import Transformer, TransformerConfig
        >>> model = Transformer(TransformerConfig(10, 10, 8, 2, 1, 16))
        >>> rows = [5, 6, 7, 8], [5, 6, 7, 0], [5, 0, 0, 0], [0, 0, 0, 0]
        >>> source_ids = tf.constant(rows)  # 한도는 4, 3, 1, 0입니다
        >>> written = tf.constant([[6, 2, 7, 7], 4 * [9], 4 * [8], 4 * [8]])
        >>> times = []
        >>> def choose(logits, time):
        ...     times.append(int(time))
        ...     return written[:, time]
        >>> generate(model, source_ids, choose, bos_id=1, eos_id=2, max_extra=0).numpy()
        array([[6, 2, 0, 0],
               [9, 9, 9, 0],
               [8, 0, 0, 0],
               [0, 0, 0, 0]], dtype=int32)
        >>> times  # 모두 끝나면 멈춥니다
        [0, 1, 2]
    """
    pad_id = model.config.pad_id
    limit, width = _limits(model, source_ids, max_extra)
    next_logits, own = open_reader(model, source_ids, width)
    batch = tf.shape(source_ids)[0]

    def unfinished(time, ids, last, finished, own):
        return (time < width) & ~tf.reduce_all(finished)

    def step(time, ids, last, finished, own):
        logits, own = next_logits(last[:, tf.newaxis], time, own)
        logits = _without(pad_id, logits[:, 0])  # (batch, vocab_size)
        token = tf.where(finished, pad_id, choose(logits, time))  # (batch,)
        ids = tf.where(tf.range(width) == time, token[:, tf.newaxis], ids)
        finished |= (token == eos_id) | (time + 1 >= limit)
        return time + 1, ids, token, finished, own

    state = (
        tf.constant(0),
        tf.fill((batch, width), pad_id),
        tf.fill((batch,), bos_id),
        limit <= 0,
        own,
    )
    return tf.while_loop(unfinished, step, state)[1]  # (batch, width)


class Beams(NamedTuple):
    """함께 이어 가는 답들. 답이 모자란 자리는 total이 음의 무한대인 빈자리입니다."""

    #: 답의 번호, int32, (batch, beam_size, width). 뒤는 패딩입니다.
    ids: tf.Tensor
    #: 방금 고른 토큰, int32, (batch, beam_size).
    last: tf.Tensor
    #: 더 자라지 않는지, 불리언, (batch, beam_size).
    finished: tf.Tensor
    #: 로그 확률의 합, float32, (batch, beam_size).
    total: tf.Tensor
    #: 토큰의 수, int32, (batch, beam_size).
    length: tf.Tensor
    #: 볼 칸, 불리언, (batch, beam_size, width, beam_size).
    seen: tf.Tensor

    @classmethod
    def start(cls, limit, beam_size, width, bos_id, pad_id):
        """빈 답 하나와 빈자리들. limit은 답마다의 길이의 한도, int32 (batch,)입니다."""
        shape = tf.shape(limit)[0], beam_size
        empty = tf.range(beam_size) > 0
        return cls(
            ids=tf.fill((*shape, width), pad_id),
            last=tf.fill(shape, bos_id),
            finished=tf.repeat(limit[:, tf.newaxis] <= 0, beam_size, axis=1),
            total=tf.broadcast_to(tf.where(empty, -float("inf"), 0.0), shape),
            length=tf.zeros(shape, tf.int32),
            seen=tf.zeros((*shape, width, beam_size), tf.bool),
        )


def search_beams(model, source_ids, alpha, *, beam_size, bos_id, eos_id, max_extra):
    """빔을 함께 이어 갑니다. `beam_search`의 안쪽 반복입니다.

    Args:
        model: `Transformer`.
        source_ids: int32, (batch, length_s).
        alpha: 길이 벌점의 알파, float32 스칼라.
        beam_size: 빔의 수.
        bos_id: 답을 여는 토큰의 번호.
        eos_id: 답을 닫는 토큰의 번호.
        max_extra: 입력보다 더 쓸 수 있는 토큰의 수.

    Returns:
        `(ids, scores)`. int32 (batch, beam_size, length_s + max_extra)와 float32
        (batch, beam_size). 점수가 높은 것부터입니다.

    Examples:
        >>> from transformer_notes.transformer import Transformer, TransformerConfig
        >>> model = Transformer(TransformerConfig(6, 6, 8, 2, 1, 16))
        >>> source_ids = tf.constant([[3, 4], [5, 0], [0, 0]])  # 한도는 2, 1, 0입니다
        >>> options = {"beam_size": 7, "bos_id": 1, "eos_id": 2, "max_extra": 0}
        >>> ids, scores = search_beams(model, source_ids, 0.6, **options)
        >>> tf.reduce_sum(tf.cast(scores > -float("inf"), tf.int32), axis=1).numpy()
        array([7, 5, 1], dtype=int32)
        >>> tf.math.count_nonzero(ids[1:], axis=2).numpy()
        array([[1, 1, 1, 1, 1, 0, 0],
               [0, 0, 0, 0, 0, 0, 0]])
    """
    pad_id = model.config.pad_id
    limit, width = _limits(model, source_ids, max_extra)
    # 자리마다 빔 하나에 한 칸씩. 시각 t에 빔 b는 t * beam_size + b번 칸에 적습니다.
    next_logits, own = open_reader(model, source_ids, width, beam_size)
    batch = tf.shape(source_ids)[0]
    branches = min(beam_size, model.config.vocab_size)
    own_slot = tf.eye(beam_size, dtype=tf.bool)[:, tf.newaxis]  # (beam, 1, beam)

    def normalized(total, length):
        return total / ((5.0 + tf.cast(length, tf.float32)) / 6.0) ** alpha

    def unfinished(time, beams, own):
        return (time < width) & ~tf.reduce_all(beams.finished)

    def step(time, beams, own):
        now = tf.range(width) == time
        seen = beams.seen | own_slot & now[:, tf.newaxis]  # (batch, beam, width, beam)
        slots = tf.reshape(seen, (batch, 1, beam_size, width * beam_size))
        logits, own = next_logits(beams.last, time, own, slots)
        log_p = _without(pad_id, tf.nn.log_softmax(logits))  # (batch, beam, vocab)
        log_p, token = tf.math.top_k(log_p, branches)  # (batch, beam, branches)
        # 끝난 답은 자라지 않습니다. 후보는 자신 하나이고 합도 길이도 그대로입니다.
        itself = tf.where(tf.range(branches) == 0, 0.0, -float("inf"))
        ended = beams.finished[..., tf.newaxis]
        grown = beams.total[..., tf.newaxis] + tf.where(ended, itself, log_p)
        token = tf.where(ended, pad_id, token)
        length = beams.length + tf.where(beams.finished, 0, 1)  # (batch, beam)

        score = normalized(grown, length[..., tf.newaxis])
        score, best = tf.math.top_k(_flat(score), beam_size)  # (batch, beam)
        total, last = (tf.gather(_flat(x), best, batch_dims=1) for x in (grown, token))
        ids, finished, length, seen = (
            tf.gather(of_parent, best // branches, batch_dims=1)
            for of_parent in (beams.ids, beams.finished, length, seen)
        )
        ids = tf.where(now, last[..., tf.newaxis], ids)
        # 점수가 음의 무한대인 것은 답이 아니라 빈자리입니다.
        empty = tf.math.is_inf(score)
        finished |= (last == eos_id) | (time + 1 >= limit[:, tf.newaxis]) | empty
        return time + 1, Beams(ids, last, finished, total, length, seen), own

    beams = Beams.start(limit, beam_size, width, bos_id, pad_id)
    _, beams, _ = tf.while_loop(unfinished, step, (tf.constant(0), beams, own))
    ids = tf.where(tf.math.is_inf(beams.total)[..., tf.newaxis], pad_id, beams.ids)
    return ids, normalized(beams.total, beams.length)


def open_reader(model, source_ids, width, beam_size=1):
    """입력을 한 번 읽고, 다음 토큰의 점수를 매기는 함수를 돌려줍니다.

    그리디도 뽑기도 빔도 이 함수로만 모델을 부릅니다. 빔이 여럿이면 한 문장의 빔들을 한
    줄의 토큰들처럼 나란히 넣습니다. 위치는 모두 같고 칸만 다르며, 누가 어느 칸을 볼지는
    마스크가 정합니다. 그래서 메모리도 캐시도 빔마다 베끼지 않습니다.

    Args:
        model: `Transformer`.
        source_ids: int32, (batch, length_s).
        width: 답의 가장 긴 길이.
        beam_size: 나란히 넣을 빔의 수.

    Returns:
        `(next_logits, own)`. own은 답의 캐시, 곧 층마다의 `KeysValues` 목록입니다.
        `next_logits(last, time, own, seen=None)`은 방금 고른 토큰 last (batch,
        beam_size)를 위치 time에 놓고 `(로짓, 새 own)`을 돌려줍니다. 로짓은 float32,
        (batch, beam_size, vocab_size)입니다. seen은 볼 칸, (batch, 1, beam_size,
        width * beam_size)입니다.
    """
    memory = model.encode(source_ids)
    memory_mask = padding_mask(source_ids, model.config.pad_id)
    cache = model.start_cache(memory, memory_mask, width * beam_size)

    def next_logits(last, time, own, seen=None):
        logits, _, grown = model.decode(
            last,
            memory,
            memory_mask,
            attention_mask=seen,
            position=tf.fill((beam_size,), time),
            # 메모리의 키와 값은 바뀌지 않으므로 반복문의 상태에 싣지 않습니다.
            cache=[layer._replace(own=kv) for layer, kv in zip(cache, own)],
            slot=time * beam_size,
        )
        return tf.cast(logits, tf.float32), [layer.own for layer in grown]

    return next_logits, [layer.own for layer in cache]


def draw(logits, seed, temperature=1.0, top_k=None, top_p=None):
    """줄마다 토큰 하나를 확률대로 뽑습니다.

    Args:
        logits: 실수, (batch, vocab_size).
        seed: 정수 둘.
        temperature: T, 0보다 큰 수.
        top_k: 남길 후보의 수, 또는 None.
        top_p: 남길 확률의 합, 또는 None.

    Returns:
        int32, (batch,).

    Examples:
        >>> logits = tf.repeat(tf.math.log([[0.2, 0.3, 0.5]]), 10_000, axis=0)
        >>> shares = tf.math.bincount(draw(logits, seed=(0, 1))).numpy() / 10_000
        >>> print(*(f"{share:.2f}" for share in shares))
        0.20 0.30 0.50
        >>> set(draw(logits, seed=(0, 1), top_k=1).numpy().tolist())
        {2}
    """
    values, tokens = candidates(logits, temperature, top_k, top_p)
    # 굼벨 잡음을 더해 가장 큰 것을 고르면 소프트맥스의 확률로 뽑은 것과 같습니다.
    smallest = values.dtype.as_numpy_dtype(1e-30)  # 로그가 무한대가 되지 않게 합니다
    uniform = tf.random.stateless_uniform(
        tf.shape(values), seed, minval=smallest, alg="philox"
    )
    chosen = most_likely(values - tf.math.log(-tf.math.log(uniform)))
    if tokens is None:
        return chosen
    return tf.gather(tokens, chosen, batch_dims=1)  # (batch,)


def candidates(logits, temperature=1.0, top_k=None, top_p=None):
    """뽑을 후보의 점수와 번호입니다. 후보에서 빠진 것의 점수는 음의 무한대입니다.

    Args:
        logits: 실수, (batch, vocab_size).
        temperature: T, 0보다 큰 수.
        top_k: 남길 후보의 수, 또는 None.
        top_p: 남길 확률의 합, 또는 None.

    Returns:
        `(values, tokens)`. float32와 int32, (batch, count). 점수가 높은 것부터입니다.
        줄을 세울 까닭이 없으면 tokens는 None이고 values는 어휘 집합의 순서입니다.

    Examples:
        >>> logits = tf.constant([[1.0, 3.0, 2.0]])
        >>> values, tokens = candidates(logits, temperature=0.5, top_k=2)
        >>> print(values.numpy(), tokens.numpy())
        [[6. 4.]] [[1 2]]
        >>> values, tokens = candidates(logits)
        >>> print(values.numpy(), tokens)
        [[1. 3. 2.]] None
        >>> logits = tf.constant([[0.0, 100.0]])  # 확률은 반올림하면 0과 1입니다
        >>> for top_p in (0.9, 1.0):
        ...     print(candidates(logits, top_p=top_p)[0].numpy())
        [[100. -inf]]
        [[100.   0.]]
        >>> half = tf.constant([[1.0, 1.0]])  # 하나로 이미 0.5입니다
        >>> print(candidates(half, top_p=0.5)[0].numpy())
        [[  1. -inf]]
    """
    values = tf.cast(logits, tf.float32) / temperature
    if top_k is None and top_p is None:
        return values, None
    values, tokens = tf.math.top_k(values, values.shape[-1] if top_k is None else top_k)
    # 합은 반올림으로 1보다 조금 작거나 클 수 있습니다. top_p가 1이면 모두 남깁니다.
    if top_p is not None and top_p < 1:
        p = tf.nn.softmax(values)
        before = tf.cumsum(p, axis=-1, exclusive=True)  # 나보다 앞선 것의 합
        values = tf.where(before < top_p, values, -float("inf"))
    return values, tokens


def most_likely(logits):
    """줄마다 점수가 가장 높은 토큰. (..., vocab_size)에서 int32 (...)."""
    return tf.argmax(logits, axis=-1, output_type=tf.int32)


def _limits(model, source_ids, max_extra):
    """답의 길이의 한도: 문장마다, 그리고 배치에서 가장 긴 것."""
    real = tf.cast(source_ids != model.config.pad_id, tf.int32)
    return tf.reduce_sum(real, axis=1) + max_extra, tf.shape(source_ids)[1] + max_extra


def _without(pad_id, scores):
    """패딩은 답의 토큰이 아닙니다. 고를 수 없게 합니다."""
    return tf.where(tf.range(scores.shape[-1]) == pad_id, -float("inf"), scores)


def _flat(x):
    """(batch, beam, branches)의 뒤 두 축을 폅니다."""
    return tf.reshape(x, (-1, x.shape[1] * x.shape[2]))
