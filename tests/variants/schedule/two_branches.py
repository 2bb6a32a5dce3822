"""오르는 길과 내리는 길을 if로 나누어 쓰는 사람."""

import math


class WarmUp:
    def __init__(self, d_model, warmup_steps):
        self.peak = 1 / math.sqrt(d_model * warmup_steps)
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = max(float(step), 1.0)
        if step < self.warmup_steps:
            return self.peak * step / self.warmup_steps
        return self.peak * math.sqrt(self.warmup_steps / step)


candidate = WarmUp
