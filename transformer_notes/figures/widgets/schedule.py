"""학습률의 스케줄: d_model과 웜업이 꼭대기의 높이와 자리를 정합니다."""

import numpy as np

from transformer_notes.figures.widgets.markup import Widget, slider
from transformer_notes.training import WarmupSchedule

#: 손잡이가 서는 d_model과 웜업, 논문의 두 값(5.3절), 그리는 스텝.
D_MODELS = (64, 128, 256, 512, 1024)
WARMUPS = (500, 1000, 2000, 4000, 8000, 16000)
PAPER = (512, 4000)
PLACES = (1, *range(250, 20001, 250))


class ScheduleExplorer(Widget):
    """d_model과 웜업을 바꾸며 스텝마다의 학습률을 봅니다 (논문 5.3절의 식 3).

    곡선은 `training.WarmupSchedule`의 것이고, 점선은 논문의 d_model 512, 웜업
    4,000스텝입니다. 세로는 두 꼭대기 가운데 높은 것에 맞춥니다.

    Args:
        d_model: 처음의 차원. `D_MODELS` 가운데 하나.
        warmup_steps: 처음의 웜업. `WARMUPS` 가운데 하나.
        step: 처음에 가리킬 스텝. `PLACES` 가운데 하나.

    Examples:
        >>> still = ScheduleExplorer().still()
        >>> still["peak"], still["times"]
        ('0.000699', '1.00')
    """

    name, label = "schedule", "웜업 스케줄"

    def __init__(self, d_model=512, warmup_steps=4000, step=2000):
        self.d_model, self.warmup_steps, self.step = d_model, warmup_steps, step

    def data(self):
        last = PLACES[-1]
        read = {"d_models": D_MODELS, "warmups": WARMUPS, "places": PLACES}
        return read | {"paper": PAPER, "last": last}

    def still(self):
        mine = WarmupSchedule(self.d_model, self.warmup_steps)
        theirs = WarmupSchedule(*PAPER)
        peak, base = _rate(mine, self.warmup_steps), _rate(theirs, PAPER[1])
        high = max(peak, base)
        model, warmup, at = (
            every.index(value)
            for every, value in (
                (D_MODELS, self.d_model),
                (WARMUPS, self.warmup_steps),
                (PLACES, self.step),
            )
        )
        named = "<i>d</i><sub>model</sub>"
        top, step = f"{self.warmup_steps:,}", f"{self.step:,}"
        return {
            "sliders": slider(
                "d_model", named, 0, len(D_MODELS) - 1, model, mine.d_model
            )
            + slider("warmup", "웜업 <i>w</i>", 0, len(WARMUPS) - 1, warmup, top)
            + slider("step", "스텝 <i>s</i>", 0, len(PLACES) - 1, at, step),
            "paper": _points(theirs, high),
            "rate": _points(mine, high),
            "here": f"{self.step / PLACES[-1]:.4f}",
            "here_rate": f"{_rate(mine, self.step) / high:.4f}",
            "last": f"{PLACES[-1]:,}",
            "at": step,
            "now": f"{_rate(mine, self.step):.6f}",
            "top": top,
            "peak": f"{peak:.6f}",
            "times": f"{peak / base:.2f}",
        }


def _rate(schedule, step):
    return float(schedule(np.float64(step)))


def _points(schedule, high):
    return " ".join(
        f"{place / PLACES[-1]:.4f},{_rate(schedule, place) / high:.4f}"
        for place in PLACES
    )
