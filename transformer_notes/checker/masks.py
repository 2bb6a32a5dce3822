"""패딩 마스크와 룩어헤드 마스크를 봅니다."""

import numpy as np

from transformer_notes.checker.kinds import Case, Kind, Misfit, in_shape, to_array


class _Mask(Kind):
    """마스크를 만드는 것. 값은 후보의 뜻(`mask_true`)대로 0과 1입니다."""

    def polar(self, visible, switches):
        """볼 자리를 후보의 뜻대로 0과 1로 적습니다."""
        hide = (self.mask_true == "hide") != ("2" in switches)
        return (np.asarray(visible) != hide).astype(int)

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
    arguments = (
        ("token_ids", "ids", "tokens", "x", "seq", "inputs", "input_ids", "src"),
    )
    extras = dict.fromkeys(("pad_id", "pad", "pad_idx", "pad_token_id", "pad_token"), 0)
    switches = ("2", "5")

    def cases(self, rng, size):
        for ids in ([[5, 0]], [[5, 7, 0]], [[5, 7, 2], [3, 0, 0]]):
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
    arguments = (
        ("length", "size", "n", "seq_len", "sz", "seq_length", "max_len", "t", "l"),
    )
    switches = ("1", "2")

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
