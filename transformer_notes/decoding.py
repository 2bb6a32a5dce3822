"""디코딩: 학습한 모델로 답을 한 토큰씩 만드는 법 (논문 6.1절).

`greedy`, `beam_search`, `sample`은 모두 배치를 받고, 그래프 하나 안에서 돌며, 모든 줄이
끝나면 멈춥니다. 앞선 토큰의 키와 값은 캐시에 담아 두고 다시 계산하지 않습니다.
"""

import functools
import random
from typing import NamedTuple

import tensorflow as tf

from transformer_notes import checks
from transformer_notes.masking import padding_mask
from transformer_notes.transformer import Transformer, _token_ids


def greedy(model, source_ids, bos_id, eos_id, max_extra=50, *, jit_compile=False):
    r"""자리마다 점수가 가장 높은 토큰을 고릅니다.

    .. math:: y_t = \arg\max_{w} \; p(w \mid y_{<t},\, x)

    답의 길이는 입력의 진짜 토큰 수에 `max_extra`를 더한 것을 넘지 않습니다. 패딩 토큰은
    고르지 않습니다. 같은 배치의 다른 문장과 입력의 패딩은 답을 바꾸지 않습니다.

    Args:
        model: `Transformer`.
        source_ids: 입력 문장. 정수, (batch, length_s).
        bos_id: 답을 여는 토큰의 번호.
        eos_id: 답을 닫는 토큰의 번호.
        max_extra: 입력보다 더 쓸 수 있는 토큰의 수, 0 이상의 정수. 논문은 50입니다.
        jit_compile: 그래프를 XLA로 컴파일할지. 입력의 모양이 바뀔 때마다 컴파일하므로,
            모양이 같은 입력을 여러 번 풀 때 이롭습니다.

    Returns:
        답의 토큰 번호, int32, (batch, length). bos는 없고, eos까지 있으며, 그 뒤는
        `pad_id`입니다. length는 가장 긴 답의 길이입니다. 그래프 안에서 부르면 자르지
        않으므로 length_s + max_extra입니다.

    Raises:
        TypeError: `Transformer`가 아닌 모델, 정수가 아닌 번호나 `max_extra`.
        ValueError: 2차원이 아니거나 비었거나 어휘 집합에 없는 `source_ids`, 어휘 집합에
            없거나 `pad_id`와 같은 `bos_id`나 `eos_id`, 음수 `max_extra`,
            length_s + max_extra보다 짧은 학습되는 위치 표.

    Examples:
        >>> from transformer_notes.transformer import TransformerConfig
        >>> model = Transformer(TransformerConfig(20, d_model=8, num_heads=2, d_ff=16))
        >>> ids = greedy(model, [[5, 6, 7]], bos_id=1, eos_id=2, max_extra=2)
        >>> ids.dtype.name, ids.shape[0], ids.shape[1] <= 5
        ('int32', 1, True)
    """
    source_ids, limits = _check_inputs(model, source_ids, bos_id, eos_id, max_extra)
    ids = _run(model, _greedy, jit_compile, source_ids, **limits)
    return _trim(ids, model.config.pad_id)


