"""레시피: 이름 하나로 고르는 학습의 설정. 쪽마다 하나이고, 값은 쪽의 것과 같습니다."""

from typing import NamedTuple


class Recipe(NamedTuple):
    """`train --recipe`가 고르는 것."""

    #: 모델이 하는 일, `models.files.TASKS` 가운데 하나.
    task: str
    #: 설정마다의 기본값. 옵션을 주면 그것이 이깁니다.
    settings: dict
    #: 같은 답도 학습과 채점 가운데 한쪽에만 둘지.
    by_answer: bool = False


_DATES = {
    "epochs": 1,
    "count": 80_000,
    "held_out": 0.1,
    "normalization": "nfc",
    "vocab_size": None,
    "max_length": 256,
    "d_model": 64,
    "num_heads": 4,
    "num_layers": 2,
    "d_ff": 256,
    "norm": "post",
    "dropout": 0.0,
    "positions": "sinusoidal",
    "label_smoothing": 0.0,
    "schedule": "cosine",
    "learning_rate": 0.003,
    "warmup_steps": 200,
    "tokens": 700,
    "save_every": 200,
    "seed": 0,
}
_PAIRS = _DATES | {
    "epochs": 6,
    "vocab_size": 8000,
    "dropout": 0.1,
    "label_smoothing": 0.1,
    "schedule": "paper",
    "learning_rate": None,
    "warmup_steps": 300,
    "tokens": 1024,
    "save_every": None,
}
_TRANSLATION = _PAIRS | {
    "epochs": 10,
    "vocab_size": 4000,
    "d_model": 128,
    "num_layers": 3,
    "d_ff": 512,
    "norm": "pre",
    "schedule": "cosine",
    "learning_rate": 0.003,
    "warmup_steps": 500,
}
_CLASSIFICATION = _PAIRS | {
    "epochs": 4,
    "normalization": "korean",
    "d_model": 128,
    "d_ff": 512,
    "norm": "pre",
    "label_smoothing": 0.0,
    "schedule": "cosine",
    "learning_rate": 0.001,
    "warmup_steps": 800,
    "tokens": 2048,
}
_CHATBOT = _PAIRS | {
    "epochs": 25,
    "normalization": "korean",
    "vocab_size": 4000,
    "d_model": 128,
    "d_ff": 512,
    "norm": "pre",
    "label_smoothing": 0.0,
    "warmup_steps": 600,
}

#: 이름마다의 레시피. pairs는 쪽이 없는 파일의 기본값입니다.
RECIPES = {
    "dates": Recipe("dates", _DATES),
    "pairs": Recipe("translate", _PAIRS),
    "translation": Recipe("translate", _TRANSLATION),
    "classification": Recipe("classify", _CLASSIFICATION),
    "chatbot": Recipe("chat", _CHATBOT, by_answer=True),
}
#: --data가 없을 때 패키지의 데이터로 배우는 레시피
BUNDLED = "dates", "chatbot"
