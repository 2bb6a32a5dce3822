"""디코딩의 두 종류: `greedy`와 `beam_search`.

후보에게 확률표로 만든 작은 모델을 주고 답을 견줍니다. 표마다 한 가지 실수만 드러냅니다.
길이의 표는 위치와 역사를 보지 않고, 위치의 표는 역사를 보지 않습니다. 그래서 실수가 함께
있어도 따로 알아봅니다. 바르게 쓴 빔 탐색들이 서로 다른 답을 낼 만한 표는 없습니다.

후보의 인자는 `next_logits, bos, eos, max_length`이고 빔 탐색은 `beam_size`가 더 있습니다.

- `next_logits(ids)`는 정수 (batch, n)을 받아 다음 토큰의 로짓 (batch, vocab)을 줍니다.
- 캐시를 쓰는 후보는 같은 것을 한 토큰씩 부릅니다. `cache = next_logits.start(batch)`로
  열고 `logits, cache = next_logits.step(ids, position, cache)`로 잇습니다. ids는 정수
  (batch, 1), position은 그 토큰의 위치입니다. bos의 위치가 0입니다. 캐시의 첫 축은 배치여서
  `cache[parents]`로 빔의 부모를 따라갑니다.

답은 번호의 목록이나 배열입니다. bos와 eos는 있어도 되고 없어도 됩니다. 빔 탐색은 가장 좋은
답 하나, 좋은 것부터 적은 답들, 또는 `(답, 점수)`를 돌려줍니다. 길이 벌점의 인자가 있으면
논문의 0.6을 줍니다.
"""

import numpy as np

from transformer_notes.checker import oracles
from transformer_notes.checker.messages import Example
from transformer_notes.checker.oracles import BOS, EOS

#: 위치와 역사를 보는 표, 그리고 답이 끝나는 길이보다 넉넉한 한도.
LIMIT = 12


def tokens_of(output):
    """후보의 출력에서 번호의 목록을 꺼냅니다. 꺼낼 수 없으면 None입니다.

    Examples:
        >>> tokens_of([[1, 5, 2, 0]]), tokens_of(([3, 2], -0.5))
        ([1, 5, 2, 0], [3, 2])
    """
    if hasattr(output, "detach"):
        output = output.detach().cpu()
    if hasattr(output, "numpy"):
        output = output.numpy()
    if isinstance(output, tuple | list) and not _is_row(output):
        for part in output:  # (답, 점수), (점수, 답), 답들의 목록
            found = tokens_of(part)
            if found is not None:
                return found
        return None
    try:
        array = np.asarray(output)
    except ValueError:
        return None
    while array.ndim > 1 and len(array):
        array = array[0]
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        return None
    if array.dtype.kind == "f" and (array != np.round(array)).any():
        return None
    return [int(token) for token in array]


def _is_row(output):
    return bool(output) and all(np.ndim(token) == 0 for token in output) and all(
        float(token) == int(token) for token in output
    )


def answer_of(tokens):
    """bos와 eos를 뺀 답, eos로 끝났는지, eos 뒤에 다른 토큰이 있는지."""
    tokens = tokens[1:] if tokens[:1] == [BOS] else list(tokens)
    ended = EOS in tokens
    end = tokens.index(EOS) if ended else len(tokens)
    after = [token for token in tokens[end:] if token not in (EOS, 0)]
    answer = tokens[:end]
    while answer and answer[-1] == 0:  # 모자란 자리를 채운 패딩
        answer.pop()
    return tuple(answer), ended, bool(after)


class Trial:
    """후보를 확률표 하나에 실행한 것: 답과, 그동안 모델이 받은 것."""

    def __init__(self, call, table, expected, **options):
        #: 나와야 할 답. eos까지입니다.
        self.expected = expected
        self.options = options
        output, oracle = call(table, **options)
        self.seen = oracle.seen
        self.tokens = tokens_of(output)
        self.answer, self.ended, self.grew = answer_of(self.tokens or [])

    @property
    def right(self):
        readable = self.tokens is not None
        return readable and self.answer == self.expected[:-1] and not self.grew

    def example(self, **said):
        inputs = {"bos": BOS, "eos": EOS, **self.options, **said}
        given = "번호의 목록이 아닙니다" if self.tokens is None else self.tokens
        return Example(inputs, expected=list(self.expected), given=given)

    def calls(self, most=4):
        lines = [
            f"토큰 {list(tokens)} 위치 {list(places)}" for tokens, places, _ in self.seen
        ]
        return "; ".join(lines[:most]) + (" …" if lines[most:] else "")

    def only_last_tokens(self):
        """앞부분 없이 마지막 토큰만 준 적이 있는지."""
        return any(
            not cached and tokens[0] != BOS and len(tokens) == 1
            for tokens, _, cached in self.seen
        )

    def stuck_at_zero(self):
        """캐시와 함께 준 토큰을 모두 위치 0에 두었는지."""
        later = [
            places
            for tokens, places, cached in self.seen
            if cached and (len(tokens) > 1 or tokens[0] != BOS)
        ]
        return bool(later) and not any(any(places) for places in later)

    def lost_history(self):
        """캐시에 답의 앞부분이 제대로 담기지 않은 적이 있는지."""
        cached = {tokens for tokens, _, cached in self.seen if cached}
        path = (BOS, *self.answer)
        needed = {path[:end] for end in range(1, len(path) + 1)}
        return bool(cached) and not needed <= cached