def sample(
    model,
    source_ids,
    bos_id,
    eos_id,
    max_extra=50,
    temperature=1.0,
    top_k=None,
    top_p=None,
    seed=None,
    *,
    jit_compile=False,
):
    r"""자리마다 확률대로 토큰을 뽑습니다.

    .. math:: y_t \sim \mathrm{softmax}(z_t / T)

    온도로 나눈 뒤 `top_k`, `top_p`의 차례로 후보를 줄이고, 남은 것의 확률을 더해서 1이
    되게 한 다음 뽑습니다. 같은 입력에 같은 `seed`면 답도 같습니다.

    Args:
        model: `Transformer`.
        source_ids: 입력 문장. 정수, (batch, length_s).
        bos_id: 답을 여는 토큰의 번호.
        eos_id: 답을 닫는 토큰의 번호.
        max_extra: 입력보다 더 쓸 수 있는 토큰의 수, 0 이상의 정수.
        temperature: T, 0보다 큰 수. 작을수록 점수가 높은 토큰에 몰립니다.
        top_k: 점수가 높은 토큰을 이만큼만 남깁니다. 1이면 그리디와 같습니다.
        top_p: 확률이 높은 것부터 더해 이 값에 이를 때까지만 남깁니다. 0보다 크고
            1 이하인 수. 가장 높은 토큰은 언제나 남습니다.
        seed: 정수. None이면 파이썬의 `random`에서 뽑으므로
            `keras.utils.set_random_seed`를 따릅니다.
        jit_compile: `greedy`와 같습니다. XLA는 난수를 달리 만들므로, 같은 `seed`라도
            켰을 때와 껐을 때 뽑는 것이 다릅니다.

    Returns:
        답의 토큰 번호, int32, (batch, length). `greedy`와 같은 모양입니다.

    Raises:
        TypeError: 수가 아닌 `temperature`나 `top_p`, 정수가 아닌 `top_k`나 `seed`.
        ValueError: 0 이하의 `temperature`, 1보다 작거나 어휘 집합보다 큰 `top_k`,
            범위를 벗어난 `top_p`. 나머지는 `greedy`와 같습니다.

    Examples:
        >>> from transformer_notes.transformer import TransformerConfig
        >>> model = Transformer(TransformerConfig(20, d_model=8, num_heads=2, d_ff=16))
        >>> first, again = (sample(model, [[5, 6]], 1, 2, 2, seed=3) for _ in range(2))
        >>> bool(tf.reduce_all(first == again))
        True
    """
    source_ids, limits = _check_inputs(model, source_ids, bos_id, eos_id, max_extra)
    temperature = _number("temperature", temperature, above=0)
    top_k = None if top_k is None else _at_most_vocabulary(model, "top_k", top_k)
    top_p = None if top_p is None else _number("top_p", top_p, above=0, most=1)
    seed = random.getrandbits(31) if seed is None else checks.integer("seed", seed)
    numbers = tf.constant(temperature), tf.constant(seed % 2**63, tf.int64)
    options = {**limits, "top_k": top_k, "top_p": top_p}
    ids = _run(model, _sample, jit_compile, source_ids, *numbers, **options)
    return _trim(ids, model.config.pad_id)


def beam_search(
    model,
    source_ids,
    bos_id,
    eos_id,
    max_extra=50,
    beam_size=4,
    length_penalty=0.6,
    *,
    return_beams=False,
    jit_compile=False,
):
    r"""가망 있는 답 `beam_size`개를 함께 이어 가며 점수가 가장 높은 것을 찾습니다.

    .. math:: s(y) = \frac{\log p(y \mid x)}{lp(y)}, \qquad
              lp(y) = \left(\frac{5 + |y|}{6}\right)^{\alpha}

    자리마다 후보를 s로 견주어 위에서부터 `beam_size`개를 남깁니다. eos로 끝난 답은 더
    자라지 않고, 점수가 남을 만하면 그대로 남습니다. 모두 끝나면 멈춥니다. 길이는
    eos까지 센 토큰의 수입니다. `beam_size`가 1이면 `greedy`와 같습니다.

    빔의 캐시는 옮겨 적지 않습니다. 대신 저마다 조상의 자리만 보도록 마스크를 씌웁니다.

    Args:
        model: `Transformer`.
        source_ids: 입력 문장. 정수, (batch, length_s).
        bos_id: 답을 여는 토큰의 번호.
        eos_id: 답을 닫는 토큰의 번호.
        max_extra: 입력보다 더 쓸 수 있는 토큰의 수, 0 이상의 정수. 논문은 50입니다.
        beam_size: 함께 이어 갈 답의 수, 1 이상의 정수. 논문은 4입니다.
        length_penalty: 알파, 0 이상의 수. 논문은 0.6입니다. 0이면 길이를 셈하지
            않으므로 짧은 답이 이기기 쉽습니다.
        return_beams: 가장 좋은 답만이 아니라 남은 답을 모두 돌려받을지.
        jit_compile: `greedy`와 같습니다.

    Returns:
        `(ids, scores)`. ids는 int32, (batch, length)이고 `greedy`와 같은 모양입니다.
        scores는 s(y), float32, (batch,)입니다. `return_beams`이면 점수가 높은 것부터
        (batch, beam_size, length)와 (batch, beam_size)입니다. 답이 `beam_size`개보다
        적으면 남는 줄의 점수는 음의 무한대이고 번호는 모두 `pad_id`입니다.

    Raises:
        TypeError: 정수가 아닌 `beam_size`, 수가 아닌 `length_penalty`.
        ValueError: 1보다 작은 `beam_size`, 음수 `length_penalty`. 나머지는 `greedy`와
            같습니다.

    Examples:
        >>> from transformer_notes.transformer import TransformerConfig
        >>> model = Transformer(TransformerConfig(20, d_model=8, num_heads=2, d_ff=16))
        >>> ids, scores = beam_search(model, [[5, 6, 7], [8, 9, 0]], 1, 2, 2)
        >>> ids.shape[0], scores.shape, bool(tf.reduce_all(scores < 0))
        (2, TensorShape([2]), True)
    """
    source_ids, limits = _check_inputs(model, source_ids, bos_id, eos_id, max_extra)
    beam_size = checks.positive_int("beam_size", beam_size)
    alpha = _number("length_penalty", length_penalty, least=0)
    options = {**limits, "beam_size": beam_size}
    ids, scores = _run(
        model, _beam_search, jit_compile, source_ids, tf.constant(alpha), **options
    )
    if not return_beams:
        ids, scores = ids[:, 0], scores[:, 0]
    return _trim(ids, model.config.pad_id), scores


