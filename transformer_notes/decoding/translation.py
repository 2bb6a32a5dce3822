"""글을 받아 글로 답합니다."""

from typing import NamedTuple

import numpy as np

from transformer_notes.decoding.search import beam_search, greedy, sample
from transformer_notes.tokenization import pad_rows, show, text_rows


class Answer(NamedTuple):
    """글 하나에 대한 답."""

    #: 답의 글.
    text: str
    #: 길이의 한도에서 끊기지 않고 `<eos>`로 끝났는지.
    finished: bool
    #: 답의 번호, int32 (length,). 끝의 `<eos>`까지이고 패딩은 없습니다.
    ids: np.ndarray
    #: 옮기기 전에 자리표로 바꾼 조각. ids의 자리표는 이것입니다.
    spans: list


def translate(
    model,
    tokenizer,
    texts,
    max_extra=50,
    beam_size=None,
    temperature=None,
    top_k=None,
    top_p=None,
    seed=None,
):
    """글을 번호로 바꾸어 답을 만들고, 답을 다시 글로 바꿉니다.

    자리표를 배운 토크나이저이면 이름이나 수를 자리표로 바꾸어 옮기고 답에서 되돌립니다.

    Args:
        model: `Transformer`.
        tokenizer: 모델과 같은 어휘 집합의 `Tokenizer`.
        texts: 문자열의 목록. 저마다 비어 있지 않아야 합니다.
        max_extra: 입력보다 더 쓸 수 있는 토큰의 수.
        beam_size: 빔의 수. None이면 그리디입니다.
        temperature: 주면 이 온도로 `sample`합니다. `beam_size`와 함께 주지 않습니다.
        top_k: `sample`의 것. `temperature`와 함께 줍니다. 아래의 둘도 그렇습니다.
        top_p: `sample`의 것.
        seed: `sample`의 것.

    Returns:
        `Answer`의 목록. texts와 순서가 같습니다.

    Raises:
        TypeError: 문자열 하나인 `texts`.
        ValueError: 빈 글, 함께 준 `beam_size`와 `temperature`, `temperature` 없이 준
            `top_k`나 `top_p`나 `seed`. 나머지는 `greedy`, `beam_search`, `sample`과
            같습니다.

    Examples:
        >>> from transformer_notes import models
        >>> dates = models.load("dates")
        >>> asked = ["2026년 11월 21일"]
        >>> [answer] = translate(dates.model, dates.tokenizer, asked)
        >>> answer.text, answer.finished
        ('2026-11-21', True)
        >>> for how in {"beam_size": 2}, {"temperature": 9, "top_k": 1, "seed": 0}:
        ...     print(translate(dates.model, dates.tokenizer, asked, **how)[0].text)
        2026-11-21
        2026-11-21
        >>> wild = {"temperature": 1e6, "seed": 4}  # 한도에서 끊깁니다
        >>> [answer] = translate(dates.model, dates.tokenizer, asked, **wild)
        >>> source = dates.tokenizer.encode(asked[0], eos=True)
        >>> answer.finished, len(answer.ids) - len(source)
        (False, 50)
        >>> translate(dates.model, dates.tokenizer, asked, top_k=5)
        Traceback (most recent call last):
            ...
        ValueError: ...temperature...
        >>> translate(dates.model, dates.tokenizer, [*asked, ""])
        Traceback (most recent call last):
            ...
        ValueError: texts에는 글이 필요합니다. 받은 것: 1번째의 빈 글. ...
    """
    drawing = {"top_k": top_k, "top_p": top_p, "seed": seed}
    unused = drawing if temperature is None else {"beam_size": beam_size}
    if given := [name for name, value in unused.items() if value is not None]:
        raise ValueError(
            "찾으려면 beam_size만, 뽑으려면 temperature와 top_k, top_p, seed만 "
            f"필요합니다. 받은 것: temperature={temperature}, {', '.join(given)}."
        )
    hidden, spans = tokenizer.hide(texts)
    rows = text_rows(tokenizer, hidden)
    if not rows:
        return []
    source_ids = pad_rows(rows, tokenizer.pad_id)
    inputs = model, source_ids, tokenizer.bos_id, tokenizer.eos_id, max_extra
    if temperature is not None:
        ids = sample(*inputs, temperature, **drawing)
    elif beam_size is not None:
        ids, _ = beam_search(*inputs, beam_size)
    else:
        ids = greedy(*inputs)
    ids = ids.numpy()
    rows = [row[row != tokenizer.pad_id] for row in ids]
    return [
        Answer(show(text, copied), bool(tokenizer.eos_id in row), row, copied)
        for text, row, copied in zip(tokenizer.decode(ids), rows, spans)
    ]
