"""글의 답과 그 확신, 그리고 거절하고 되묻는 말: 글에 답하는 명령들이 함께 씁니다.

할 말과 그 조건은 `remarks.json` 하나에 있습니다. 사이트의 「써 보기」도 그 파일을
읽으므로 둘은 같은 글을 같은 말로 거절하고 되묻습니다.
"""

import collections
import contextlib
import datetime
import json
import re
from pathlib import Path
from typing import NamedTuple

from transformer_notes.cli import pairs, run_folder
from transformer_notes.cli.korean import require, say, warn

BATCH = 64  # 한 번에 옮길 글의 수
NOTHING = "(?!)"  # 아무것도 찾지 않는 정규 표현식
REMARKS = json.loads(Path(__file__).with_name("remarks.json").read_text("utf-8"))


def remark(key, **values):
    """표에 적힌 말에 값을 넣습니다."""
    return REMARKS["words"][key].format(**values)


def written(chance):
    """확률을 네 자리로 적습니다."""
    return f"{chance:#.4g}"


# --- 글을 읽기 전에 ------------------------------------------------------------------


def reading(opened, text, name="글"):
    """`(모델이 읽을 글, 거절하는 말, 경고하는 말)`. 할 말이 없으면 빈 글입니다.

    모델이 받을 수 없을 만큼 긴 글이면 `BadInput`을 냅니다. name은 그 글을 부르는
    말입니다. '글'처럼 받침으로 끝납니다.
    """
    tokenizer, rules = opened.tokenizer, opened.rules
    text = pairs.readable(tokenizer, text)
    (hidden,), _ = tokenizer.hide([text])
    length = len(tokenizer.encode(hidden, eos=True))
    letters = tokenizer.normalize(text).replace(" ", "")
    unknown = tokenizer.unknown_characters(hidden)
    pieces = length - 1  # 끝의 <eos>는 세지 않습니다
    least = max(len(letters), 3)  # 한두 글자에서는 맨 앞의 공백이 너무 무겁습니다
    values = {
        "name": name,
        "length": length,
        "most": opened.max_length,
        "longest": opened.longest_source,
        "letters": pairs.shortened(" ".join(unknown)),
    }
    require(length <= opened.max_length, remark("long", **values))
    refusals = [
        "strange" if set(tokenizer.normalize(hidden)) <= {" ", *unknown} else "",
        _missing(rules.get("refuse"), hidden),
        "heavy" if _is_heavy(rules, tokenizer.normalize(text)) else "",
        "broken" if pieces > rules.get("pieces", pieces) * least else "",
    ]
    longer = length > (opened.longest_source or length)
    warnings = [
        "unknown" if unknown else "longer" if longer else "",
        _missing(rules.get("warn"), hidden),
    ]
    refusal = next(filter(None, refusals), None)
    return (
        text,
        remark(refusal, **values) if refusal else "",
        " ".join(remark(key, **values) for key in filter(None, warnings)),
    )


def _missing(rule, text):
    """있어야 할 글자가 글에 없으면 할 말의 이름."""
    return rule[1] if rule and not re.search(rule[0], text) else ""


def _is_heavy(rules, text):
    """관용구를 지우고도 죽음, 병, 스스로 해침, 폭력의 말이 남는가.

    표에 적은 빈칸은 있어도 되고 없어도 됩니다. 말은 어절의 처음에서 찾습니다.
    """
    idioms, heavy = (
        "|".join(rules.get(key, ())).replace(" ", " ?") for key in ("idioms", "heavy")
    )
    left = re.sub(idioms, "", text)
    return bool(heavy) and bool(re.search(f"(?<![가-힣])({heavy})", left))


# --- 답 ------------------------------------------------------------------------------


class Reply(NamedTuple):
    """글 하나의 답과, 그 토큰마다 모델이 준 확률."""

    text: str
    finished: bool
    ids: object
    spans: list
    chances: object

    @property
    def certainty(self):
        r"""확신, 곧 토큰마다의 확률의 기하 평균 :math:`p(y|x)^{1/n}`\ 입니다."""
        import numpy as np

        return float(np.exp(np.log(self.chances).mean()))

    @property
    def weakest(self):
        """가장 망설인 토큰의 자리. 쓴 것이 있으면 끝내는 토큰은 보지 않습니다."""
        written = self.chances[:-1] if self.finished else self.chances
        return int((written if len(written) else self.chances).argmin())


