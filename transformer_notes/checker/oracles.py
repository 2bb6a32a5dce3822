"""디코딩을 시험하는 작은 언어 모델들: 답을 미리 아는 확률표입니다."""

import numpy as np

from transformer_notes.checker.tensors import like, to_backend

BOS, EOS = 1, 2
VOCAB_SIZE = 24
#: 어느 답에도 들지 않는 토큰들. 남는 확률을 나누어 가집니다.
JUNK = range(12, VOCAB_SIZE)
_TINY = 1e-9


class Oracle:
    """다음 토큰의 로짓을 주는 모델. 받은 것을 모두 적어 둡니다.

    앞부분을 통째로 받거나(`oracle(ids)`) 캐시와 함께 한 토큰씩 받습니다
    (`oracle.start()`, `oracle.step(...)`). 두 길의 로짓은 같습니다.

    Args:
        table: `table(tokens, position)`. 지금까지의 토큰들과 마지막 토큰의 위치에서
            `{다음 토큰: 확률}`을 돌려주는 함수. 남는 확률은 `JUNK`가 나눕니다.
        form: 로짓의 꼴. None이면 받은 번호의 꼴을 따릅니다. `"tensorflow"`나
            `"torch"`이면 언제나 그 텐서입니다.
    """

    def __init__(self, table, form=None):
        self.table = table
        self.form = form
        #: 받은 줄마다 (토큰들, 위치들, 캐시를 썼는지).
        self.seen = []

    def __call__(self, ids):
        """앞부분 ids에 이어질 토큰의 로짓. 정수 (batch, n) -> 실수 (batch, vocab)."""
        rows = _numbers(ids)
        logits = [self._row(row, range(len(row)), False) for row in np.atleast_2d(rows)]
        return self._like(ids, np.array(logits, np.float32)[() if rows.ndim > 1 else 0])

    def start(self, batch=1):
        """빈 캐시. (batch, 0, 2): 줄마다 지금까지의 토큰과 위치입니다."""
        return np.zeros((batch, 0, 2), np.int64)

    def step(self, ids, position, cache):
        """방금 고른 토큰 ids (batch, 1)을 position에 놓습니다. `(로짓, 새 캐시)`."""
        rows = _numbers(ids).reshape(-1, 1)
        places = np.broadcast_to(_numbers(position).reshape(-1, 1), rows.shape)
        new = np.stack([rows, places], axis=-1)  # (batch, 1, 2)
        cache = np.concatenate([_numbers(cache), new], axis=1)
        logits = [self._row(row[:, 0], row[:, 1], True) for row in cache]
        logits = np.array(logits, np.float32)
        return self._like(ids, logits), self._like(ids, cache)

    def _row(self, tokens, positions, cached):
        tokens = tuple(int(token) for token in tokens)
        positions = tuple(int(position) for position in positions)
        self.seen.append((tokens, positions, cached))
        # 로짓은 로그 확률에 아무 수나 더한 것입니다. 줄마다 다른 수를 더합니다.
        return log_probabilities(self.table(tokens, positions[-1])) + len(tokens) - 4

    def _like(self, given, array):
        return to_backend(array, self.form) if self.form else like(array, given)


def log_probabilities(table):
    """확률표를 어휘 집합 전체의 로그 확률로 폅니다. float64 (vocab,)."""
    p = np.full(VOCAB_SIZE, _TINY)
    left = 1 - sum(table.values())
    if left > 0.001:  # 똑같은 확률이 없도록 조금씩 다르게 나눕니다
        shares = np.linspace(1.02, 0.98, len(JUNK))
        p[list(JUNK)] = left * shares / shares.sum()
    for token, probability in table.items():
        p[token] = probability
    return np.log(p / p.sum())


def total(table, answer):
    """답 하나의 로그 확률의 합."""
    tokens, result = (BOS,), 0.0
    for token in answer:
        result += log_probabilities(table(tokens, len(tokens) - 1))[token]
        tokens += (token,)
    return result


def _numbers(value):
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return np.asarray(value).astype(np.int64)


