"""답을 찾는 세 방법: 그리디, 뽑기, 빔 탐색 (논문 6.1절)."""

import functools
import operator
import random

import tensorflow as tf

from transformer_notes import _arguments, _tensors
from transformer_notes.decoding.steps import (
    draw,
    generate,
    most_likely,
    search_beams,
)


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
        max_extra: 입력보다 더 쓸 수 있는 토큰의 수. 논문은 50입니다.
        jit_compile: 그래프를 XLA로 컴파일할지. 입력의 모양이 바뀔 때마다 컴파일하므로,
            모양이 같은 입력을 여러 번 풀 때 이롭습니다.

    Returns:
        답의 토큰 번호, int32, (batch, length). bos는 없고, eos까지 있으며, 그 뒤는
        `pad_id`입니다. length는 가장 긴 답의 길이입니다. 그래프 안에서 부르면 자르지
        않으므로 length_s + max_extra입니다.

    Raises:
        TypeError: 정수가 아닌 `source_ids`, `bos_id`, `eos_id`, `max_extra`.
        ValueError: 2차원이 아니거나 어휘 집합에 없는 `source_ids`, 어휘 집합에 없거나
            `pad_id`와 같은 `bos_id`나 `eos_id`, 음수 `max_extra`, length_s +
            max_extra보다 짧은 학습되는 위치 표.

    Examples:
        >>> from transformer_notes.transformer import Transformer, TransformerConfig
        >>> sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16}
        >>> model = Transformer(TransformerConfig(20, source_vocab_size=30, **sizes))
        >>> source_ids = [[5, 29, 0], [6, 0, 0]]  # 패딩은 길이에 들지 않습니다
        >>> ids = greedy(model, source_ids, bos_id=1, eos_id=2, max_extra=2)
        >>> ids.dtype.name, ids.shape[0], ids.shape[1] <= 4
        ('int32', 2, True)
        >>> greedy(model, [[5, 30]], bos_id=1, eos_id=2)
        Traceback (most recent call last):
            ...
        ValueError: source_ids...
        >>> greedy(model, [[5, 6, 7]], bos_id=1, eos_id=20)
        Traceback (most recent call last):
            ...
        ValueError: eos_id에는 0부터 19까지의 번호 가운데 pad_id(0)가 아닌 것이...
        >>> config = TransformerConfig(20, positions="learned", max_length=4, **sizes)
        >>> learned = Transformer(config)
        >>> greedy(learned, [[5, 6, 7, 8]], 1, 2, max_extra=0).shape[0]
        1
        >>> greedy(learned, [[5, 6, 7, 8]], 1, 2)
        Traceback (most recent call last):
            ...
        ValueError: 답을 54토큰(입력 4 + max_extra 50)까지 쓸 위치가 필요합니다. ...
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
        max_extra: 입력보다 더 쓸 수 있는 토큰의 수.
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
        TypeError: 정수가 아닌 `top_k`나 `seed`.
        ValueError: 0 이하의 `temperature`, 1보다 작거나 어휘 집합보다 큰 `top_k`,
            범위를 벗어난 `top_p`. 나머지는 `greedy`와 같습니다.

    Examples:
        >>> from transformer_notes.transformer import Transformer, TransformerConfig
        >>> sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16}
        >>> model = Transformer(TransformerConfig(20, **sizes))
        >>> first, again = (sample(model, [[5, 6]], 1, 2, 2, seed=3) for _ in range(2))
        >>> bool(tf.reduce_all(first == again))
        True
        >>> best = greedy(model, [[5, 6]], 1, 2, 2)
        >>> for only in {"top_k": 1}, {"top_p": 1e-6}:
        ...     ids = sample(model, [[5, 6]], 1, 2, 2, **only)
        ...     print(bool(tf.reduce_all(ids == best)))
        True
        True
        >>> whole = {"top_k": 20, "top_p": 1}  # 모두 남깁니다
        >>> sample(model, [[5, 6]], 1, 2, 2, **whole).shape[0]
        1
        >>> sample(model, [[5, 6]], 1, 2, 2, top_k=21)
        Traceback (most recent call last):
            ...
        ValueError: top_k...
        >>> sample(model, [[5, 6]], 1, 2, 2, top_p=1.5)
        Traceback (most recent call last):
            ...
        ValueError: top_p...
        >>> sample(model, [[5, 6]], 1, 2, 2, top_p=0)
        Traceback (most recent call last):
            ...
        ValueError: top_p...
        >>> sample(model, [[5, 6]], 1, 2, 2, temperature=0)
        Traceback (most recent call last):
            ...
        ValueError: temperature...
    """
    source_ids, limits = _check_inputs(model, source_ids, bos_id, eos_id, max_extra)
    temperature = _arguments.number(
        "temperature", temperature, "0보다 큰", lambda x: x > 0
    )
    top_k = None if top_k is None else _at_most_vocabulary(model, top_k)
    if top_p is not None:
        top_p = _arguments.number(
            "top_p", top_p, "0보다 크고 1 이하인", lambda x: 0 < x <= 1
        )
    seed = random.getrandbits(31) if seed is None else operator.index(seed)
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
        max_extra: 입력보다 더 쓸 수 있는 토큰의 수. 논문은 50입니다.
        beam_size: 함께 이어 갈 답의 수. 논문은 4입니다.
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
        TypeError: 정수가 아닌 `beam_size`.
        ValueError: 1보다 작은 `beam_size`, 음수 `length_penalty`. 나머지는 `greedy`와
            같습니다.

    Examples:
        >>> from transformer_notes.transformer import Transformer, TransformerConfig
        >>> sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16}
        >>> model = Transformer(TransformerConfig(20, **sizes))
        >>> ids, scores = beam_search(model, [[5, 6, 7], [8, 9, 0]], 1, 2, 2)
        >>> ids.shape[0], scores.shape, bool(tf.reduce_all(scores < 0))
        (2, TensorShape([2]), True)
    """
    source_ids, limits = _check_inputs(model, source_ids, bos_id, eos_id, max_extra)
    beam_size = _arguments.positive_int("beam_size", beam_size)
    alpha = _arguments.number(
        "length_penalty", length_penalty, "0 이상의", lambda x: x >= 0
    )
    options = {**limits, "beam_size": beam_size}
    ids, scores = _run(
        model, search_beams, jit_compile, source_ids, tf.constant(alpha), **options
    )
    if not return_beams:
        ids, scores = ids[:, 0], scores[:, 0]
    return _trim(ids, model.config.pad_id), scores


