"""어텐션: 토큰 하나가 어느 토큰을 얼마나 읽는지 봅니다."""

import numpy as np

from transformer_notes.figures.widgets.markup import (
    Widget,
    flag,
    options,
    text,
    token_button,
)

KINDS = {"encoder": "인코더", "decoder": "디코더", "cross": "크로스"}


class AttentionExplorer(Widget):
    """토큰을 가리키면 그 토큰이 읽는 토큰으로 선을 긋습니다 (논문 3.2.3절).

    종류, 층, 헤드를 고릅니다. 헤드를 여럿 고르면 그 평균입니다. 선의 굵기와 키 옆의
    수가 가중치입니다.

    Args:
        weights: 종류마다의 가중치, `{"encoder": ..., "decoder": ..., "cross": ...}`의
            일부나 전부. 저마다 실수, (num_layers, num_heads, length_q, length_k)이고
            행을 더하면 1(볼 키가 없으면 0)입니다.
        query_tokens: 답의 토큰. 디코더의 양쪽과 크로스의 쿼리입니다.
        key_tokens: 원문의 토큰. 인코더의 양쪽과 크로스의 키입니다.
        kind: 처음의 종류. None이면 `weights`의 마지막 것입니다.
        token: 처음에 고를 쿼리의 번호.

    Raises:
        ValueError: 토큰의 수와 맞지 않는 모양, 종류마다 다른 층이나 헤드의 수, 0과 1
            사이가 아닌 가중치.

    Examples:
        >>> cross = np.full((1, 2, 1, 2), 0.5)
        >>> AttentionExplorer({"cross": cross}, ["I"], ["나는", "읽었다"])
        <AttentionExplorer>
    """

    name, label = "attention", "어텐션 살펴보기"

    def __init__(self, weights, query_tokens, key_tokens, kind=None, token=0):
        source, target = map(list, (key_tokens, query_tokens))
        self.tokens = {
            "encoder": (source, source),
            "decoder": (target, target),
            "cross": (target, source),
        }
        self.weights = {
            name: _weights(name, value, *map(len, self.tokens[name]))
            for name, value in weights.items()
        }
        shapes = {value.shape[:2] for value in self.weights.values()}
        if len(shapes) > 1:
            raise ValueError(
                "weights의 종류마다 층과 헤드의 수가 같아야 합니다. 받은 것: "
                f"{', '.join(map(str, sorted(shapes)))}. 한 모델의 가중치를 "
                "넘겨 주세요."
            )
        self.layers, self.heads = shapes.pop()
        self.kind = kind or list(self.weights)[-1]
        self.token = token

    def data(self):
        weights = {name: value.tolist() for name, value in self.weights.items()}
        return {"weights": weights, "tokens": self.tokens}

    def still(self):
        # 스크립트와 같은 차례로 셈합니다. 딱 절반인 0.125 따위만 끝자리가 다릅니다.
        row = self.weights[self.kind][-1, :, self.token].sum(axis=0)
        row = row / self.heads / 1000
        queries, keys = self.tokens[self.kind]
        kinds, layers = list(self.weights), range(1, self.layers + 1)
        heads = range(1, self.heads + 1)
        chosen = [kinds.index(self.kind)], [self.layers - 1], range(self.heads)
        names = [KINDS[name] for name in kinds]
        return {
            "choices": _choice("kind", "종류", names, chosen[0])
            + _choice("layer", "층", layers, chosen[1])
            + _choice("head", "헤드 (여럿이면 평균)", heads, chosen[2], "checkbox"),
            "panels": "".join(self._panel(name, row) for name in kinds),
            "query": text(queries[self.token]),
            "read": text(_read(row, keys)),
        }

    def _panel(self, name, row):
        queries, keys = self.tokens[name]
        shown = name == self.kind
        chosen = self.token if shown else 0
        row = row if shown else np.zeros(len(keys))
        rows = max(len(queries), len(keys))
        buttons = "".join(
            f"<li>{token_button(token, place == chosen)}</li>"
            for place, token in enumerate(queries)
        )
        lines = "".join(
            f'<line x1="0" y1="{chosen + 0.5}" x2="1" y2="{place + 0.5}" '
            f'style="--weight:{weight:.3f}"/>'
            for place, weight in enumerate(row)
        )
        read = "".join(
            f'<li style="--weight:{weight:.3f}">{text(token)}'
            f"<span>{weight:.2f}</span></li>"
            for token, weight in zip(keys, row)
        )
        return (
            f'<div class="tn-attention" data-kind="{name}"{flag("hidden", not shown)}>'
            f'<ol aria-label="쿼리">{buttons}</ol>'
            f'<svg viewBox="0 0 1 {rows}" preserveAspectRatio="none" '
            f'style="--rows:{rows}" aria-hidden="true">{lines}</svg>'
            f'<ol aria-label="키">{read}</ol></div>'
        )


def _choice(name, legend, names, chosen, kind="radio"):
    """고를 것이 하나뿐이면 보이지 않습니다."""
    alone = flag("hidden", len(names) == 1)
    return f"<div{alone}>{options(name, legend, names, chosen, kind)}</div>"


def _weights(name, value, length_q, length_k):
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 4 or array.shape[2:] != (length_q, length_k) or 0 in array.shape:
        raise ValueError(
            f"weights의 {name!r}에는 모양 (num_layers, num_heads, {length_q}, "
            f"{length_k})가 필요합니다. 받은 모양: {array.shape}. 배치의 축은 빼고, "
            "토큰의 수를 맞추어 주세요."
        )
    if not ((array >= 0) & (array <= 1.001)).all():
        raise ValueError(
            f"weights의 {name!r}에는 0과 1 사이의 수가 필요합니다. 받은 것: "
            f"{array.min():.3g}에서 {array.max():.3g}까지. 소프트맥스를 지난 값을 "
            "넘겨 주세요."
        )
    return (1000 * array).round().astype(int)  # 천분율: 보이는 것은 두 자리입니다


def _read(row, keys):
    """가장 많이 읽는 셋."""
    first = np.argsort(-row, kind="stable")[:3]
    return " · ".join(f"{keys[place]} {row[place]:.2f}" for place in first)