# ---------------------------------------------------------------- 길이: 실수 35


def chain(links):
    """마지막 토큰만 보는 표. 위치도 역사도 상관없습니다."""
    return lambda tokens, position: links.get(tokens[-1], {})


SHORT, LONG = (3, EOS), (4, 5, 6, 7, 8, 9, EOS)
_SURE = {token: {token + 1: 0.97} for token in range(4, 9)}
#: 합은 짧은 답이 크고, 길이로 나누면 긴 답이 큽니다.
LENGTHS = chain({BOS: {3: 0.58, 4: 0.4}, 3: {EOS: 0.25}, 9: {EOS: 0.25}, **_SURE})
#: 어떻게 견주어도 짧은 답이 낫습니다. 끝난 뒤에도 이으면 긴 답에 집니다.
GROWTH = chain({BOS: {3: 0.8, 4: 0.05}, 3: {EOS: 0.95}, 9: {EOS: 0.95}, **_SURE})
#: 그리디가 갈 길은 3, 5, eos입니다. eos 뒤에는 아무 토큰이나 나옵니다.
WORDS = chain({BOS: {3: 0.5, 4: 0.4}, 3: {5: 0.6}, 5: {EOS: 0.5, 6: 0.3}})
#: 그리디는 3으로 들어가고, 빔 2이면 더 나은 4를 찾습니다. 답의 길이는 모두 같습니다.
FORK = chain(
    {
        BOS: {3: 0.55, 4: 0.4},
        3: {5: 0.3, 6: 0.28, 7: 0.27},
        4: {8: 0.97},
        **{token: {EOS: 0.97} for token in (5, 6, 7, 8)},
        EOS: {EOS: 1.0},
    }
)
FORKED, GREEDILY = (4, 8, EOS), (3, 5, EOS)


# ---------------------------------------------------------------- 위치: 실수 19

PLACES = (5, 8, 3, 10, 6, EOS)


def places(tokens, position):
    """위치만 보는 표. 위치 p의 다음은 언제나 `PLACES[p]`가 가장 그럴듯합니다."""
    if EOS in tokens or position + 1 >= len(PLACES):
        return {EOS: 1.0}
    return {PLACES[position]: 0.7, 11: 0.2}


# ---------------------------------------------------------------- 역사: 실수 36

HISTORY = (4, 6, 8, EOS)
_AFTER = {
    (): {3: 0.55, 4: 0.45},
    (3,): {6: 0.2, 7: 0.19, 5: 0.18},
    (4,): {6: 0.55, 7: 0.45},
    (4, 6): {8: 0.98},
    (4, 7): {9: 0.98},
}


def history(tokens, position):
    """지나온 토큰을 모두 보는 표. 빔 2이면 둘째 스텝의 두 빔이 모두 4의 자식입니다."""
    if EOS in tokens or len(tokens) >= 4:
        return {EOS: 1.0}
    return _AFTER.get(tokens[1:], {}) if tokens[0] == BOS else {10: 0.9}


def trail(tokens, position):
    """그리디의 역사 표. 다음 토큰은 지나온 토큰의 합이 정합니다."""
    if EOS in tokens or len(tokens) >= 6:
        return {EOS: 1.0}
    return {3 + (sum(tokens) + 3 * len(tokens)) % 9: 0.9}


def echo(tokens, position):
    """같은 토큰 다음에 다른 토큰이 오는 표. 토큰마다 외워 두면 어긋납니다."""
    if EOS in tokens or len(tokens) >= 5:
        return {EOS: 1.0}
    return {ECHO[len(tokens) - 1]: 0.9}


ECHO = (5, 7, 5, 9, EOS)
TRAIL = (7, 8, 10, 5, 4, EOS)


def endless(tokens, position):
    """끝나지 않는 표. 지나온 토큰의 수도 위치도 보지 않습니다."""
    return {3 + (tokens[-1] - 2) % 5 if tokens[-1] != BOS else 3: 0.9}


ENDLESS = (3, 4, 5, 6, 7, 3)


#: 위치나 역사를 보는 표.
WATCHING = (places, history, trail, echo)
