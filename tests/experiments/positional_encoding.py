"""「위치 인코딩」이 읽는 것: 더한 벡터에서 토큰과 위치를 행렬 하나로 되찾습니다."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from experiment import Experiment

from transformer_notes.positional_encoding import sinusoidal_encoding

SETTINGS = {"length": 50, "most": 40_000, "held_out": 0.2, "test": 2000}
WIDTHS, VOCABULARIES = (128, 256, 512), (100, 400, 1000, 4000, 37_000)
PLAN = [
    {"what": "summed", "d_model": width, "vocab_size": size, "seed": seed}
    for seed in range(1, 6)
    for width in WIDTHS
    for size in VOCABULARIES
]


def nearest_row(vectors, rows):
    """벡터마다 가장 가까운 행의 번호."""
    squares = (rows**2).sum(axis=1)  # 벡터의 제곱은 모든 행에 같으므로 뺍니다
    return (squares - 2 * vectors @ rows.T).argmin(axis=1)


def measure(what, d_model, vocab_size, seed):
    """새 조합에서 되찾은 비율. 임베딩의 성분은 표준 정규 분포를 따릅니다."""
    rng, length = np.random.default_rng(seed), SETTINGS["length"]
    words = rng.normal(size=(vocab_size, d_model))
    places = np.float64(sinusoidal_encoding(length, d_model))
    combinations = rng.permutation(vocab_size * length)
    new, old = np.split(combinations, [int(SETTINGS["held_out"] * len(combinations))])
    new, old = new[: SETTINGS["test"]], old[: SETTINGS["most"]]
    assert not np.intersect1d(new, old).size

    word, place = np.divmod(old, length)
    summed = np.c_[words[word] + places[place], np.ones(len(old))]  # 1은 편향
    apart = np.c_[words[word], places[place]]  # 되찾아야 할 두 벡터
    matrix, *_ = np.linalg.lstsq(summed.T @ summed, summed.T @ apart, rcond=None)

    word, place = np.divmod(new, length)
    found = np.c_[words[word] + places[place], np.ones(len(new))] @ matrix
    right_word = nearest_row(found[:, :d_model], words) == word
    right_place = nearest_row(found[:, d_model:], places) == place
    return {
        "word": round(float(right_word.mean()), 4),
        "place": round(float(right_place.mean()), 4),
    }


def probe():
    """가장 작은 것의 결과."""
    return {"summed": measure("summed", WIDTHS[0], VOCABULARIES[0], 1)}


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