def _greedy(model, source_ids, **limits):
    def choose(logits, time):
        return _most_likely(logits)

    return _generate(model, source_ids, choose, **limits)


def _sample(model, source_ids, temperature, seed, *, top_k, top_p, **limits):
    def draw(logits, time):
        step_seed = tf.stack([seed, tf.cast(time, tf.int64)])
        return _draw(logits, step_seed, temperature, top_k, top_p)

    return _generate(model, source_ids, draw, **limits)


def _most_likely(logits):
    return tf.argmax(logits, axis=-1, output_type=tf.int32)


def _draw(logits, seed, temperature, top_k=None, top_p=None):
    """(batch, vocab_size)에서 줄마다 하나씩 뽑습니다."""
    values, tokens = _candidates(logits, temperature, top_k, top_p)
    # 굼벨 잡음을 더해 가장 큰 것을 고르면 소프트맥스의 확률로 뽑은 것과 같습니다.
    smallest = values.dtype.as_numpy_dtype(1e-30)  # 로그가 무한대가 되지 않게 합니다
    uniform = tf.random.stateless_uniform(
        tf.shape(values), seed, minval=smallest, alg="philox"
    )
    chosen = _most_likely(values - tf.math.log(-tf.math.log(uniform)))
    if tokens is None:
        return chosen
    return tf.gather(tokens, chosen, batch_dims=1)  # (batch,)


def _candidates(logits, temperature=1.0, top_k=None, top_p=None):
    """뽑을 후보의 점수와 번호입니다. 후보에서 빠진 것의 점수는 음의 무한대입니다.

    줄을 세울 까닭이 없으면 번호는 None이고, 점수는 어휘 집합의 차례입니다.
    """
    values = tf.cast(logits, tf.float32) / temperature
    if top_k is None and top_p is None:
        return values, None
    # 점수가 높은 차례로 (batch, count)
    values, tokens = tf.math.top_k(values, values.shape[-1] if top_k is None else top_k)
    if top_p is not None:
        p = tf.nn.softmax(values)
        before = tf.cumsum(p, axis=-1, exclusive=True)  # 나보다 앞선 것의 합
        # 합은 반올림으로 1보다 조금 작거나 클 수 있습니다. 1이면 모두 남깁니다.
        kept = before < (top_p if top_p < 1 else 2.0)
        values = tf.where(kept, values, -float("inf"))
    return values, tokens