def judge_greedy(call):
    """그리디를 살핍니다.

    Args:
        call: `call(table, **options)`. 후보를 그 표의 모델에 실행하고 `(출력, 모델)`을
            돌려주는 함수.

    Returns:
        `(examples, broken)`. 알아본 실수의 번호와 예의 사전, 그리고 어긋난 성질의
        `(문장, 예)` 또는 None.
    """
    first = Trial(call, oracles.FORK, oracles.GREEDILY, max_length=LIMIT)
    if not first.right:
        return {}, (_why_not(first, "점수가 가장 높은 토큰을 고르지 않습니다."), first)
    long = Trial(call, oracles.endless, _ENDLESS, max_length=6)
    if not _stops(long, 6):
        return {}, ("max_length에서 멈추지 않습니다.", long)
    return _position_and_cache(
        Trial(call, oracles.places, oracles.PLACES, max_length=LIMIT),
        Trial(call, oracles.trail, oracles.TRAIL, max_length=LIMIT),
    )


def judge_beam_search(call):
    """빔 탐색을 살핍니다. 인자와 결과는 `judge_greedy`와 같습니다."""
    wide = {"max_length": LIMIT, "beam_size": 4}
    first = Trial(call, oracles.FORK, oracles.FORKED, **wide)
    if not first.right:
        greedily = first.answer == oracles.GREEDILY[:-1]
        missed = "합이 가장 큰 답을 찾지 못합니다."
        missed = "그리디와 같은 답을 냅니다. 둘째 빔을 버렸습니다." if greedily else missed
        return {}, (_why_not(first, missed), first)
    examples = {}
    short = Trial(call, oracles.LENGTHS, oracles.LONG, **wide)
    if not short.right:
        if short.answer != oracles.SHORT[:-1] and not short.grew:
            return {}, (_why_not(short, "점수가 가장 높은 답이 아닙니다."), short)
        examples[35] = short.example(**_sums(oracles.LENGTHS))
    grown = Trial(call, oracles.GROWTH, oracles.SHORT, **wide)
    if not grown.right:
        if grown.answer != oracles.LONG[:-1] and not grown.grew:
            return {}, (_why_not(grown, "점수가 가장 높은 답이 아닙니다."), grown)
        examples.setdefault(35, grown.example(**_sums(oracles.GROWTH)))
    found, broken = _position_and_cache(
        Trial(call, oracles.places, oracles.PLACES, **wide),
        Trial(call, oracles.history, oracles.HISTORY, **wide | {"beam_size": 2}),
    )
    return examples | found, broken


_ENDLESS = (3, 4, 5, 6, 7, 3, EOS)


def _position_and_cache(at_places, at_history):
    """위치의 표와 역사의 표에서 실수 19와 36을 찾습니다."""
    examples = {}
    if not at_places.right:
        if not (at_places.only_last_tokens() or at_places.stuck_at_zero()):
            return {}, (_why_not(at_places, "토큰의 위치가 어긋납니다."), at_places)
        examples[19] = at_places.example(**{"모델이 받은 것": at_places.calls()})
    if not at_history.right:
        received = at_history.example(**{"모델이 받은 것": at_history.calls(6)})
        if at_history.only_last_tokens():
            examples.setdefault(19, received)
        elif at_history.lost_history():
            examples[36] = received
        else:
            wrong = "모델에 준 앞부분이 답의 앞부분과 다릅니다."
            return {}, (_why_not(at_history, wrong), at_history)
    return examples, None


def _why_not(trial, otherwise):
    if trial.tokens is None:
        return "번호의 목록이나 배열을 돌려주지 않습니다."
    if trial.grew:
        return "eos 뒤에도 토큰이 이어집니다."
    return otherwise


def _stops(trial, limit):
    """한도는 bos나 eos를 세기도 하고 세지 않기도 합니다. 어느 쪽이든 맞습니다."""
    length = len(trial.answer)
    endless = [3 + place % 5 for place in range(length)]
    return list(trial.answer) == endless and limit - 2 <= length <= limit + 1


def _sums(table):
    return {
        f"답 {list(answer)}의 로그 확률의 합": round(oracles.total(table, answer), 3)
        for answer in (oracles.SHORT, oracles.LONG)
    }
