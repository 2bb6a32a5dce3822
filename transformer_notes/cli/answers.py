"""글의 답, 그 확률, 그리고 내놓지 않을 까닭: `translate`와 `evaluate`가 씁니다."""

import datetime
from typing import NamedTuple

from transformer_notes.cli import run_folder
from transformer_notes.cli.korean import warn
from transformer_notes.corpora import FIRST_YEAR, LAST_YEAR

BATCH = 64  # 한 번에 옮길 글의 수


class Reply(NamedTuple):
    """글 하나의 답과, 모델이 그 답에 주는 확률."""

    text: str
    finished: bool
    ids: object
    probability: float


def reply(model, tokenizer, texts, **how):
    """글마다의 `Reply`. how는 `decoding.translate`의 방법입니다."""
    from transformer_notes import decoding

    found = decoding.translate(
        model, tokenizer, texts, max_extra=run_folder.MAX_EXTRA, **how
    )
    chances = _probabilities(model, tokenizer, texts, [answer.ids for answer in found])
    return [Reply(*answer, chance) for answer, chance in zip(found, chances)]


def _probabilities(model, tokenizer, texts, answers):
    """글마다 p(y|x). 답을 넣어 주고 그 토큰들의 확률을 곱합니다."""
    import numpy as np
    import tensorflow as tf

    from transformer_notes.tokenization import pad_rows

    labels = pad_rows(answers, tokenizer.pad_id)
    inputs = np.insert(labels[:, :-1], 0, tokenizer.bos_id, axis=1)
    logits = model((tokenizer.encode(texts, eos=True), inputs))
    log_p = tf.nn.log_softmax(tf.cast(logits, tf.float32))
    chosen = tf.gather(log_p, labels, batch_dims=2).numpy()
    real = labels != tokenizer.pad_id
    return np.exp(np.where(real, chosen, 0).sum(axis=1)).tolist()


def doubt(answer, least, dates):
    """답을 내놓지 않을 까닭. 내놓아도 되면 빈 글입니다."""
    if dates and (problem := _not_a_day(answer.text)):
        return problem
    if answer.probability < least:
        return f"확률({answer.probability:.3f})이 {least}보다 낮습니다"
    return ""


def _not_a_day(text):
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        return "달력에 없는 날입니다"
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        return f"배운 해({FIRST_YEAR}–{LAST_YEAR})의 밖입니다"
    return ""


def warn_unfinished(answers):
    """길이의 한도에서 끊긴 답이 있으면 세어 알립니다."""
    count = sum(not answer.finished for answer in answers)
    if count:
        warn(
            f"답 {count:,}개가 길이의 한도(입력 + {run_folder.MAX_EXTRA}토큰)에서 "
            "끊겼습니다."
        )
