"""디코딩의 두 종류: `greedy`와 `beam_search`.

후보에게 확률표로 만든 작은 모델을 주고 답을 견줍니다. 표마다 드러내는 실수가
다릅니다. 길이의 표는 위치와 역사를 보지 않고, 위치의 표는 역사를 보지 않습니다.
그래서 실수가 함께 있어도 따로 알아봅니다. 바르게 쓴 빔 탐색들이 서로 다른 답을 낼 만한
표는 없습니다.

후보의 인자는 `next_logits, bos, eos, max_length`이고, 빔 탐색은 `beam_size`도 받습니다.

- `next_logits(ids)`는 정수 (batch, n)을 받아 다음 토큰의 로짓 (batch, vocab)을 줍니다.
- 캐시를 쓰는 후보는 같은 것을 한 토큰씩 부릅니다. `cache = next_logits.start(batch)`로
  열고 `logits, cache = next_logits.step(ids, position, cache)`로 잇습니다. ids는 정수
  (batch, 1), position은 그 토큰의 위치입니다. bos의 위치가 0입니다. 캐시의 첫 축은
  배치여서 `cache[parents]`로 빔의 부모를 따라갑니다.

답은 번호의 목록이나 배열입니다. bos와 eos는 있어도 되고 없어도 됩니다. 빔 탐색은 가장
좋은 답 하나, 좋은 것부터 적은 답들, 또는 `(답, 점수)`를 돌려줍니다. 길이 벌점의 인자가
있으면 논문의 0.6을 줍니다.
"""

import dataclasses

import numpy as np

from transformer_notes.checker import names, oracles
from transformer_notes.checker.kinds import Case, Kind, Misfit
from transformer_notes.checker.messages import Example
from transformer_notes.checker.oracles import BOS, EOS
from transformer_notes.checker.tensors import loaded, to_numpy

#: 다른 줄의 토큰이라고 볼 만큼 작은 확률과 큰 확률.
RARE, LIKELY = 1e-6, 0.2
#: 답이 끝나는 길이보다 넉넉한 한도.
LIMIT = 12


def tokens_of(output):
    """후보의 출력에서 번호의 목록을 꺼냅니다. 꺼낼 수 없으면 None입니다.

    Examples:
        >>> tokens_of([[1, 5, 2, 0]]), tokens_of(([3, 2], -0.5))
        ([1, 5, 2, 0], [3, 2])
    """
    if isinstance(output, tuple | list) and not _is_row(output):
        for part in output:  # (답, 점수), (점수, 답), 답들의 목록
            found = tokens_of(part)
            if found is not None:
                return found
        return None
    array = to_numpy(output)
    while array is not None and array.ndim > 1 and len(array):
        array = array[0]
    if array is None or array.ndim != 1 or array.dtype.kind == "b":
        return None
    whole = np.isfinite(array).all() and (array == np.round(array)).all()
    return [int(token) for token in array] if whole else None


def _is_row(output):
    """정수들의 목록인지. 텐서 스칼라도 정수로 칩니다."""
    try:
        return all(float(token).is_integer() for token in output)
    except (TypeError, ValueError):
        return False


def answer_of(tokens):
    """bos와 eos를 뺀 답과, eos 뒤에 다른 토큰이 있는지."""
    tokens = tokens[1:] if tokens[:1] == [BOS] else tokens
    end = tokens.index(EOS) if EOS in tokens else len(tokens)
    after = [token for token in tokens[end:] if token not in (EOS, 0)]
    answer = tokens[:end]
    while answer and answer[-1] == 0:  # 모자란 자리를 채운 패딩
        answer.pop()
    return tuple(answer), bool(after)


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """후보가 낸 답 하나."""

    #: 돌려준 번호 모두.
    tokens: list
    #: bos와 eos를 뺀 답.
    path: tuple
    #: eos 뒤에 다른 토큰이 있는지.
    grew: bool
    #: 모델이 받은 줄마다 (토큰들, 위치들, 캐시를 썼는지).
    seen: list

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

    def presented(self, path, whole):
        """모델이 이 답의 앞부분을 모두, whole이면 답 전체까지 받았는지."""
        rows = {tokens for tokens, _, _ in self.seen}
        ends = range(len(path) + whole)
        return all((BOS, *path[:end]) in rows for end in ends)

    def misplaced(self, table):
        """다른 줄에서 고른 토큰을 이은 줄을 모델에 준 적이 있는지."""

        def chance(row, token):
            return np.exp(oracles.log_probabilities(table(row, len(row) - 1))[token])

        rows = {tokens for tokens, _, _ in self.seen}
        return any(
            chance(row[:-1], row[-1]) < RARE
            and any(
                len(other) == len(row) - 1 and chance(other, row[-1]) > LIKELY
                for other in rows
            )
            for row in rows
            if len(row) > 1
        )

    def calls(self, most=5):
        """모델이 처음에 받은 것들을 적습니다."""
        lines = [
            f"토큰 {list(tokens)} 위치 {list(places)}"
            for tokens, places, _ in self.seen
        ]
        return "; ".join(lines[:most]) + (" …" if lines[most:] else "")