def _generate(model, source_ids, choose, *, bos_id, eos_id, max_extra):
    """choose가 고른 토큰을 이어 붙입니다. 그래프 하나입니다."""
    pad_id = model.config.pad_id
    memory, memory_mask, limit, width = _read(model, source_ids, max_extra)
    cache = model.decoder.start_cache(memory, width)
    read = [layer[2:] for layer in cache]  # 메모리의 키와 값은 한 번만 계산합니다
    batch = tf.shape(source_ids)[0]

    def unfinished(time, ids, last, finished, written):
        return (time < width) & ~tf.reduce_all(finished)

    def step(time, ids, last, finished, written):
        cache = [own + kept for own, kept in zip(written, read)]
        logits, cache = model.decode(
            last[:, tf.newaxis], memory, memory_mask, cache=cache, start=time
        )
        logits = _without(pad_id, tf.cast(logits[:, 0], tf.float32))  # (batch, vocab)
        token = tf.where(finished, pad_id, choose(logits, time))  # (batch,)
        ids = tf.where(tf.range(width) == time, token[:, tf.newaxis], ids)
        finished |= (token == eos_id) | (time + 1 >= limit)
        return time + 1, ids, token, finished, [layer[:2] for layer in cache]

    state = (
        tf.constant(0),
        tf.fill((batch, width), pad_id),
        tf.fill((batch,), bos_id),
        limit <= 0,
        [layer[:2] for layer in cache],
    )
    return tf.while_loop(unfinished, step, state)[1]  # (batch, width)


def _beam_search(model, source_ids, alpha, *, beam_size, bos_id, eos_id, max_extra):
    pad_id = model.config.pad_id
    memory, memory_mask, limit, width = _read(model, source_ids, max_extra)
    limit = limit[:, tf.newaxis]
    # 자리마다 빔 하나에 한 칸씩. 시각 t에 빔 b는 t * beam_size + b번 칸에 적습니다.
    cache = model.decoder.start_cache(memory, width * beam_size)
    read = [layer[2:] for layer in cache]
    batch = tf.shape(source_ids)[0]
    branches = min(beam_size, model.config.vocab_size)
    own_slot = tf.eye(beam_size, dtype=tf.bool)[:, tf.newaxis]  # (beam, 1, beam)

    def normalized(total, length):
        return total / ((5.0 + tf.cast(length, tf.float32)) / 6.0) ** alpha

    def unfinished(time, ids, last, finished, *_):
        return (time < width) & ~tf.reduce_all(finished)

    def step(time, ids, last, finished, total, length, seen, written):
        now = tf.range(width) == time
        seen |= own_slot & now[:, tf.newaxis]  # (batch, beam, width, beam)
        logits, cache = _decode_beams(
            model,
            last,
            memory,
            tf.reshape(seen, (batch, 1, beam_size, width * beam_size)),
            memory_mask,
            [own + kept for own, kept in zip(written, read)],
            time,
        )
        log_p = _without(pad_id, tf.nn.log_softmax(logits))  # (batch, beam, vocab)
        log_p, token = tf.math.top_k(log_p, branches)  # (batch, beam, branches)
        # 끝난 답은 자라지 않습니다. 후보는 자신 하나이고 합도 길이도 그대로입니다.
        itself = tf.where(tf.range(branches) == 0, 0.0, -float("inf"))
        ended = finished[..., tf.newaxis]
        log_p = tf.where(ended, itself, log_p)
        token = tf.where(ended, pad_id, token)
        longer = length + tf.where(finished, 0, 1)  # (batch, beam)

        grown = total[..., tf.newaxis] + log_p
        score = normalized(grown, longer[..., tf.newaxis])
        score, best = tf.math.top_k(_flat(score), beam_size)  # (batch, beam)
        parent = best // branches
        total = tf.gather(_flat(grown), best, batch_dims=1)
        last = tf.gather(_flat(token), best, batch_dims=1)
        ids, finished, length, seen = (
            tf.gather(of_parent, parent, batch_dims=1)
            for of_parent in (ids, finished, longer, seen)
        )
        ids = tf.where(now, last[..., tf.newaxis], ids)
        # 점수가 음의 무한대인 것은 답이 아니라 빈자리입니다.
        empty = tf.math.is_inf(score)
        finished |= (last == eos_id) | (time + 1 >= limit) | empty
        written = [layer[:2] for layer in cache]
        return time + 1, ids, last, finished, total, length, seen, written

    first = tf.range(beam_size) == 0  # 처음에는 빈 답 하나뿐입니다
    state = (
        tf.constant(0),
        tf.fill((batch, beam_size, width), pad_id),
        tf.fill((batch, beam_size), bos_id),
        tf.repeat(limit <= 0, beam_size, axis=1),
        tf.tile(tf.where(first, 0.0, -float("inf"))[tf.newaxis], (batch, 1)),
        tf.zeros((batch, beam_size), tf.int32),
        tf.zeros((batch, beam_size, width, beam_size), tf.bool),
        [layer[:2] for layer in cache],
    )
    _, ids, _, _, total, length, *_ = tf.while_loop(unfinished, step, state)
    ids = tf.where(tf.math.is_inf(total)[..., tf.newaxis], pad_id, ids)
    return ids, normalized(total, length)


