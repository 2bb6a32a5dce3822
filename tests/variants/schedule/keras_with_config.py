"""get_config까지 갖춘 Keras 스케줄: 설정에는 파이썬의 수만 담습니다."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="someone")
class Noam(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps):
        self.d_model, self.warmup_steps = int(d_model), int(warmup_steps)

    def __call__(self, step):
        step = ops.maximum(ops.cast(step, "float32"), 1.0)
        up = step / self.warmup_steps**1.5
        return ops.minimum(up, 1 / ops.sqrt(step)) / self.d_model**0.5

    def get_config(self):
        return {"d_model": self.d_model, "warmup_steps": self.warmup_steps}


candidate = Noam
