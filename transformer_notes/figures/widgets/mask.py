"""마스크: 길이와 종류를 바꾸며 누가 누구를 보는지 봅니다."""

import numpy as np

from transformer_notes.figures.widgets.markup import (
    Widget,
    flag,
    options,
    slider,
    text,
    token_button,
)
from transformer_notes.masking import look_ahead_mask, padding_mask

#: 종류마다 (이름, 쿼리의 문장, 키의 문장).
KINDS = {
    "padding": ("패딩 (인코더)", "source", "source"),
    "look_ahead": ("룩어헤드", "target", "target"),
    "both": ("둘 다 (디코더)", "target", "target"),
    "cross": ("크로스", "target", "source"),
}
PAD = "<pad>"


class MaskBuilder(Widget):
    """문장의 길이와 마스크의 종류를 바꾸며 누가 누구를 보는지 봅니다 (논문 3.2.3절).

    마스크는 모두 `masking`의 함수가 만든 것입니다. 행이 쿼리, 열이 키이고 1인 자리를
    봅니다. 길이를 줄이면 뒤의 토큰이 패딩이 됩니다.

    Args:
        source_tokens: 원문의 토큰, 문자열의 목록. 1개에서 8개까지입니다.
        target_tokens: 답의 토큰. `<bos>`로 시작하는 디코더의 입력입니다.
        kind: 처음의 종류. `KINDS` 가운데 하나.

    Examples:
        >>> widget = MaskBuilder(["나는", "읽었다"], ["<bos>", "I", "read"])
        >>> widget.data()["masks"]["padding"]
        [['10', '10'], ['11', '11']]
        >>> widget.data()["masks"]["look_ahead"][-1]
        ['100', '110', '111']
    """

    name, label = "mask", "마스크 만들기"

    def __init__(self, source_tokens, target_tokens, kind="both"):
        self.tokens = {"source": list(source_tokens), "target": list(target_tokens)}
        self.kind = kind

    def data(self):
        return {
            "kinds": [{"query": q, "key": k} for _, q, k in KINDS.values()],
            "names": list(KINDS),
            "tokens": self.tokens,
            "masks": {kind: self._masks(kind) for kind in KINDS},
            "pad": PAD,
        }

    def _masks(self, kind):
        """키의 진짜 토큰이 하나일 때부터의 마스크. 줄마다 0과 1의 글입니다."""
        _, query, key = KINDS[kind]
        rows, columns = len(self.tokens[query]), len(self.tokens[key])
        found = []
        for real in range(1, columns + 1):
            padding = padding_mask([[1] * real + [0] * (columns - real)])
            future = look_ahead_mask(columns)
            mask = {"look_ahead": future, "both": padding & future}.get(kind, padding)
            mask = np.broadcast_to(mask.numpy()[0, 0], (rows, columns))
            found.append(
                ["".join("01"[see] for see in row) for row in mask.astype(int)]
            )
        return found

    def still(self):
        _, query, key = KINDS[self.kind]
        queries, keys = self.tokens[query], self.tokens[key]
        source, target = map(len, self.tokens.values())
        mask = self._masks(self.kind)[-1]
        # 종류를 바꾸면 길어질 수 있으므로, 표는 가장 긴 것에 맞추고 남는 칸은 가립니다.
        places = range(max(source, target))
        chosen = len(queries) // 2
        seen = [token for token, see in zip(keys, mask[chosen]) if see == "1"]

        def line(row):
            cells = "".join(cell(_at(_at(mask, row), place), place) for place in places)
            button = token_button(_at(queries, row), row == chosen)
            kind = ' class="tn-chosen"' if row == chosen else ""
            hidden = flag("hidden", row >= len(queries))
            return f'<tr{kind}{hidden}><th scope="row">{button}</th>{cells}</tr>'

        def cell(see, place):
            kind = "tn-see" if see == "1" else "tn-hidden"
            return f'<td class="{kind}"{flag("hidden", place >= len(keys))}>{see}</td>'

        return {
            "kinds": options(
                "kind",
                "마스크의 종류",
                [words for words, *_ in KINDS.values()],
                [list(KINDS).index(self.kind)],
            ),
            "sliders": slider("source", "원문의 진짜 토큰", 1, source, source)
            + slider("target", "답의 진짜 토큰", 1, target, target),
            "heads": "".join(
                f'<th scope="col"{flag("hidden", place >= len(keys))}>'
                f"{text(_at(keys, place))}</th>"
                for place in places
            ),
            "rows": "".join(map(line, places)),
            "query": text(queries[chosen]),
            "count": len(seen),
            "seen": text(" · ".join(seen)),
        }


def _at(items, place):
    return items[place] if place < len(items) else ""
