"""바이트 페어 인코딩: 자주 이웃한 쌍을 한 번에 하나씩 합칩니다."""

from collections import Counter
from itertools import pairwise

from transformer_notes.figures.widgets.markup import Widget, slider, text
from transformer_notes.tokenization import SPECIAL_TOKENS, Tokenizer


class MergeExplorer(Widget):
    """합친 횟수를 옮기며 어절이 토큰으로 묶이는 것을 봅니다.

    단계마다의 어휘 집합과 토큰은 `tokenization.Tokenizer`가 그만큼만 배워 나눈
    것입니다. ▁는 앞에 붙인 공백이고, 방금 합친 토큰에 색이 있습니다.

    Args:
        counts: 어절마다 말뭉치에 나온 횟수, 1 이상의 정수의 사전.
        unseen: 배우지 않고 나누기만 할 어절의 목록. 글자는 `counts`에 있어야 합니다.
        merges: 합칠 횟수, 1 이상의 정수. 합칠 쌍이 그만큼 있어야 합니다.
        merged: 처음에 보일 합친 횟수, 0부터 merges까지의 정수.

    Raises:
        ValueError: 그릴 때, 합칠 쌍보다 큰 `merges`.

    Examples:
        >>> widget = MergeExplorer({"책을": 2, "책은": 1}, ["책"], merges=2)
        >>> [step["rows"][0] for step in widget.data()["steps"]]
        [['▁', '책', '을'], ['▁책', '을'], ['▁책을']]
    """

    name, label = "merge", "바이트 페어 인코딩"

    def __init__(self, counts, unseen=(), merges=6, merged=0):
        self.counts, self.merges, self.merged = dict(counts), merges, merged
        self.eojeols = [*counts, *unseen]

    def data(self):
        letters = len(SPECIAL_TOKENS) + len({" ", *"".join(self.counts)})
        steps = []
        for merged in range(self.merges + 1):
            steps.append(self._step(letters + merged, steps))
        return {"steps": steps}

    def _step(self, size, before):
        """어휘 집합이 `size`개일 때의 토큰과, 마지막에 합친 것."""
        corpus = [eojeol for eojeol, n in self.counts.items() for _ in range(n)]
        tokenizer = Tokenizer.train(corpus, vocab_size=size)
        if len(tokenizer.vocabulary) < size:
            raise ValueError(f"merges: {self.merges}번 합칠 쌍이 없습니다")
        split = [tokenizer.tokenize(eojeol) for eojeol in self.eojeols]
        rows = [[token.replace(" ", "▁") for token in tokens] for tokens in split]
        made = tokenizer.vocabulary[-1].replace(" ", "▁") if before else ""
        return {
            "rows": rows,
            "made": made,
            "vocabulary": size,
            "length": sum(n * len(row) for n, row in zip(self.counts.values(), rows)),
            "last": self._said(before[-1]["rows"], made) if before else "글자뿐입니다.",
        }

    def _said(self, rows, made):
        """`made`가 된 쌍과, 합치기 전의 말뭉치에서 그 쌍을 센 수."""
        pairs = Counter()
        for count, row in zip(self.counts.values(), rows):
            for pair in pairwise(row):
                pairs[pair] += count * ("".join(pair) == made)
        ((left, right), count), *_ = pairs.most_common(1)
        return f"방금 합친 쌍은 {left}·{right}, {count}번 이웃했습니다."

    def still(self):
        step = self.data()["steps"][self.merged]

        def line(eojeol, tokens):
            count = self.counts.get(eojeol)
            times = f" × {count}" if count else " (처음 봄)"
            pieces = "".join(
                f'<span class="tn-token{" tn-see" * (token == step["made"])}">'
                f"{text(token)}</span>"
                for token in tokens
            )
            named = f'<th scope="row">{text(eojeol)}{times}</th>'
            return f"<tr>{named}<td>{pieces}</td></tr>"

        return step | {
            "sliders": slider("merged", "합친 횟수", 0, self.merges, self.merged),
            "rows": "".join(map(line, self.eojeols, step["rows"])),
        }
