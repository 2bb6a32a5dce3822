"""패딩 마스크와 룩어헤드 마스크를 봅니다."""

import numpy as np

from transformer_notes.checker import names
from transformer_notes.checker.kinds import Case, Kind, Misfit, in_shape, to_array


class _Mask(Kind):
    """마스크를 만드는 것. 견줄 때에는 1이 '봄'입니다."""

    gives_mask = True
    #: 돌려줄 마스크의 축의 수.
    axes = 2

    def polar(self, visible, switches):
        """볼 자리를 1로 적습니다. 2는 뒤집습니다."""
        return (np.asarray(visible) != ("2" in switches)).astype(int)

    def remark(self, trial, reading):
        shape = tuple(np.shape(trial.groups[0].outcomes[0].raw))
        if len(shape) == self.axes:
            return ""
        return f"모양은 {shape}로 {self.returns}와 다르지만 같은 것을 가립니다."

    def zero_one(self, raw):
        array = to_array(raw)
        if not np.isin(array, (0, 1)).all():
            raise Misfit("마스크의 값은 참과 거짓, 또는 0과 1이어야 합니다.")
        return array.astype(int)


class PaddingMask(_Mask):
    """`padding_mask(token_ids)`는 진짜 토큰인 키만 보게 합니다. 패딩의 번호는 0입니다.

    모양은 (batch, 1, 1, length), (batch, 1, length), (batch, length) 가운데 하나입니다.
    쿼리마다 적은 (batch, 1, length, length)이면 진짜 토큰의 행만 봅니다.
    """

    name = "padding_mask"
    title = "패딩 마스크"
    axes = 4
    arguments = (names.TOKEN_IDS,)
    shapes = {"token_ids": "정수, (batch, length), 패딩은 0"}
    returns = "참과 거짓, (batch, 1, 1, length)"
    extras = dict.fromkeys(names.PAD_ID, 0)
    switches = ("2", "5")

    def cases(self, rng, size):
        for ids in ([[5, 0]], [[5, 1, 0]], [[5, 7, 2], [3, 0, 0]]):
            yield Case({"token_ids": np.array(ids)}, batch=len(ids))
        ids = rng.integers(1, 50, (3, 5))
        ids[0, 2:], ids[2, 4:] = 0, 0
        yield Case({"token_ids": ids}, batch=3)

    def read(self, raw, case):
        mask, (batch, length) = self.zero_one(raw), case.inputs["token_ids"].shape
        shape = mask.shape
        if mask.ndim == 4 and shape[1] == 1:
            mask = mask[:, 0]
        if mask.shape == (batch, length):
            mask = mask[:, np.newaxis, :]
        sides = {(batch, 1, length), (batch, length, 1), (batch, length, length)}
        if mask.shape not in sides:
            raise Misfit(
                f"모양은 {(batch, 1, 1, length)}처럼 문장마다 키의 축에 놓여야 "
                f"합니다. 나온 모양: {shape}"
            )
        return mask

    def reference(self, case, switches=frozenset(), reading=None):
        real = case.inputs["token_ids"] != 0
        side = np.newaxis
        real = real[:, :, side] if "5" in switches else real[:, side, :]
        return self.polar(real, switches)

    def agrees(self, outcome, case, switches, reading):
        if outcome.value is None:
            return False
        batch, length = case.inputs["token_ids"].shape
        shape = (batch, length, length)
        same = np.broadcast_to(outcome.value, shape) == np.broadcast_to(
            self.reference(case, switches), shape
        )
        # 패딩의 행은 아무도 읽지 않으므로, 행을 가리는 실수를 찾을 때만 봅니다
        rows = case.inputs["token_ids"] != 0
        return bool(same.all() if "5" in switches else same[rows].all())


class LookAheadMask(_Mask):
    """`look_ahead_mask(length)`는 자기 자신과 앞선 자리만 보게 합니다.

    모양은 (length, length)이고 앞에 크기 1의 축이 있어도 됩니다.
    """

    name = "look_ahead_mask"
    title = "룩어헤드 마스크"
    arguments = (names.LENGTH,)
    shapes = {"length": "정수. 토큰 번호 (1, length)를 받는 것도 됩니다"}
    returns = "참과 거짓, (length, length)"
    switches = ("1", "2")
    first_style = True

    def styles(self):
        return ("length", "ids")

    def arrange(self, case, style, mask_true):
        length = case.inputs["length"]
        return (length if style == "length" else np.ones((1, length), np.int64),)

    def cases(self, rng, size):
        for length in (2, 3, 5, 1):
            yield Case({"length": length})

    def read(self, raw, case):
        length = case.inputs["length"]
        return in_shape(self.zero_one(raw), (length, length))

    def reference(self, case, switches=frozenset(), reading=None):
        length = case.inputs["length"]
        visible = np.tri(length, k=-1 if "1" in switches else 0, dtype=bool)
        return self.polar(visible, switches)
