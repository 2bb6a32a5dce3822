"""「논문과 맞추어 보기」가 읽는 것: 표 3의 20줄을 작게 줄여 시드마다 배운 것.

- `dates`, `translation`: `small_tasks`의 과제.
- `longer`: 날짜를 big만큼 길게.

폭은 8분의 1, 깊이는 2분의 1입니다. 헤드의 수와 나머지는 논문의 것입니다. 그래서 줄마다
base와의 비율이 논문과 같습니다.
"""

import dataclasses
import math
import os
import re

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import small_tasks
from experiment import Experiment

from transformer_notes.transformer import Transformer, TransformerConfig

SETTINGS = {
    **small_tasks.SETTINGS,
    "narrower": 8,
    "shallower": 2,
    "label_smoothing": 0.1,
    "max_length": 64,
    "big_longer": 3,  # 논문의 300K와 100K
}
ROWS = list(TransformerConfig.table3())
#: 짧게 배워서 진 것인지 볼 줄. big만큼 길게 배웁니다.
LONGER = ["base", "C N=2", "C N=8"]
SEEDS = range(1, 6)
#: 시드 하나씩 모든 줄을 돕니다. 도중에 멈추어도 모든 줄에 결과가 있습니다.
PLAN = [
    {"what": what, "row": row, "seed": seed}
    for what, rows, seeds in (
        ("dates", ROWS, SEEDS),
        ("longer", LONGER, SEEDS),
        ("translation", ROWS, SEEDS),
    )
    for seed in seeds
    for row in rows
]


def config(row, vocab_size):
    """표 3의 한 줄을 줄인 설정."""
    paper = TransformerConfig.table3()[row]

    def narrow(size):
        return None if size is None else size // SETTINGS["narrower"]

    return dataclasses.replace(
        paper,
        vocab_size=vocab_size,
        num_layers=paper.num_layers // SETTINGS["shallower"],
        **{
            name: narrow(getattr(paper, name))
            for name in ("d_model", "d_ff", "key_dim", "value_dim")
        },
        max_length=SETTINGS["max_length"],
    )


def build(row):
    return lambda task: Transformer(config(row, task.vocab_size))


def smoothing(row):
    """레이블 스무딩은 모델이 아니라 학습의 값이라, 줄의 이름에만 있습니다."""
    given = re.fullmatch("D eps_ls=(.+)", row)
    return float(given[1]) if given else SETTINGS["label_smoothing"]


def measure(what, row, seed):
    task = small_tasks.TASKS["translation" if what == "translation" else "dates"](seed)
    longer = SETTINGS["big_longer"] if row == "big" or what == "longer" else 1
    found = small_tasks.learn(build(row), task, seed, smoothing(row), longer)
    assert math.isfinite(found["loss"])
    return found


def probe():
    """줄의 설정과 처음 두 손실."""
    dates, translation = (
        {
            row: {
                "config": dataclasses.asdict(config(row, 100)),
                "first_losses": small_tasks.first_losses(
                    build(row), task, smoothing(row), updates=1
                ),
            }
            for row in ROWS
        }
        for task in ("dates", "translation")
    )
    return {
        "dates": {"rows": ROWS, **dates},
        "longer": {row: dates[row] for row in LONGER},
        "translation": {"rows": ROWS, **translation},
    }


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