@dataclasses.dataclass(frozen=True, eq=False)
class Search(Case):
    """확률표 하나에서 답을 찾게 하는 사례."""

    table: object = None
    #: 나와야 할 답. eos까지입니다.
    expected: tuple = ()
    #: 길이를 셈하지 않거나 끝난 뒤에도 이으면 나오는 답.
    tempting: tuple = ()
    #: 다른 답이 나왔을 때 하는 말.
    otherwise: str = ""
    #: 지금 후보가 부르는 모델. 부를 때마다 새로 만듭니다.
    oracle: list = dataclasses.field(default_factory=list)

    def answer(self, tokens):
        """후보가 돌려준 번호를 읽습니다. None이면 빈 답입니다."""
        tokens = [] if tokens is None else tokens.tolist()
        path, grew = answer_of(tokens)
        return Answer(tokens, path, grew, self.oracle[0].seen)

    def right(self, answer):
        return answer.path == self.expected[:-1] and not answer.grew

    def shorter(self, answer):
        """실수 35가 이 답을 설명하는지."""
        return bool(self.tempting) and (
            answer.path == self.tempting[:-1] or answer.grew
        )

    def stale(self, answer):
        """실수 36이 설명하는지. 모델이 답의 앞부분을 제대로 받지 못했습니다."""
        if self.table is oracles.places or answer.path == self.tempting[:-1]:
            return False  # 역사를 보지 않는 표이거나, 실수 35의 답입니다
        if answer.only_last_tokens() or answer.presented(self.expected[:-1], True):
            return False
        return not answer.presented(answer.path, False) or answer.misplaced(self.table)

    def unplaced(self, answer):
        """실수 19가 설명하는지. 위치나 역사를 보는 표에서만 드러납니다."""
        if self.table is oracles.places and answer.stuck_at_zero():
            return True
        watches = self.table in oracles.WATCHING
        return watches and answer.only_last_tokens()


class Decoding(Kind):
    """그리디와 빔 탐색이 함께 쓰는 것."""

    first_style = True
    shapes = {
        "next_logits": "함수, 정수 (batch, n) → 로짓 (batch, vocab)",
        "bos": "정수",
        "eos": "정수",
        "max_length": "정수, 만들 토큰의 한도",
    }
    returns = "번호의 목록이나 배열"

    def styles(self):
        """로짓의 꼴. 처음에는 후보가 준 번호의 꼴을 따릅니다."""
        return (None, *(name for name in ("tensorflow", "torch") if loaded(name)))

    def arrange(self, case, style, mask_true):
        case.oracle[:] = [oracles.Oracle(case.table, style)]
        return *case.oracle, *case.inputs.values()

    def options(self, names, case):
        alphas = ("length_penalty", "alpha", "len_penalty", "penalty", "lp_alpha")
        return {name: 0.6 for name in names if name.lower() in alphas}

    def read(self, raw, case):
        tokens = tokens_of(raw)
        if tokens is None:
            raise Misfit("번호의 목록이나 배열을 돌려주어야 합니다.")
        return np.array(tokens, int)

    def reference(self, case, switches=frozenset(), reading=None):
        return list(case.expected)

    def agrees(self, outcome, case, switches, reading):
        if outcome.misfit:
            return False
        answer = case.answer(outcome.value)  # 끝나지 않는 답에서 예외가 나기도 합니다
        if outcome.value is not None and case.right(answer):
            return True
        signs = {35: case.shorter, 36: case.stale, 19: case.unplaced}
        return any(signs[int(switch)](answer) for switch in switches)

    def compared(self, case, outcome, reading=None, switches=frozenset()):
        if outcome.value is None:
            return super().compared(case, outcome, reading)
        answer = case.answer(outcome.value)
        inputs = {**case.inputs, "모델이 받은 것": answer.calls()}
        if case.table in (oracles.LENGTHS, oracles.GROWTH):
            inputs = {**case.inputs, **_sums(case.table)}
        return Example(inputs, list(case.expected), answer.tokens)

    def properties(self, trial):
        for case, outcome in trial.groups[0].pairs():
            answer = case.answer(outcome.value)
            if not case.right(answer):
                sentence = case.otherwise
                if answer.grew:
                    sentence = "eos 뒤에도 토큰이 이어집니다."
                yield sentence, self.compared(case, outcome)


