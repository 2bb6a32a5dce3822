"""학습과 채점 (논문 5장, 6.1절).

학습에 쓰는 이름은 모두 여기에서 가져옵니다. 정의는 하는 일에 따라 나누어 두었습니다.
루프는 `loop`, 손실은 `losses`, 학습률은 `schedules`, 배치는 `batches`, 상태를 쓰고
되살리는 일은 `checkpoints`입니다.
"""

from transformer_notes.training.batches import Batches
from transformer_notes.training.checkpoints import (
    Checkpoints,
    average_checkpoints,
    best_checkpoint,
    readable_checkpoints,
    saved_steps,
)
from transformer_notes.training.loop import (
    Scores,
    evaluate,
    own_rows,
    train,
    update_step,
)
from transformer_notes.training.losses import (
    MaskedAccuracy,
    MaskedCrossEntropy,
    masked_accuracy,
    masked_cross_entropy,
    target_distribution,
    token_hits,
    token_losses,
)
from transformer_notes.training.schedules import WarmupSchedule, adam

__all__ = [
    "Batches",
    "Checkpoints",
    "MaskedAccuracy",
    "MaskedCrossEntropy",
    "Scores",
    "WarmupSchedule",
    "adam",
    "average_checkpoints",
    "best_checkpoint",
    "evaluate",
    "masked_accuracy",
    "masked_cross_entropy",
    "own_rows",
    "readable_checkpoints",
    "saved_steps",
    "target_distribution",
    "token_hits",
    "token_losses",
    "train",
    "update_step",
]
