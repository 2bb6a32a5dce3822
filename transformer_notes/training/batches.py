"""길이가 비슷한 문장끼리 묶은 배치 (논문 5.1절)."""

import zlib

import numpy as np

from transformer_notes.tokenization import pad_rows


class Batches:
    """길이가 비슷한 문장끼리, 토큰의 수가 한도를 넘지 않게 묶은 배치입니다 (5.1절).

    에폭마다 모든 짝이 꼭 한 번 나옵니다. 순서는 `(seed, 에폭)`이 정하므로, 스텝의
    번호만 알면 어느 배치든 바로 만듭니다. 한 에폭의 배치 수는 언제나 같습니다.

    Args:
        pairs: `(source_ids, target_ids)`의 목록. 정수이고 길이는 저마다 달라도 됩니다.
            target_ids는 `<bos>`로 시작해 `<eos>`로 끝납니다. 뒤에 붙은 패딩은 뗍니다.
        tokens: 배치 하나의 한도. 패딩까지 세어, 입력도 정답도 이 수를 넘지 않습니다.
        seed: 섞는 시드, 0 이상의 정수.
        pad_id: 패딩 토큰의 번호.

    Raises:
        TypeError: 정수가 아닌 번호.
        ValueError: 빈 목록, 빈 문장, 한도보다 긴 문장.

    Examples:
        >>> pairs = [([5, 6], [2, 7, 3]), ([8], [2, 9, 3]), ([5, 6, 7, 8], [2, 4, 3])]
        >>> data = Batches([*pairs, ([6, 9, 0], [2, 5, 3])], tokens=4)
        >>> len(data)
        3
        >>> (source_ids, target_ids), labels = data.at(step=2)
        >>> print(source_ids)  # 길이가 비슷한 둘
        [[8 0]
         [5 6]]
        >>> print(target_ids[0], labels[0])  # 정답은 디코더의 입력을 한 칸 민 것
        [2 9] [9 3]
        >>> len(Batches([([5], [2, 3])], tokens=1))  # 빈 답은 됩니다
        1
        >>> [[x.shape for (x, _), _ in e] for e in (data.epoch(), data.epoch(1))]
        [[(1, 4), (1, 2), (2, 2)], [(1, 2), (1, 4), (2, 2)]]
        >>> Batches([([5.0], [2, 3])], tokens=1)
        Traceback (most recent call last):
            ...
        TypeError: ...정수 토큰 번호의 1차원 배열이 필요합니다. 받은 것: float64 (1,)...
        >>> Batches([([], [2, 3])], tokens=1)
        Traceback (most recent call last):
            ...
        ValueError: ...받은 것: 0번째의 0개와 2개...
        >>> Batches([([5, 6], [2, 3])], tokens=1)
        Traceback (most recent call last):
            ...
        ValueError: ...받은 것: 1, 0번째 짝의 길이 2...
        >>> Batches([], tokens=1)
        Traceback (most recent call last):
            ...
        ValueError: ...받은 것: 빈 목록...
    """

    def __init__(self, pairs, tokens, seed=0, pad_id=0):
        self.tokens = tokens
        self.seed = seed
        self.pad_id = pad_id
        pairs = [(_row(s, self.pad_id), _row(t, self.pad_id)) for s, t in pairs]
        if not pairs:
            raise ValueError(
                "pairs에는 짝이 하나 이상 필요합니다. 받은 것: 빈 목록. 데이터를 "
                "제대로 읽었는지, 모두 걸러 내지 않았는지 살펴보세요."
            )
        self._sources, self._targets = zip(*pairs)
        # 디코더의 입력은 정답보다 하나 짧습니다.
        self._lengths = np.array([(len(s), len(t) - 1) for s, t in pairs])
        self._check_lengths()
        self._cuts = self._cut(self._lengths[self._by_length(np.arange(len(pairs)))])
        self._order = None, None  # 마지막으로 섞은 에폭과 그 순서

    def __len__(self):
        return len(self._cuts) + 1

    def at(self, step):
        """step번째 스텝의 배치입니다. 에폭이 바뀌면 새로 섞습니다.

        Args:
            step: 학습의 처음부터 센 스텝, 0 이상의 정수.

        Returns:
            `((source_ids, target_ids), labels)`. int32, (batch, 가장 긴 길이)입니다.
            labels는 target_ids를 한 칸 왼쪽으로 민 것입니다.
        """
        epoch, place = divmod(step, len(self))
        if self._order[0] != epoch:
            self._order = epoch, self.shuffle(epoch)
        rows = self._order[1][place]
        sources = pad_rows([self._sources[row] for row in rows], self.pad_id)
        targets = pad_rows([self._targets[row] for row in rows], self.pad_id)
        return (sources, targets[:, :-1]), targets[:, 1:]

    def epoch(self, number=0):
        """한 에폭의 배치를 차례로 내놓습니다.

        `model.fit(data.epoch(), steps_per_epoch=len(data), shuffle=False)`에도
        그대로 들어갑니다.
        """
        for step in range(number * len(self), (number + 1) * len(self)):
            yield self.at(step)

    def shuffle(self, epoch):
        """한 에폭의 짝을 배치로 묶고 배치의 순서를 섞습니다. `(seed, epoch)`만 봅니다.

        Args:
            epoch: 에폭의 번호, 0 이상의 정수.

        Returns:
            배치마다 그 배치에 담을 짝의 번호. 정수 배열 (batch,)의 목록입니다.
        """
        rng = np.random.default_rng([self.seed, epoch])
        rows = self._by_length(rng.permutation(len(self._lengths)))
        groups = np.split(rows, self._cuts)
        return [groups[place] for place in rng.permutation(len(groups))]

    def fingerprint(self):
        """데이터와 묶는 방법을 간추린 수. 다른 데이터로 이어 가는 일을 막습니다."""
        total = zlib.crc32(f"{self.tokens} {self.seed} {self.pad_id}".encode())
        for row in (*self._sources, *self._targets):
            total = zlib.crc32(row.tobytes() + b"|", total)
        return total

    def _check_lengths(self):
        for place, (source, target) in enumerate(self._lengths):
            if source < 1 or target < 1:
                raise ValueError(
                    "짝마다 입력에는 토큰 1개, 정답에는 <bos>와 <eos>까지 2개가 "
                    f"있어야 합니다. 받은 것: {place}번째의 {source}개와 {target + 1}"
                    "개. 빈 줄을 걸러 주세요."
                )
            if max(source, target) > self.tokens:
                raise ValueError(
                    f"tokens에는 가장 긴 문장의 길이 이상이 필요합니다. 받은 것: "
                    f"{self.tokens}, {place}번째 짝의 길이 {max(source, target)}. "
                    "긴 문장을 거르거나 tokens를 늘려 주세요."
                )

    def _by_length(self, rows):
        """길이 차례로 늘어놓습니다. 길이가 같은 것끼리는 받은 차례를 지킵니다."""
        source, target = self._lengths[rows].T
        return rows[np.lexsort((source, target, np.maximum(source, target)))]

    def _cut(self, lengths):
        """길이 차례로 놓인 짝을 한도 안에서 앞에서부터 자를 자리입니다."""
        cuts, start = [], 0
        for place, longest in enumerate(lengths.max(axis=1)):
            if (place + 1 - start) * longest > self.tokens:
                cuts.append(place)
                start = place
        return cuts


def _row(ids, pad_id):
    row = np.asarray(ids)
    if row.ndim != 1 or not (np.issubdtype(row.dtype, np.integer) or row.size == 0):
        raise TypeError(
            "pairs에는 정수 토큰 번호의 1차원 배열이 필요합니다. 받은 것: "
            f"{row.dtype} {row.shape}. Tokenizer.encode로 번호를 만들어 주세요."
        )
    real = np.trim_zeros(row != pad_id, "b")  # 뒤에 붙은 패딩을 뗍니다
    return row[: len(real)].astype(np.int32)