def _greedy(model, source_ids, **limits):
    return generate(model, source_ids, lambda z, _: most_likely(z), **limits)


def _sample(model, source_ids, temperature, seed, *, top_k, top_p, **limits):
    def choose(logits, time):
        step_seed = tf.stack([seed, tf.cast(time, tf.int64)])
        return draw(logits, step_seed, temperature, top_k, top_p)

    return generate(model, source_ids, choose, **limits)


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
    config = model.config
    model.build()  # 그래프 안에서 만들면 그래프를 두 번 그립니다
    source_ids = _tensors.token_ids("source_ids", source_ids)
    known = config.source_vocab_size or config.vocab_size
    if tf.executing_eagerly():  # 그래프에서는 임베딩이 검사합니다.
        if message := _tensors.unknown_ids("source_ids", source_ids, known):
            raise ValueError(message)
    bos_id, eos_id = (
        _special_id(config, name, value)
        for name, value in (("bos_id", bos_id), ("eos_id", eos_id))
    )
    longest, known = source_ids.shape[1], model.positions.max_length
    if None not in (longest, known) and longest + max_extra > known:
        raise ValueError(
            f"답을 {longest + max_extra}토큰(입력 {longest} + max_extra {max_extra})"
            f"까지 쓸 위치가 필요합니다. 받은 것: max_length={known}인 위치 표. "
            "max_extra를 줄이거나 max_length를 키워 학습해 주세요."
        )
    max_extra = _arguments.integer("max_extra", max_extra, minimum=0)
    limits = {"bos_id": bos_id, "eos_id": eos_id, "max_extra": max_extra}
    return tf.cast(source_ids, tf.int32), limits


def _special_id(config, name, value):
    value = _arguments.integer(name, value, minimum=0)
    if value >= config.vocab_size or value == config.pad_id:
        raise ValueError(
            f"{name}에는 0부터 {config.vocab_size - 1}까지의 번호 가운데 pad_id"
            f"({config.pad_id})가 아닌 것이 필요합니다. 받은 것: {value}. 토크나이저의 "
            "특수 토큰 번호를 넣어 주세요."
        )
    return value


def _at_most_vocabulary(model, top_k):
    top_k, most = _arguments.positive_int("top_k", top_k), model.config.vocab_size
    if top_k > most:
        raise ValueError(
            f"top_k에는 1부터 어휘 집합의 크기 {most}까지의 수가 필요합니다. "
            f"받은 것: {top_k}. 모두 남기려면 None으로 두세요."
        )
    return top_k
