"""BERT처럼 토큰을 가리는 함수를 봅니다."""

import numpy as np

from transformer_notes.checker import names
from transformer_notes.checker.kinds import Case, Kind, Misfit, to_array
from transformer_notes.checker.messages import Example

#: 보통의 토큰은 이 번호부터입니다. 앞은 패딩, 모름, 시작, 끝입니다.
ORDINARY = 4
#: 고르는 비율, 그 가운데 <mask>와 아무 토큰까지의 비율.
CHOSEN, MASKED, REPLACED = 0.15, 0.12, 0.135
#: 고르지 않은 자리에 적는 PyTorch의 번호.
IGNORED = -100


class MaskTokens(Kind):
    """`mask_tokens(token_ids, chance, random_ids, mask_id)`: 가린 입력과 맞힐 토큰.

    주사위를 인자로 받으므로 답이 하나입니다. 고르지 않은 자리의 정답은 0이고, PyTorch의
    -100이어도 됩니다.
    """

    name = "mask_tokens"
    title = "가린 토큰 만들기"
    arguments = (names.TOKEN_IDS, names.CHANCE, names.RANDOM_IDS, names.MASK_ID)
    shapes = {
        "token_ids": "정수, (batch, length), 0부터 3까지는 특수 토큰",
        "chance": "0 이상 1 미만의 실수, (batch, length)",
        "random_ids": "정수, (batch, length)",
        "mask_id": "정수",
    }
    returns = "(inputs, labels), 저마다 정수 (batch, length)"
    switches = (
        *("54 all", "54 special", "55 all", "55 ordinary"),
        *("56 mask", "56 random", "56 keep", "57"),
    )

    def cases(self, rng, size):
        ids = np.array([[7, 8, 9, 5, 3, 0]])
        chance = np.array([[0.05, 0.13, 0.14, 0.7, 0.02, 0.125]], np.float32)
        yield _case(ids, chance, np.full_like(ids, 6), 10)
        for batch, length in ((1, 9), (3, 8), (4, 12)):
            ids = rng.integers(ORDINARY, 30, (batch, length))
            for row, end in zip(ids, rng.integers(3, length, batch)):
                row[end], row[end + 1 :] = 3, 0
            # 경계에서 떨어진 수만 넣습니다
            places = (0.01, 0.06, 0.11, 0.125, 0.13, 0.14, 0.148, 0.16, 0.5, 0.97)
            chance = rng.choice(np.float32(places), (batch, length))
            yield _case(ids, chance, rng.integers(31, 40, (batch, length)), 40)

    def read(self, raw, case):
        if not isinstance(raw, tuple | list) or len(raw) != 2:
            raise Misfit("(inputs, labels)처럼 둘을 돌려주어야 합니다.")
        inputs, labels = map(to_array, raw)
        shape = case.inputs["token_ids"].shape
        if inputs.shape != shape or labels.shape != shape:
            raise Misfit(
                f"둘 다 모양이 {shape}이어야 합니다. 나온 모양: {inputs.shape}, "
                f"{labels.shape}"
            )
        return np.stack([inputs, np.where(labels == IGNORED, 0, labels)])

    def reference(self, case, switches=frozenset(), reading=None):
        ids, chance, random_ids, mask_id = case.inputs.values()
        ordinary = ids >= ORDINARY
        if "54 all" in switches:
            ordinary = np.full_like(ordinary, True)
        if "54 special" in switches:
            ordinary = ids != 0
        masked, replaced = MASKED, REPLACED
        if "56 mask" in switches:
            masked = CHOSEN
        if "56 random" in switches:
            replaced = CHOSEN
        if "56 keep" in switches:
            replaced = MASKED
        chosen = ordinary & (chance < CHOSEN)
        inputs = np.where(chosen & (chance < replaced), random_ids, ids)
        inputs = np.where(chosen & (chance < masked), mask_id, inputs)
        answers = inputs if "57" in switches else ids
        if "55 all" in switches:
            return np.stack([inputs, answers])
        asked = ids >= ORDINARY if "55 ordinary" in switches else chosen
        return np.stack([inputs, np.where(asked, answers, 0)])

    def remark(self, trial, reading):
        labels = to_array(trial.groups[0].outcomes[0].raw[1])
        if (labels == IGNORED).any():
            return (
                "고르지 않은 자리에 -100을 적었습니다. PyTorch의 손실이 빼는 수입니다."
            )
        return ""

    def properties(self, trial):
        for case, outcome in trial.groups[0].pairs():
            ids, chance, *_ = case.inputs.values()
            (inputs, labels), left = outcome.value, chance >= CHOSEN
            expected = self.reference(case)
            for wrong, sentence in (
                (inputs[left] != ids[left], "고르지 않은 토큰의 입력이 바뀝니다."),
                (labels[left] != 0, "고르지 않은 토큰에도 정답을 적습니다."),
                (labels != expected[1], "고른 자리의 정답이 본디의 토큰이 아닙니다."),
                (
                    inputs != expected[0],
                    "고른 토큰을 80 : 10 : 10으로 나누지 않습니다.",
                ),
            ):
                if wrong.any():
                    yield sentence, Example(case.inputs, expected, outcome.value)
                    return


def _case(ids, chance, random_ids, mask_id):
    inputs = {"token_ids": ids, "chance": chance, "random_ids": random_ids}
    return Case(inputs | {"mask_id": mask_id}, len(ids))