def _decode_beams(model, last, memory, seen, memory_mask, cache, time):
    """한 문장의 빔들을 한 열의 토큰들처럼 나란히 넣습니다. 위치는 모두 time입니다.

    그러면 메모리도 캐시도 빔마다 베끼지 않습니다. 누가 누구를 볼지는 seen이 정합니다.
    """
    x = model.target_embedding(last)  # (batch, beam, d_model)
    batch, beam_size, d_model = tf.shape(x)[0], x.shape[1], x.shape[2]
    x = model.positions(tf.reshape(x, (-1, 1, d_model)), start=time)
    x = tf.reshape(x, (batch, beam_size, d_model))
    x, cache = model.decoder(
        x,
        memory,
        attention_mask=seen,
        memory_mask=memory_mask,
        cache=cache,
        start=time * beam_size,
    )
    return tf.cast(model.linear_softmax(x), tf.float32), cache


def _read(model, source_ids, max_extra):
    """입력을 한 번 읽습니다. 문장마다의 길이 제한과 배치의 길이 제한도 셉니다."""
    pad_id = model.config.pad_id
    memory = model.encode(source_ids)
    real = tf.reduce_sum(tf.cast(source_ids != pad_id, tf.int32), axis=1)
    width = tf.shape(source_ids)[1] + max_extra
    return memory, padding_mask(source_ids, pad_id), real + max_extra, width


def _without(pad_id, scores):
    """패딩은 답의 토큰이 아닙니다. 고를 수 없게 합니다."""
    return tf.where(tf.range(scores.shape[-1]) == pad_id, -float("inf"), scores)


def _flat(x):
    """(batch, beam, branches)의 뒤 두 축을 폅니다."""
    return tf.reshape(x, (-1, x.shape[1] * x.shape[2]))


def _run(model, loop, jit_compile, source_ids, *numbers, **options):
    """loop를 그래프로 돌립니다. 그래프는 모델에 매어 두어 모델과 함께 사라집니다."""
    # __setattr__을 거치면 Keras가 모델의 부품으로 여깁니다.
    functions = vars(model).setdefault("_decoding_functions", {})
    key = loop.__name__, bool(jit_compile), *options.items()
    if key not in functions:
        # 문장의 수와 길이를 정해 두지 않아 어떤 배치든 같은 그래프를 씁니다.
        signature = [tf.TensorSpec((None, None), tf.int32)]
        signature += [tf.TensorSpec((), number.dtype) for number in numbers]
        functions[key] = tf.function(
            functools.partial(loop, model, **options),
            input_signature=signature,
            autograph=False,
            jit_compile=jit_compile,
        )
    return functions[key](source_ids, *numbers)


def _trim(ids, pad_id):
    """가장 긴 답의 뒤에 남은 자리를 자릅니다. 그래프에서는 모양이 바뀌므로 둡니다."""
    if not tf.executing_eagerly():
        return ids
    used = tf.reduce_any(ids != pad_id, axis=range(len(ids.shape) - 1))
    return ids[..., : tf.reduce_sum(tf.cast(used, tf.int32))]


