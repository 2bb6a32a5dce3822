"""위치 인코딩을 봅니다."""

import dataclasses

import numpy as np

from transformer_notes.checker import names
from transformer_notes.checker.kinds import Case, Kind, in_shape, to_array
from transformer_notes.checker.messages import Example

#: 반정밀도가 이웃한 위치를 구별하지 못하는 길이.
FAR = 4100
#: 언제나 구별되는 길이.
NEAR = 100
#: 반정밀도로 계산한 표의 앞부분에서 받아들이는 오차.
HALF = 1e-2


class PositionalEncoding(Kind):
    """`positional_encoding(length, d_model)`은 (length, d_model)인 표를 냅니다.

    앞에 크기 1의 축이 있어도 됩니다.
    """

    name = "positional_encoding"
    title = "위치 인코딩"
    arguments = (names.LENGTH, names.D_MODEL)
    shapes = {"length": "정수", "d_model": "짝수인 정수"}
    returns = "(length, d_model)"
    switches = ("15", "16", "17")
    shown = (20,)

    def cases(self, rng, size):
        for length, d_model in ((2, 2), (2, 4), (3, 6), (7, 8), (12, 16)):
            yield Case({"length": length, "d_model": d_model})

    def read(self, raw, case):
        shape = case.inputs["length"], case.inputs["d_model"]
        return in_shape(to_array(raw), shape)

    def reference(self, case, switches=frozenset(), reading=None):
        length, d_model = case.inputs["length"], case.inputs["d_model"]
        columns = np.arange(d_model)
        index = columns if "16" in switches else columns // 2
        angle = np.arange(length)[:, np.newaxis] / 10000 ** (2 * index / d_model)
        table = np.where(columns % 2, np.cos(angle), np.sin(angle))
        if "15" in switches:
            table[:, 1::2] = np.cos(table[:, 0::2])
        if "17" in switches:
            table[0] = 0
        return table

    def agrees(self, outcome, case, switches, reading):
        # 반정밀도로 계산한 표도 가까운 위치에서는 이만큼 맞습니다
        near = dataclasses.replace(outcome, tolerance=max(outcome.tolerance, HALF))
        return super().agrees(near, case, switches, reading)

    def symptoms(self, trial):
        case = Case({"length": FAR, "d_model": 8})
        outcome = trial.call(case)
        if outcome.value is None:  # 표의 길이가 정해져 있으면 보지 않습니다
            return
        same = np.all(outcome.value[1:] == outcome.value[:-1], axis=1)
        if same[FAR // 2 :].mean() > 0.25 and not same[:NEAR].any():
            row = int(np.argmax(same))
            expected = self.reference(case)[row : row + 2]
            inputs = {"length": FAR, "d_model": 8, "위치": f"{row}, {row + 1}"}
            yield 20, Example(inputs, expected, outcome.value[row : row + 2])