class Greedy(Decoding):
    """`greedy(next_logits, bos, eos, max_length)`는 답의 번호들을 냅니다."""

    name = "greedy"
    title = "그리디 디코딩"
    arguments = (names.MODEL, names.BEGIN, names.END, names.LIMIT)
    switches = ("19", "36")

    def cases(self, rng, size):
        yield _search(
            oracles.WORDS,
            oracles.GREEDILY,
            "점수가 가장 높은 토큰을 고르지 않습니다.",
        )
        yield Endless(
            {"bos": BOS, "eos": EOS, "max_length": 6},
            table=oracles.endless,
            expected=(*oracles.ENDLESS, EOS),
            otherwise="max_length에서 멈추지 않거나, 그 전에 멈춥니다.",
        )
        yield _places()
        yield _history(oracles.trail, oracles.TRAIL)
        yield _history(oracles.echo, oracles.ECHO)


class BeamSearch(Decoding):
    """`beam_search(next_logits, bos, eos, max_length, beam_size)`."""

    name = "beam_search"
    title = "빔 탐색"
    arguments = (names.MODEL, names.BEGIN, names.END, names.LIMIT, names.BEAMS)
    switches = ("19", "35", "36")
    shapes = Decoding.shapes | {"beam_size": "정수"}

    def cases(self, rng, size):
        worse = "점수가 가장 높은 답이 아닙니다."
        four = {"beam_size": 4}
        yield _search(
            oracles.FORK, oracles.FORKED, "합이 가장 큰 답을 찾지 못합니다.", **four
        )
        for table, expected, wrong in (
            (oracles.LENGTHS, oracles.LONG, oracles.SHORT),
            (oracles.GROWTH, oracles.SHORT, oracles.LONG),
        ):
            yield _search(table, expected, worse, wrong, **four)
        yield _places(**four)
        yield _history(oracles.history, oracles.HISTORY, beam_size=2)


class Endless(Search):
    """끝나지 않는 모델. 한도는 bos나 eos를 세기도 하고 세지 않기도 합니다."""

    def right(self, answer):
        count, limit = len(answer.path), self.inputs["max_length"]
        fits = limit - 2 <= count <= limit and not answer.grew
        return fits and answer.path == self.expected[:count]


def _search(table, expected, otherwise, tempting=(), **options):
    return Search(
        {"bos": BOS, "eos": EOS, "max_length": LIMIT, **options},
        table=table,
        expected=expected,
        otherwise=otherwise,
        tempting=tempting,
    )


def _places(**options):
    return _search(
        oracles.places, oracles.PLACES, "토큰의 위치가 어긋납니다.", **options
    )


def _history(table, expected, **options):
    wrong = "모델에 준 앞부분이 답의 앞부분과 다릅니다."
    return _search(table, expected, wrong, **options)


def _sums(table):
    """두 답의 합을 적습니다. 어느 쪽을 골라야 하는지 손으로 볼 수 있습니다."""
    return {
        f"답 {list(answer)}의 로그 확률의 합": round(oracles.total(table, answer), 3)
        for answer in (oracles.SHORT, oracles.LONG)
    }