def _check_inputs(model, source_ids, bos_id, eos_id, max_extra):
    if not isinstance(model, Transformer):
        raise TypeError(
            "model에는 Transformer가 필요합니다. 받은 것: "
            f"{type(model).__name__}. Transformer(config)로 만든 모델을 넘겨 주세요."
        )
    config = model.config
    model.build()  # 이미 만든 부품은 그대로입니다
    source_ids = _token_ids("source_ids", source_ids)
    known = config.source_vocab_size or config.vocab_size
    if tf.executing_eagerly():  # 그래프에서는 임베딩이 검사합니다.
        low, high = int(tf.reduce_min(source_ids)), int(tf.reduce_max(source_ids))
        if low < 0 or high >= known:
            raise ValueError(
                f"source_ids에는 0부터 {known - 1}까지의 번호가 필요합니다. 받은 "
                f"번호의 범위: {low}부터 {high}까지. 토크나이저와 모델이 같은 어휘 "
                "집합을 쓰는지 살펴보세요."
            )
    bos_id, eos_id = (
        _special_id(config, name, value)
        for name, value in (("bos_id", bos_id), ("eos_id", eos_id))
    )
    max_extra = checks.integer("max_extra", max_extra, minimum=0)
    longest = source_ids.shape[1]
    if (
        config.positions == "learned"
        and longest is not None
        and longest + max_extra > config.max_length
    ):
        raise ValueError(
            f"답을 {longest + max_extra}토큰(입력 {longest} + max_extra {max_extra})"
            f"까지 쓸 위치가 필요합니다. 받은 것: max_length={config.max_length}인 "
            "학습되는 위치 표. max_extra를 줄이거나 max_length를 키워 학습해 주세요."
        )
    limits = {"bos_id": bos_id, "eos_id": eos_id, "max_extra": max_extra}
    return tf.cast(source_ids, tf.int32), limits


def _special_id(config, name, value):
    value = checks.integer(name, value)
    if not 0 <= value < config.vocab_size or value == config.pad_id:
        raise ValueError(
            f"{name}에는 0부터 {config.vocab_size - 1}까지의 번호 가운데 pad_id"
            f"({config.pad_id})가 아닌 것이 필요합니다. 받은 것: {value}. 토크나이저의 "
            "특수 토큰 번호를 넣어 주세요."
        )
    return value


def _at_most_vocabulary(model, name, value):
    value, most = checks.positive_int(name, value), model.config.vocab_size
    if value > most:
        raise ValueError(
            f"{name}에는 어휘 집합의 크기 {most} 이하의 수가 필요합니다. "
            f"받은 것: {value}. 모두 남기려면 None으로 두세요."
        )
    return value


def _number(name, value, *, above=None, least=None, most=None):
    """범위 안의 수를 파이썬 실수로 돌려줍니다. 무한대와 NaN은 거절합니다."""
    bounds = {"보다 큰": above, " 이상": least, " 이하": most}
    expected = " ".join(f"{b}{word}" for word, b in bounds.items() if b is not None)
    expected = f"{name}에는 {expected}인 수가 필요합니다.".replace("큰인", "큰")
    try:
        if isinstance(value, bool):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"{expected} 받은 것: {type(value).__name__} {value!r}."
        ) from None
    inside = (
        (above is None or number > above)
        and (least is None or number >= least)
        and number <= (float("inf") if most is None else most)
        and abs(number) < float("inf")
    )
    if not inside:
        raise ValueError(f"{expected} 받은 것: {value}.")
    return number


class Answer(NamedTuple):
    text: str
    finished: bool


def translate(model, tokenizer, texts, max_extra=50, beam_size=None):
    source_ids = tokenizer.encode(texts, eos=True)
    inputs = model, source_ids, tokenizer.bos_id, tokenizer.eos_id, max_extra
    if beam_size is None:
        ids = greedy(*inputs).numpy()
    else:
        ids = beam_search(*inputs, beam_size=beam_size)[0].numpy()
    finished = (ids == tokenizer.eos_id).any(axis=1)
    return [Answer(*pair) for pair in zip(tokenizer.decode(ids), finished)]