def reply(model, tokenizer, texts, **how):
    """글마다의 `Reply`. how는 `decoding.translate`의 방법입니다."""
    from transformer_notes import decoding

    found = decoding.translate(
        model, tokenizer, texts, max_extra=run_folder.MAX_EXTRA, **how
    )
    chances = _chances(model, tokenizer, texts, [answer.ids for answer in found])
    return [Reply(*answer, row) for answer, row in zip(found, chances)]


def _chances(model, tokenizer, texts, answers):
    """글마다, 답을 넣어 주었을 때 그 토큰들의 확률."""
    import numpy as np
    import tensorflow as tf

    from transformer_notes.tokenization import pad_rows

    labels = pad_rows(answers, tokenizer.pad_id)
    inputs = np.insert(labels[:, :-1], 0, tokenizer.bos_id, axis=1)
    hidden, _ = tokenizer.hide(texts)
    logits = model((tokenizer.encode(hidden, eos=True), inputs))
    p = tf.nn.softmax(tf.cast(logits, tf.float32))
    chosen = tf.gather(p, labels, batch_dims=2).numpy()
    return [row[: len(ids)] for row, ids in zip(chosen, answers)]


def measures(answer, tokenizer):
    """확신, 가장 망설인 토큰, 그 확률을 적는 꼴로."""
    place = answer.weakest
    (token,) = names(tokenizer, answer.ids[[place]], answer.spans)
    return written(answer.certainty), token, written(answer.chances[place])


def names(tokenizer, ids, spans):
    """번호마다의 토큰을 적는 꼴로. 자리표는 그 자리의 조각입니다."""
    from transformer_notes.tokenization import show

    vocabulary = tokenizer.vocabulary
    return [show(vocabulary[token], spans).replace(" ", "␣") for token in ids]


# --- 답을 보고 나서 ------------------------------------------------------------------


def judged(rules, text, certainty, name="글", least=None, source=""):
    """`(내놓지 않을 까닭, 내놓고 되물을 까닭)`. 까닭이 없으면 빈 글입니다.

    least는 답을 내놓을 가장 낮은 확신입니다. 없으면 표의 것입니다. source는 답과
    견줄 원문입니다.
    """
    least = rules.get("least", 0) if least is None else least
    first, last = rules.get("years", (None, None))
    lost = missing_marks(rules, source, text)
    values = {
        "name": name, "answer": text, "certainty": written(certainty), "least": least,
        "doubt": rules.get("doubt"), "first": first, "last": last,
        "lost": pairs.shortened(" ".join(lost)),
    }  # fmt: skip
    reason = "" if text else "blank"
    if first is not None:
        reason = reason or _not_a_day(text, first, last)
    if reason := reason or ("unsure" if certainty < least else ""):
        return remark(reason, **values), ""
    reasons = [
        "doubtful" if certainty < rules.get("doubt", 0) else "",
        "lost" if lost else "",
        "turned" if misses_negation(rules, source, text) else "",
    ]
    return "", " ".join(remark(key, **values) for key in filter(None, reasons))


def missing_marks(rules, source, text):
    """원문보다 답에 적게 있는 부호, 이름, 수."""
    marks = re.compile(rules.get("marks", NOTHING))
    wanted, given = map(collections.Counter, map(marks.findall, (source, text)))
    return list(wanted - given)


def misses_negation(rules, source, text):
    """부정하는 말이 원문보다 답에 적은가."""
    patterns = rules.get("negation", [NOTHING] * 2)
    wanted, given = map(re.findall, patterns, (source, text))
    return len(wanted) > len(given)


def _not_a_day(text, first, last):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return "no_date"
    with contextlib.suppress(ValueError):
        year = datetime.date.fromisoformat(text).year
        return "" if first <= year <= last else "other_year"
    return "no_day"


def ask_back(*reasons):
    """까닭이 있으면 표준 오류로 되묻습니다."""
    for reason in filter(None, reasons):
        say(f"되묻습니다: {reason}")


def warn_cut(answer, name="글"):
    """길이의 한도에서 끊긴 답이면 알립니다."""
    if not answer.finished:
        warn(remark("cut", name=name, extra=run_folder.MAX_EXTRA))


def warn_unfinished(answers):
    """길이의 한도에서 끊긴 답이 있으면 세어 알립니다."""
    count = sum(not answer.finished for answer in answers)
    if count:
        warn(
            f"답 {count:,}개가 길이의 한도(입력 + {run_folder.MAX_EXTRA}토큰)에서 "
            "끊겼습니다."
        )
